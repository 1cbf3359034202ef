1 instance of elements()
