"""The node, as programs use it."""

import threading
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from demaq import (
    DeploymentRefused,
    Limits,
    ManualClock,
    MessageRefused,
    MessageState,
    MessageUnknown,
    NeverIdle,
    Node,
    Origin,
    PropertyInvalid,
    QueueUnknown,
    RetryRefused,
    Value,
)
from demaq.engine.engine import Step
from demaq.node import Sender, load
from demaq.spark.session import SparkUnavailable

NOW = datetime(2024, 1, 1, 9, tzinfo=UTC)
APP = """
create queue inbox kind basic
create queue notes kind basic mode transient
create queue later kind echo
create queue outbox kind outgoingGateway
create property n as xs:integer queue inbox value /ping/@n
create property fast as xs:boolean inherited queue inbox, outbox
create property fixedOne as xs:string fixed queue inbox value "x"
create slicing byNumber on n
create rule answer for inbox
if (/ping) then
  do enqueue <pong fast="{qs:property("fast")}" x="{qs:property("fixedOne")}">{qs:property("n")}</pong> into outbox
create rule wait for inbox
if (/wait) then do enqueue <ping/> into later
  with timeout value xs:dayTimeDuration("PT1H") with target value "inbox"
create rule note for notes
if (/note) then do enqueue <pong>{/note}</pong> into outbox
create rule divide for inbox
if (/divide) then do enqueue <pong>{1 div number(/divide) cast as xs:integer}</pong> into outbox
create rule forget for byNumber
if (/forget) then do reset
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    file = tmp_path / "app.demaq"
    file.write_text(APP, encoding="utf-8")
    return file


@pytest.fixture
def node(app: Path) -> Node:
    return Node(app, clock=ManualClock(NOW), inline=True)


def bodies(node: Node, queue: str) -> list[str]:
    return [message.body for message in node.messages(queue)]


def test_a_message_goes_through(node: Node) -> None:
    number = node.send("inbox", "<ping n='7'/>", {"fast": True})
    assert node.run_until_idle() == 2
    assert bodies(node, "outbox") == ['<pong fast="true" x="x">7</pong>']
    message = node.message(number)
    assert (message.state, message.position, message.version) == (MessageState.COMPLETED, 1, 1)
    assert message.properties["n"] == Value("xs:integer", "7")
    (answer,) = node.messages("outbox")
    assert (answer.cause, answer.rule, answer.origin) == (number, "answer", Origin.RULE)
    assert answer.properties["fast"] == Value("xs:boolean", "true")


def test_many_messages_and_some_that_are_refused(node: Node) -> None:
    first, second, third = node.send_many("inbox", ["<ping/>", "<ping", b"<ping n='1'/>"])
    assert (first, third) == (1, 3)
    assert isinstance(second, MessageRefused)
    assert "not well-formed" in second.reason
    (error,) = node.errors()
    assert error.queue == "systemErrors"
    with pytest.raises(MessageRefused):
        node.send("inbox", "")
    assert node.send_many("inbox", []) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), ("1", "true"), (False, "false"), ("false", "false")],
)
def test_properties_are_typed(node: Node, value: object, text: str) -> None:
    number = node.send("inbox", "<ping/>", {"fast": value})
    assert node.message(number).properties["fast"] == Value("xs:boolean", text)


def test_properties_that_cannot_be_set(node: Node) -> None:
    with pytest.raises(PropertyInvalid, match="did you mean `fast`"):
        node.send("inbox", "<ping/>", {"fasst": True})
    with pytest.raises(PropertyInvalid, match="is fixed"):
        node.send("inbox", "<ping/>", {"fixedOne": "y"})
    with pytest.raises(PropertyInvalid, match="only on `inbox`"):
        node.send("notes", "<note/>", {"n": 1})
    with pytest.raises(MessageRefused, match="property"):
        node.send("inbox", "<ping/>", {"n": "many"})


def test_a_message_for_an_echo_queue_from_outside(node: Node) -> None:
    node.send("later", "<ping n='3'/>", {"timeout": timedelta(hours=2), "target": "inbox"})
    assert node.run_until_idle() == 0
    (timer,) = node.timers()
    assert timer.due == NOW + timedelta(hours=2)
    assert isinstance(node.clock, ManualClock)
    node.clock.advance(timedelta(hours=2))
    assert node.run_until_idle() == 3
    assert bodies(node, "outbox") == ['<pong fast="" x="x">3</pong>']
    with pytest.raises(MessageRefused, match="timeout"):
        node.send("later", "<ping/>", {"timeout": Decimal("1.5"), "target": "inbox"})


def test_queues_that_take_nothing(node: Node) -> None:
    with pytest.raises(QueueUnknown, match="did you mean `inbox`"):
        node.send("imbox", "<ping/>")
    with pytest.raises(QueueUnknown, match="outgoing gateway"):
        node.send("outbox", "<ping/>")


def test_what_came_of_a_message(node: Node) -> None:
    node.send("inbox", "<wait n='5'/>")
    node.run_until_idle()
    assert isinstance(node.clock, ManualClock)
    node.clock.advance(timedelta(hours=1))
    node.run_until_idle()
    (answer,) = node.messages("outbox")
    trace = node.trace(answer.id)
    steps = [(depth, step.message.queue, step.message.origin.value) for depth, step in trace.walk()]
    assert steps == [
        (0, "inbox", "outside"),
        (1, "later", "rule"),
        (2, "inbox", "timer"),
        (3, "outbox", "rule"),
    ]
    assert [step.is_asked_for for _, step in trace.walk()] == [False, False, False, True]
    with pytest.raises(MessageUnknown, match="99"):
        node.trace(99)


def test_slices_are_seen_until_they_are_reset(node: Node) -> None:
    node.send_many("inbox", ["<ping n='1'/>", "<ping n='1'/>", "<ping n='2'/>"])
    node.run_until_idle()
    assert [(slice_.key, size) for slice_, size in node.slices("byNumber")] == [("1", 2), ("2", 1)]
    assert [message.id for message in node.slice("byNumber", "1")] == [1, 2]
    number = node.send("inbox", "<forget/>", {"n": 1})
    node.run_until_idle()
    assert [slice_.key for slice_, _ in node.slices()] == ["2"]
    assert [slice_.key for slice_ in node.trace(number).resets] == ["1"]


def test_transient_messages_are_processed(node: Node) -> None:
    node.send("notes", "<note>a</note>")
    assert node.run_until_idle() == 2
    assert bodies(node, "outbox") == ["<pong><note>a</note></pong>"]
    assert node.status().alarms == []


def test_a_failed_message_is_retried_once(node: Node) -> None:
    number = node.send("inbox", "<divide>0</divide>")
    node.run_until_idle()
    (error,) = node.errors()
    assert "<code>FOAR0001</code>" in error.body
    again = node.retry(error.id)
    assert node.message(again).origin is Origin.RETRY
    with pytest.raises(RetryRefused, match=f"as message {again}"):
        node.retry(number)
    with pytest.raises(RetryRefused, match="has not failed"):
        node.retry(again)


def test_a_new_version_is_deployed(node: Node, app: Path) -> None:
    node.send("inbox", "<ping n='1'/>")
    node.run_until_idle()
    changed = APP.replace("<pong fast", "<answer fast").replace(
        "</pong> into outbox\ncreate rule w", "</answer> into outbox\ncreate rule w"
    )
    app.write_text(changed)
    version = node.deploy(app)
    assert (version.number, version.position) == (2, 2)
    assert node.deploy(app).number == 2  # nothing has changed
    number = node.send("inbox", "<ping n='1'/>")
    node.run_until_idle()
    assert [body.split()[0] for body in bodies(node, "outbox")] == ["<pong", "<answer"]
    assert node.message(number).version == 2
    app.write_text(
        "create queue outbox kind outgoingGateway create queue x kind basic "
        "create rule r for x if (/a) then do enqueue <b/> into outbox"
    )
    with pytest.raises(
        DeploymentRefused, match="the queue `inbox` is gone, but holds 0 waiting messages and 2 retained"
    ):
        node.deploy(app)
    assert node.status().version == version


def test_it_goes_on_where_it_was(app: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with Node(app, url, clock=ManualClock(NOW), inline=True) as node:
        node.send("inbox", "<ping n='1'/>")
    with Node(None, url, clock=ManualClock(NOW), inline=True) as node:
        assert node.run_until_idle() == 2
    with Node(app, url, clock=ManualClock(NOW), inline=True) as node:
        assert node.run_until_idle() == 0
        assert len(node.messages("outbox")) == 1
        assert [version.number for version in node._store.versions()] == [1]


@pytest.mark.parametrize("batch", [1, 2, 3, 256])
def test_the_size_of_batches_changes_nothing_also_with_priorities(tmp_path: Path, batch: int) -> None:
    file = tmp_path / "app.demaq"
    file.write_text(
        """
        create queue bookings kind basic
        create queue states kind basic priority 5
        create queue urgent kind basic priority 9
        create queue out kind outgoingGateway
        create property account as xs:string queue bookings, states value "one"
        create slicing accounts on account
        create rule book for bookings if (/book) then (
          do enqueue <state>{sum((qs:queue("states")[last()]/state, /book)/number())}</state> into states,
          if (/book = 20) then do enqueue <now/> into urgent
        )
        create rule ask for bookings
        if (/ask) then do enqueue <answer>{qs:queue("states")[last()]/state/text()}</answer> into out
        create rule shout for urgent if (/now) then do enqueue <shout/> into out
        create rule forget for accounts if (/forget) then do reset
        """,
        encoding="utf-8",
    )
    with Node(file, clock=ManualClock(NOW), inline=True, batch=batch) as node:
        node.send_many("bookings", ["<book>10</book>", "<book>20</book>", "<ask/>", "<book>5</book>", "<ask/>"])
        node.run_until_idle()
        order = [message.queue for message in sorted(node.messages(everything=True), key=lambda m: m.position or 0)]
        assert bodies(node, "out") == ["<shout/>", "<answer>30</answer>", "<answer>35</answer>"]
        assert order[:6] == ["bookings", "states", "bookings", "urgent", "states", "bookings"]


def test_an_application_that_does_not_come_to_rest(tmp_path: Path) -> None:
    file = tmp_path / "app.demaq"
    file.write_text(
        "create queue q kind basic create rule r for q if (/a) then do enqueue <a/> into q", encoding="utf-8"
    )
    with Node(file, clock=ManualClock(NOW), inline=True) as node:
        node.send("q", "<a/>")
        with pytest.raises(NeverIdle, match="has not come to rest"):
            node.run_until_idle(most=50)


def test_a_queue_that_is_not_deployed_yet(app: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    Node(app, url, inline=True).close()
    app.write_text(APP + "create queue more kind basic create rule m for more if (/a) then do enqueue <b/> into outbox")
    with Sender(load(app), url) as sender, pytest.raises(QueueUnknown, match="run `demaq deploy` first"):
        sender.send_many("more", ["<a/>"])


def test_a_gateway_with_unsent_messages_cannot_be_dropped(node: Node, app: Path) -> None:
    node.send("inbox", "<ping/>")
    node.run_until_idle()
    app.write_text(APP.replace("outbox", "sendbox"))
    with pytest.raises(DeploymentRefused, match=r"the queue `outbox` is gone, but holds .* and 1 unsent message"):
        node.deploy(app)


def test_a_store_without_an_application(tmp_path: Path) -> None:
    with pytest.raises(DeploymentRefused, match="name one"):
        Node(None, f"sqlite:///{tmp_path / 'log.db'}")


def test_watching_a_queue(node: Node) -> None:
    node.send_many("inbox", [f"<ping n='{number}'/>" for number in range(5)])
    assert [message.body[-8:] for message in node.watch("outbox")] == [f"{n}</pong>" for n in range(5)]


def test_running_until_it_is_stopped(app: Path, tmp_path: Path) -> None:
    with Node(app, f"sqlite:///{tmp_path / 'log.db'}", inline=True) as node:
        arrived = threading.Event()
        thread = threading.Thread(target=node.run, args=(lambda step: arrived.set() if step.produced else None,))
        thread.start()
        with Sender(load(app), f"sqlite:///{tmp_path / 'log.db'}") as sender:
            sender.send_many("inbox", ["<ping n='1'/>"])
            with pytest.raises(QueueUnknown, match="transient"):
                sender.send_many("notes", ["<note/>"])
        assert arrived.wait(30)
        node.stop()
        thread.join(30)
        assert not thread.is_alive()


def test_what_is_no_longer_kept_is_reclaimed_while_the_node_is_busy(app: Path, tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with Node(app, f"sqlite:///{tmp_path / 'log.db'}", clock=clock, inline=True, batch=1) as node:
        node.send_many("inbox", ["<ping/>", "<ping/>"])
        node.run_until_idle()
        clock.advance(timedelta(days=8))
        node.send_many("inbox", ["<ping/>", "<ping/>", "<ping/>"])
        steps = []

        def on_step(step: Step) -> None:
            steps.append(step)
            if len(steps) == 2:  # there is more to do
                node.stop()

        node.run(on_step)
        assert [message.id for message in node.messages("inbox", everything=True)] == [5, 6, 7]
        assert node.status().alarms == []


def test_memory_and_a_worker_process(app: Path) -> None:
    with Node(app, clock=ManualClock(NOW)) as node:
        node.send_many("inbox", ["<ping n='1'/>", "<ping n='1'/>"])
        node.send("notes", "<note>a</note>")
        node.run_until_idle()
        assert len(node.messages("outbox")) == 3


def test_messages_are_reclaimed_when_they_are_no_longer_kept(node: Node) -> None:
    node.send_many("inbox", ["<ping/>", "<ping n='1'/>"])
    node.run_until_idle()
    assert node.reclaim() == 0
    assert isinstance(node.clock, ManualClock)
    node.clock.advance(timedelta(days=8))
    assert node.reclaim() == 1
    assert [message.id for message in node.messages("inbox", everything=True)] == [2]
    assert node.status().alarms == []


def test_a_store_belongs_to_one_application(app: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.demaq"
    other.write_text(APP, encoding="utf-8")
    store = f"sqlite:///{tmp_path / 'log.db'}"
    Node(app, store, inline=True).close()
    with pytest.raises(DeploymentRefused, match=r'belongs to the application `app`, not to `other`: .*`name = "app"`'):
        Node(other, store, inline=True)
    with pytest.raises(DeploymentRefused, match="belongs to the application `app`"):
        Sender(load(other), store)
    with Node(app, store, inline=True) as node:
        assert node.deploy(app).number == 1


def test_limits_of_the_application_and_of_the_program(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "main.demaq").write_text(APP, encoding="utf-8")
    (folder / "demaq.toml").write_text("[limits]\nmessage_size = 40\nnames = 5\n", encoding="utf-8")
    long = f"<ping>{'x' * 40}</ping>"
    with Node(folder, inline=True) as node, pytest.raises(MessageRefused, match="at most 40 are allowed"):
        node.send("inbox", long)
    with Node(folder, inline=True, limits=Limits(message_size=100)) as node:
        node.send("inbox", long)
        (folder / "main.demaq").write_text(APP.replace("pong", "pang"), encoding="utf-8")
        node.deploy(folder)
        node.send("inbox", long)
        assert node.plan.limits == Limits(message_size=100)


def test_a_sender_goes_by_the_version_that_was_deployed_last(app: Path, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'log.db'}"
    with Node(app, store, inline=True) as node, Sender(load(app), store) as sender:
        assert sender.send_many("inbox", ["<ping/>"]) == [1]
        node.run_until_idle()
        other = "\n".join(line for line in APP.splitlines() if "later" not in line and "target" not in line)
        app.write_text(other.replace("create rule wait for inbox\n", ""), encoding="utf-8")
        node.deploy(app)
        with pytest.raises(QueueUnknown, match="the version in force has no queue `later`"):
            sender.send_many("later", ["<ping/>"], {"timeout": "PT1S", "target": "inbox"})
        assert len(sender.send_many("inbox", ["<ping/>"])) == 1


def test_a_sender_refuses_what_takes_too_long(tmp_path: Path) -> None:
    folder = tmp_path / "endless"
    folder.mkdir()
    (folder / "demaq.toml").write_text("[limits]\nseconds = 1\n", encoding="utf-8")
    endless = "create property e as xs:integer queue inbox value local:tail(1)\n"
    endless = "declare function local:tail($n) { if ($n lt 0) then 0 else local:tail($n + 1) };\n" + endless
    (folder / "main.demaq").write_text(APP + endless, encoding="utf-8")
    with Sender(load(folder), f"sqlite:///{tmp_path / 'log.db'}") as sender:
        (refusal,) = sender.send_many("inbox", ["<ping/>"])
    assert isinstance(refusal, MessageRefused)
    assert refusal.kind == "resource"


def test_a_retried_message_has_the_priority_that_its_queue_has_now(node: Node, app: Path) -> None:
    node.send("inbox", "<divide>0</divide>")
    node.run_until_idle()
    app.write_text(APP.replace("create queue inbox kind basic", "create queue inbox kind basic priority 10"))
    node.deploy(app)
    assert node.message(node.retry(1)).rank == 10


@pytest.mark.parametrize("where", ["auto", "local[2]"])
def test_what_is_evaluated_in_this_process_is_not_on_spark(app: Path, tmp_path: Path, where: str) -> None:
    with pytest.raises(SparkUnavailable, match="with `inline`, rules are evaluated in this process, and not on Spark"):
        Node(app, f"sqlite:///{tmp_path / 'log.db'}", inline=True, spark=where)


def test_timeouts_are_for_echo_queues(node: Node) -> None:
    with pytest.raises(PropertyInvalid, match="`timeout` is for messages in echo queues"):
        node.send("inbox", "<ping/>", {"timeout": "PT1S", "target": "inbox"})


@pytest.mark.parametrize("batch", [1, 2, 3, 256])
def test_a_message_may_come_before_others_than_the_next(tmp_path: Path, batch: int) -> None:
    file = tmp_path / "app.demaq"
    file.write_text(
        """
        create queue late kind basic priority -5
        create queue work kind basic
        create queue out kind outgoingGateway
        create rule make for work if (/a) then do enqueue <made/> into out
        create rule tell for late if (/a) then do enqueue <late/> into out
        """,
        encoding="utf-8",
    )
    with Node(file, clock=ManualClock(NOW), inline=True, batch=batch) as node:
        node.send("late", "<a/>")
        node.send_many("work", ["<a/>", "<b/>"])
        node.run_until_idle()
        order = [message.id for message in sorted(node.messages(everything=True), key=lambda m: m.position or 0)]
        assert order == [2, 3, 4, 1, 5]
