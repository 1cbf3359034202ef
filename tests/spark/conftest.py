"""One Spark session for all tests."""

from collections.abc import Iterator
from typing import Any

import pytest

from demaq.spark.session import Session


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    session = Session("local[2]")
    yield session.spark
    session.close()
