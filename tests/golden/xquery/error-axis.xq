parents::a
