"""Rows on their way into a store."""

from pathlib import Path

from demaq.node import Node
from demaq.spark.checking import checked
from demaq.spark.gate import Shape
from demaq.spark.parts import Row

WITH_PRICE = """create queue work kind basic mode persistent
create queue out kind basic mode persistent
create property price as xs:decimal queue work value /m/price
create rule copy for work if (/m) then do enqueue <x>{qs:property("price")}</x> into out
"""


def test_rows_are_checked_by_the_application_that_is_there_now(tmp_path: Path) -> None:
    """Another store at the same address may have as many versions."""
    url, app = f"sqlite:///{tmp_path / 'log.db'}", tmp_path / "app.demaq"
    found = []
    for text in (WITH_PRICE, WITH_PRICE.replace("price", "cost")):
        for path in tmp_path.glob("log.db*"):
            path.unlink()
        app.write_text(text, encoding="utf-8")
        Node(app, url, inline=True).close()
        body = "<m><price>3</price><cost>4</cost></m>"
        found.append(
            [dict(made.properties) for made in checked(url, Shape(queue="work"), [Row("", 1, {"body": body})]).messages]
        )
    assert [[sorted(properties) for properties in each] for each in found] == [[["price"]], [["cost"]]]
