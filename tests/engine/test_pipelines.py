"""Pipelines of an application: from queues to queues, each message once."""

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import pytest

from databases import postgres
from demaq.engine.log import Log, PipelineStatus
from demaq.model import Origin, Value
from demaq.store import MemoryStore, Note, Store, StoreUnavailable, open_store
from running import Running, Start, deploy, plan_from

PIPELINE = 'create pipeline sorting from "sorting.lila"'
QUEUES = f"""
create queue orders
create queue large
create queue reports
create queue seen
create property customer as xs:string inherited queue orders value //customer queue large, reports
create rule see for large if (//big) then do enqueue <seen>{{string(//big/id)}}</seen> into seen
{PIPELINE}
"""
SOURCE = "@from(queue:orders) { order(id: integer, amount: integer). }\n"
LARGE = SOURCE + "big(id) :- order(id, amount), amount > 100.\n@to(queue:large) { big }\n"
TOTAL = (
    SOURCE
    + "@aggregate(union, completionSize=3) { ?-order(id, amount). }\n"
    + "total(sum) :- sum := sum(order-aggregate(_, amount)).\n@to(queue:reports) { total }\n"
)


def order(number: int, amount: int) -> str:
    return f"<order><id>{number}</id><amount>{amount}</amount><customer>c{number}</customer></order>"


def big(number: int) -> str:
    return f"<facts><big><id>{number}</id></big></facts>"


def total(amount: int) -> str:
    return f"<facts><total><sum>{amount}</sum></total></facts>"


def compact(bodies: list[str]) -> list[str]:
    return ["".join(line.strip() for line in body.splitlines()) for body in bodies]


def test_messages_go_through_and_are_processed_by_rules(start: Start) -> None:
    app = start(QUEUES, files={"sorting.lila": LARGE})
    app.send("orders", order(1, 50), order(2, 150), order(3, 300))
    app.run()
    assert compact(app.bodies("large")) == [big(2), big(3)]
    assert app.bodies("seen") == ["<seen>2</seen>", "<seen>3</seen>"]


def test_a_message_says_which_pipeline_made_it_and_of_what(start: Start) -> None:
    app = start(QUEUES, files={"sorting.lila": LARGE})
    _, second = app.send("orders", order(1, 50), order(2, 150))
    app.run()
    (made,) = app.messages("large")
    assert (made.origin, made.rule, made.cause) == (Origin.PIPELINE, "sorting", second)
    assert made.properties["customer"] == Value("xs:string", "c2")  # inherited from there
    trace = Log(app.engine.store).trace(second)  # type: ignore[arg-type]
    assert [found.message.queue for _, found in trace.walk()] == ["orders", "large", "seen"]


def test_the_last_of_several_messages_is_the_cause(start: Start) -> None:
    app = start(QUEUES, files={"sorting.lila": TOTAL})
    ids = app.send("orders", *(order(number, number) for number in range(1, 8)))
    app.run()
    assert compact(app.bodies("reports")) == [total(6), total(15)]
    assert [message.cause for message in app.messages("reports")] == [ids[2], ids[5]]


def test_the_parts_of_a_message_have_its_cause(start: Start) -> None:
    split = (
        "@from(queue:orders) { order(id: integer). item(sku). }\n"
        "@split() { ?-item(sku). }\n@to(queue:large) { item-split }\n"
    )
    app = start(QUEUES, files={"sorting.lila": split})
    first, second = app.send(
        "orders",
        "<order><id>1</id><item><sku>a</sku></item><item><sku>b</sku></item></order>",
        "<order><id>2</id><item><sku>c</sku></item></order>",
    )
    app.run()
    assert [message.cause for message in app.messages("large")] == [first, first, second]


def test_messages_that_wait_survive_the_node(tmp_path: Path) -> None:
    plan = plan_from(tmp_path / "app", QUEUES, {"sorting.lila": TOTAL})
    store = MemoryStore()
    for number in range(1, 8):  # a node for each
        app = Running(plan, store)
        app.send("orders", order(number, number))
        app.run()
    assert compact(app.bodies("reports")) == [total(6), total(15)]
    assert Log(store).status().pipelines == (PipelineStatus("sorting", 9, 1),)


def test_time_that_is_over_ends_the_wait(start: Start) -> None:
    timed = TOTAL.replace("completionSize=3", "completionTime=60")
    app = start(QUEUES, files={"sorting.lila": timed})
    app.send("orders", order(1, 1), order(2, 2))
    app.run()
    assert app.bodies("reports") == []
    assert app.engine.next_due() == app.clock.now() + timedelta(seconds=60)
    app.advance(seconds=59)
    assert app.bodies("reports") == []
    app.advance(seconds=1)
    assert compact(app.bodies("reports")) == [total(3)]
    assert app.engine.next_due() is None


def test_a_new_pipeline_begins_with_what_comes_after_it(tmp_path: Path) -> None:
    store = MemoryStore()
    before = Running(plan_from(tmp_path / "before", QUEUES.replace(PIPELINE, "")), store)
    before.send("orders", order(1, 500))
    before.run()
    after = Running(plan_from(tmp_path / "after", QUEUES, {"sorting.lila": LARGE}), store)
    after.send("orders", order(2, 500))
    after.run()
    assert compact(after.bodies("large")) == [big(2)]


def test_a_changed_pipeline_goes_on_where_it_was(tmp_path: Path) -> None:
    store = MemoryStore()
    first = Running(plan_from(tmp_path / "first", QUEUES, {"sorting.lila": LARGE}), store)
    first.play("orders", order(1, 150))
    second = Running(plan_from(tmp_path / "second", QUEUES, {"sorting.lila": LARGE.replace("100", "200")}), store)
    second.play("orders", order(2, 150), order(3, 250))
    assert compact(second.bodies("large")) == [big(1), big(3)]


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_pipeline_in_which_messages_wait_cannot_be_changed(tmp_path: Path, is_gone: bool) -> None:
    store = MemoryStore()
    app = Running(plan_from(tmp_path / "first", QUEUES, {"sorting.lila": TOTAL}), store)
    app.play("orders", order(1, 1), order(2, 2))
    text = QUEUES.replace(PIPELINE, "") if is_gone else QUEUES
    deploy(store, plan_from(tmp_path / "second", text, {"sorting.lila": TOTAL.replace("=3", "=4")}))
    app.play("orders", order(3, 3))
    assert compact(app.bodies("reports")) == [total(6)]
    assert "2 messages wait in it" in (store.versions()[-1].refused or "")


def test_what_cannot_be_read_becomes_an_error_and_the_rest_goes_on(start: Start) -> None:
    app = start(QUEUES, files={"sorting.lila": LARGE})
    first, *_ = app.send("orders", "<order><id>one</id><amount>200</amount></order>", order(2, 150))
    app.run()
    assert compact(app.bodies("large")) == [big(2)]
    (error,) = app.messages("systemErrors")
    (problem,) = app.errors()
    assert error.cause == first
    assert (problem.kind, problem.queue) == ("evaluation", "orders")
    assert problem.description.startswith(f"the pipeline `sorting` cannot read message {first}: ")


def test_what_a_schema_refuses_becomes_an_error(start: Start) -> None:
    schema = (
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="other" type="xs:string"/></xs:schema>'
    )
    text = QUEUES.replace("create queue reports", 'create queue reports schema "reports.xsd"')
    app = start(text, files={"sorting.lila": TOTAL, "reports.xsd": schema})
    app.send("orders", *(order(number, 1) for number in range(3)))
    app.run()
    assert app.bodies("reports") == []
    (problem,) = app.errors()
    assert problem.kind == "schema"


def test_more_messages_than_a_batch_takes(start: Start) -> None:
    app = start(QUEUES, files={"sorting.lila": LARGE}, batch=100_000)
    app.send("orders", *(order(number, 99 + number) for number in range(2500)))
    app.run()
    assert compact(app.bodies("large")) == [big(number) for number in range(2, 2500)]


class Failing(MemoryStore):
    """Is lost as a pipeline puts messages in: before or after they are there."""

    def __init__(self, when: str) -> None:
        super().__init__()
        self.when = when

    def append(self, messages, at, note: Note | None = None):  # type: ignore[no-untyped-def]
        if note is None or self.when == "never":
            return super().append(messages, at, note)
        when, self.when = self.when, "never"
        if when == "after":
            super().append(messages, at, note)
        raise StoreUnavailable("gone")


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_store_that_is_lost_in_between_loses_and_repeats_nothing(tmp_path: Path, when: str) -> None:
    store = Failing(when)
    app = Running(plan_from(tmp_path / "app", QUEUES, {"sorting.lila": LARGE}), store)
    app.send("orders", order(1, 150), order(2, 250))
    with pytest.raises(StoreUnavailable):
        app.run()
    app.engine.reconnect(store)
    app.run()
    assert compact(app.bodies("large")) == [big(1), big(2)]


@pytest.fixture(params=["sqlite", "postgres"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with nullcontext(f"sqlite:///{tmp_path / 'log.db'}") if request.param == "sqlite" else postgres() as url:
        store = open_store(url)
        yield store
        store.close()


def test_pipelines_run_on_every_store(stored: Store, tmp_path: Path) -> None:
    app = Running(plan_from(tmp_path / "app", QUEUES, {"sorting.lila": TOTAL}), stored)
    app.send("orders", *(order(number, number) for number in range(1, 8)))
    app.run()
    assert compact(app.bodies("reports")) == [total(6), total(15)]
    again = Running(plan_from(tmp_path / "app", QUEUES, {"sorting.lila": TOTAL}), stored)
    again.send("orders", order(8, 8), order(9, 9))
    again.run()
    assert compact(again.bodies("reports")) == [total(6), total(15), total(24)]


def test_queues_of_different_lengths_are_read_up_to_the_same_position(start: Start) -> None:
    text = QUEUES.replace("create queue seen", "create queue seen create queue others")
    both = (
        SOURCE
        + "@from(queue:others) { other(id: integer). }\n@to(queue:large) { order }\n@to(queue:reports) { other }\n"
    )
    app = start(text, files={"sorting.lila": both}, batch=100_000)
    for number in range(1500):
        app.send("orders", order(number, 1))
        if number > 1200:  # processed after more messages than a batch takes
            app.send("others", f"<other><id>{number}</id></other>")
    app.run()
    assert len(app.bodies("large")) == 1500
    assert compact(app.bodies("reports")) == [
        f"<facts><other><id>{number}</id></other></facts>" for number in range(1201, 1500)
    ]


def test_what_a_pipeline_has_not_had_yet_goes_through_the_next_version(tmp_path: Path) -> None:
    store = MemoryStore()
    first = Running(plan_from(tmp_path / "first", QUEUES, {"sorting.lila": LARGE}), store)
    first.send("orders", order(1, 500))
    first.engine.step()  # processed, and not yet read
    assert first.bodies("large") == []
    second = Running(plan_from(tmp_path / "second", QUEUES, {"sorting.lila": LARGE.replace("100", "200")}), store)
    second.run()
    assert compact(second.bodies("large")) == [big(1)]


def test_messages_are_read_before_they_are_reclaimed(start: Start) -> None:
    app = start(QUEUES, files={"sorting.lila": LARGE})
    app.send("orders", order(1, 500))
    app.engine.step()
    app.clock.advance(timedelta(days=1000))
    while app.engine.reclaim():
        pass
    app.run()
    assert app.bodies("orders") == []
    assert compact(app.bodies("large")) == [big(1)]


def test_messages_for_transient_queues_come_in_beside_others(start: Start) -> None:
    text = QUEUES.replace("create queue seen", "create queue seen create queue quick mode transient")
    app = start(text, files={"sorting.lila": LARGE + "@to(queue:quick) { order }\n"})
    app.send("orders", order(1, 50), order(2, 500))
    app.run()
    assert len(app.bodies("quick")) == 2
    assert compact(app.bodies("large")) == [big(2)]
