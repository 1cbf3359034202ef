"""One Spark session for all tests."""

from collections.abc import Iterator
from typing import Any

import pytest

from demaq.spark.session import Session
from demaq.spark.source import register


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    session = Session("local[2]")
    register(session.spark)  # for this thread
    yield session.spark
    session.close()
