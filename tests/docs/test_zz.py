from tests.docs.fences import X


def test_x() -> None:
    assert X == 1
