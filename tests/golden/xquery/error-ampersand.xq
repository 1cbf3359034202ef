'a & b'
