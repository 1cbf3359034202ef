"""x"""
from property.xx import A


def test_a() -> None:
    assert A == 1
