"""A log for tests of the data source: an application with properties of many types, and messages with and without."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from demaq.model import ManualClock
from demaq.node import Node

START = datetime(2007, 1, 10, 12, tzinfo=UTC)
APP = """
create queue work kind basic mode persistent
create queue other kind basic mode persistent
create queue errors kind basic mode persistent
create queue outbox kind outgoingGateway mode persistent
create queue fleeting kind basic mode transient
create property name as xs:string fixed queue work, other value /m/name
create property number as xs:integer queue work value /m/number
create property flag as xs:boolean queue work value /m/flag
create property price as xs:decimal queue work value /m/price
create property ratio as xs:double queue work value /m/ratio
create property at as xs:dateTime queue work value /m/at
create property day as xs:date queue work value /m/day
create property state as xs:string queue work value /m/state
create slicing names on name
create rule copy for work if (/m/copy) then do enqueue <m><name>copy</name></m> into other
create rule fail for work errorqueue errors if (/m/fail) then do enqueue <m>{1 idiv 0}</m> into other
create rule end for names if (qs:slice()[/end]) then do reset
create rule send for other if (/send) then do enqueue . into outbox
create rule note for fleeting if (/m) then do enqueue . into other
"""
BODIES = [
    "<m><name>a</name><number>7</number><flag>true</flag><price>1.50</price><ratio>0.5</ratio>"
    "<at>2007-01-10T23:30:00-05:00</at><day>2007-01-10</day><state>odd</state></m>",
    "<m><name>B</name><number>-3</number><flag>false</flag><price>100</price><ratio>INF</ratio>"
    "<at>2007-01-11T04:30:00Z</at><day>2007-02-01</day></m>",
    "<m><name>ä</name><number>99999999999999999999</number><ratio>-1e300</ratio><at>2006-01-01T00:00:00</at></m>",
    "<m><copy/></m>",
    "<m><name>a</name><fail/></m>",
    "<m><number>9007199254740993</number><price>0.000000000000000001</price></m>",
]


def node(folder: Path, url: str, start: datetime = START) -> Node:
    (folder / "log.demaq").write_text(APP, encoding="utf-8")
    return Node(folder / "log.demaq", url, inline=True, clock=ManualClock(start), batch=4)


def filled(folder: Path, url: str, bodies: Sequence[str] = BODIES, waiting: Sequence[str] = ("<m/>",)) -> None:
    """Messages 1 to 6 are processed, which makes a copy and an error; another waits."""
    with node(folder, url) as running:
        running.send_many("work", bodies)
        running.run_until_idle()
    with node(folder, url, START + timedelta(hours=1)) as running:
        running.send_many("work", waiting)
