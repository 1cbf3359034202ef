"""One Spark session for all tests."""

from collections.abc import Iterator
from typing import Any

import pytest

from demaq.spark.session import Session
from demaq.spark.source import register
from demaq.spark.starting import running
from jars import connector


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    assert running() is None, "a test before has left its session open"
    session = Session("local[2]", {"spark.jars": connector()})
    register(session.spark)  # for this thread
    yield session.spark
    session.close()
