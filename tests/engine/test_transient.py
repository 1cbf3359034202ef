"""Transient queues: in memory, in the same order, and never on the disk."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from demaq.engine import transient
from demaq.engine.records import Incoming
from demaq.node import RetryRefused, retry
from demaq.store import MemoryStore, Selection, open_store
from running import Running, Start, plan_from

MIXED = """
create queue fast kind basic mode transient
create queue sure kind basic mode persistent
create queue out kind basic mode persistent
create queue soon kind echo mode transient
create property key as xs:string fixed queue fast, sure value /*/@key
create property second as xs:string fixed queue fast value /*/@second
create slicing keys on key
create slicing seconds on second
create rule forget for keys if (/end) then do reset
create rule forgetToo for seconds if (/endSecond) then do reset
create rule tell for keys if (/tell) then do enqueue <t>{qs:slice()/*/@n ! string(.)}</t> into out
create rule look for sure if (/look) then do enqueue <l>{qs:queue("fast")/*/@n ! string(.)}</l> into out
create rule find for sure
if (/find) then do enqueue <f>{qs:queue("fast")[/*/@n = qs:message()/find/@n]/*/@n ! string(.)}</f> into out
create rule spread for fast if (/secret/@spread) then do enqueue <secret n="{/secret/@n}" key="1"/> into fast
create rule wait for fast
if (/wait) then do enqueue <secret n="w" key="1"/> into soon
  with timeout value xs:dayTimeDuration("PT1H") with target value "fast"
"""


@pytest.fixture(params=["memory", "sqlite"])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Running:
    store = MemoryStore() if request.param == "memory" else open_store(f"sqlite:///{tmp_path / 'log.db'}")
    return Running(plan_from(tmp_path / "app", MIXED), store)


def test_slices_have_transient_and_persistent_members_in_one_order(running: Running) -> None:
    for n, queue in enumerate(("fast", "sure", "fast", "sure", "fast")):
        running.send(queue, f'<m n="{n}" key="1"/>')
    running.send("sure", '<tell n="5" key="1"/>')
    running.send("fast", '<tell n="6" key="1"/>')
    running.run()
    assert running.bodies("out") == ["<t>0 1 2 3 4 5</t>", "<t>0 1 2 3 4 5 6</t>"]
    assert running.order()[:7] == sorted(running.order()[:7])


def test_a_reset_ends_both(running: Running) -> None:
    running.play("fast", '<m n="1" key="1"/>')
    running.play("sure", '<m n="2" key="1"/>', '<end key="1"/>', "<look/>")
    running.play("fast", '<tell n="3" key="1"/>')
    assert running.bodies("out") == ["<l/>", "<t>3</t>"]


def test_a_transient_message_can_reset_persistent_ones(running: Running) -> None:
    running.play("sure", '<m n="1" key="1"/>')
    running.play("fast", '<end n="2" key="1"/>')
    running.play("sure", '<tell n="3" key="1"/>')
    assert running.bodies("out") == ["<t>3</t>"]
    assert running.messages("sure")[0].retained is False


def test_a_message_that_another_slice_retains_is_out_of_the_one_that_was_reset(running: Running) -> None:
    running.play("fast", '<m n="1" key="1" second="2"/>', '<end n="2" key="1"/>', '<tell n="3" key="1"/>')
    running.play("sure", "<look/>")
    assert running.bodies("out") == ["<t>3</t>", "<l>1 3</l>"]
    running.play("fast", '<endSecond second="2"/>')
    running.play("sure", "<look/>")
    assert running.bodies("out")[2:] == ["<l>3</l>"]


def test_queues_are_read_whole_and_by_keys(running: Running) -> None:
    running.send("fast", '<m n="1" key="1"/>', '<m n="2" key="2"/>', '<m n="3"/>')
    running.send("sure", "<look/>", '<find n="2"/>')
    running.run()
    running.play("sure", "<look/>", '<find n="1"/>', '<find n="3"/>')
    assert running.bodies("out") == ["<l>1 2</l>", "<f>2</f>", "<l>1 2</l>", "<f>1</f>", "<f/>"]


def test_nothing_of_them_touches_the_disk(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'log.db'}")
    running = Running(plan_from(tmp_path / "app", MIXED), store)
    running.play("sure", '<m n="visible" key="1"/>')
    before = {file.name: file.read_bytes() for file in tmp_path.glob("log.db*")}
    running.play("fast", '<secret n="geheimnis" key="geheim" spread=""/>', '<wait n="geheimnis"/>')
    running.advance(hours=2)
    assert running.bodies("fast").count('<secret n="geheimnis" key="1"/>') == 1
    assert running.bodies("fast")[-1] == '<secret n="w" key="1"/>'
    after = {file.name: file.read_bytes() for file in tmp_path.glob("log.db*")}
    assert b"visible" in b"".join(before.values())
    assert not any(b"geheim" in content for content in after.values())
    running.play("sure", '<m n="more" key="1"/>', '<end key="1"/>')
    assert not any(b"geheim" in file.read_bytes() for file in tmp_path.glob("log.db*"))
    store.close()


def test_they_cost_no_write_at_all(tmp_path: Path) -> None:
    """But for the block of ids that is reserved now and then."""
    store = open_store(f"sqlite:///{tmp_path / 'log.db'}")
    running = Running(plan_from(tmp_path / "app", MIXED), store)
    running.play("fast", "<m/>")
    before = {file.name: file.read_bytes() for file in tmp_path.glob("log.db*")}
    running.play("fast", *['<m key="1"/>', '<m key="2"/>', '<endSecond second="2"/>'] * 5)
    assert {file.name: file.read_bytes() for file in tmp_path.glob("log.db*")} == before
    store.close()


def test_after_a_restart_they_are_empty_and_the_rest_goes_on(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    plan = plan_from(tmp_path / "app", MIXED)
    store = open_store(url)
    running = Running(plan, store)
    running.play("fast", '<m n="1" key="1"/>')
    running.play("sure", '<m n="2" key="1"/>')
    running.send("fast", '<m n="3" key="1"/>')
    running.send("sure", '<m n="4" key="1"/>')
    position = running.engine.store.position()
    store.close()
    store = open_store(url)
    running = Running(plan, store)
    running.run()
    assert running.bodies("fast") == []
    running.play("sure", '<tell n="5" key="1"/>')
    assert running.bodies("out") == ["<t>2 4 5</t>"]
    assert running.engine.store.position() > position
    assert len({message.id for message in running.messages()}) == len(running.messages())
    store.close()


def test_errors_of_transient_messages_are_kept_where_their_queue_is(start: Start, tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'log.db'}")
    running = start(MIXED + "create rule fail for fast if (/fail) then error()\n", store=store)
    running.play("fast", "<fail/>")
    assert [error.queue for error in running.errors()] == ["fast"]
    assert len(store.select(Selection(queue="systemErrors", everything=True))) == 1
    store.close()


@pytest.mark.parametrize("batch", [1, 2, 256])
def test_ids_go_up_in_the_order_in_which_messages_are_made(start: Start, batch: int) -> None:
    running = start(
        """
create queue fast kind basic mode transient
create queue sure kind basic mode persistent
create rule a for fast if (/m[@n > 0]) then (do enqueue <m n="{/m/@n - 1}"/> into sure, do enqueue <x/> into fast)
create rule b for sure if (/m[@n > 0]) then (do enqueue <m n="{/m/@n - 1}"/> into fast, do enqueue <x/> into sure)
""",
        batch=batch,
    )
    running.send("fast", '<m n="5"/>')
    running.send("sure", '<m n="5"/>')
    running.send("fast", '<m n="5"/>')
    running.run()
    assert running.order() == sorted(running.order())
    made = [(message.cause or 0) for message in sorted(running.messages(), key=lambda message: message.id)]
    assert made == sorted(made)


def test_a_transient_message_is_retried_under_an_id_of_its_own(start: Start) -> None:
    running = start(MIXED + "create rule fail for fast if (/fail) then do enqueue <x>{1 div 0}</x> into out\n")
    running.play("sure", '<m n="1"/>')
    running.play("fast", "<fail/>")
    failed = running.messages("fast")[0]
    again = retry(failed, running.engine.store, running.clock.now())
    assert again > max(message.id for message in running.messages() if message.id != again)
    running.run()
    assert len(running.errors()) == 2
    with pytest.raises(RetryRefused):
        retry(failed, running.engine.store, running.clock.now())


def came(running: Running, queue: str, name: str) -> None:
    """A request comes in, under a key and on a connection of this name."""
    incoming = Incoming(queue=queue, body="<m/>", now=running.clock.now(), key=name, connection=name)
    running.engine.receive([incoming])


def test_keys_outlive_what_is_not_kept(tmp_path: Path) -> None:
    plan = replace(plan_from(tmp_path / "app", MIXED), keep=timedelta(0))
    running = Running(plan, open_store(f"sqlite:///{tmp_path / 'log.db'}"))
    store = running.engine.store
    for queue in ("fast", "sure"):
        came(running, queue, queue)

    def known() -> set[str]:
        running.engine.reclaim()
        found = {queue for queue in ("fast", "sure") if store.arrived(queue, queue) is not None}
        assert set(store.requests(["fast", "sure"])) == found
        return found

    running.clock.advance(timedelta(days=2))  # they wait until then
    assert known() == {"fast", "sure"}
    for queue in ("fast", "sure"):
        came(running, queue, f"other {queue}")
    running.run()
    running.clock.advance(timedelta(seconds=1))
    while running.engine.reclaim():
        pass
    assert running.bodies("fast") == running.bodies("sure") == []
    assert store.arrived("fast", "other fast") is not None
    assert store.arrived("sure", "other sure") is not None
    running.clock.advance(timedelta(hours=2))
    assert known() == set()
    assert store.arrived("fast", "other fast") is None
    assert store.arrived("sure", "other sure") is None


def test_only_the_latest_keys_of_transient_queues_are_known(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transient, "_KEPT_KEYS", 10)
    store = running.engine.store
    for number in range(30):
        came(running, "fast", str(number))
    assert len(store.requests([str(number) for number in range(30)])) == 30  # they all wait
    running.run()
    assert set(store.requests([str(number) for number in range(30)])) == {str(number) for number in range(20, 30)}
    assert store.arrived("fast", "19") is None
    assert store.arrived("fast", "20") is not None
