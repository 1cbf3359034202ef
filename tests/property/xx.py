"""x"""
A: int = 1
