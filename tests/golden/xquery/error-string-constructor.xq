``[ text
