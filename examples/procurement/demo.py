"""A month in the life of the procurement example, on one SQLite file.

    python examples/procurement/demo.py [--requests 1000] [--spark WHERE] [--store FILE] [--page FILE]

A thousand customers ask for an offer, some order, some pay in time, some do not, one cannot be reached. The clock is
moved by hand, so that two weeks pass in a second. At the end a page shows what happened.
"""

import argparse
import html
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lxml import etree

from demaq import ManualClock, Message, Node, Trace
from demaq.testing import pass_time

HERE = Path(__file__).parent
COUNTRIES = ("DE", "FR", "JP", "XB")


def request(number: int) -> str:
    return f"""<offerRequest>
      <requestID>R-{number}</requestID>
      <customerID>{"VIP-" if number % 10 == 0 else "C-"}{number}</customerID>
      <country>{COUNTRIES[number % len(COUNTRIES)]}</country>
      <items><item><sku>acetone</sku><quantity>{10 + number % 90}</quantity></item></items>
    </offerRequest>"""


def order(number: int) -> str:
    return f"""<customerOrder>
      <orderID>{number}</orderID>
      <requestID>R-{number}</requestID>
      <customerID>C-{number}</customerID>
      <address>{number} Canal Street, Mannheim</address>
      <items><item><sku>acetone</sku><quantity>{10 + number % 90}</quantity></item></items>
    </customerOrder>"""


def payment(number: int) -> str:
    return f"<payment><orderID>{number}</orderID><requestID>R-{number}</requestID><amount>1</amount></payment>"


UNREACHABLE = """<error>
  <disconnectedTransport/>
  <initialMessage><confirmation><orderID>1</orderID><requestID>R-1</requestID></confirmation></initialMessage>
</error>"""


def root(message: Message) -> str:
    return str(etree.fromstring(message.body).tag)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--spark", default="off", help="where rules are evaluated: off, auto, or a master as local[*]")
    parser.add_argument("--store", type=Path)
    parser.add_argument("--page", type=Path, default=Path("out/procurement.html"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = options.store or Path(folder) / "procurement.db"
        clock = ManualClock(datetime(2024, 1, 5, 9, tzinfo=UTC))
        with Node(HERE, f"sqlite:///{file}", clock=clock, spark=options.spark) as node:
            ok = run(node, options.requests)
            options.page.parent.mkdir(parents=True, exist_ok=True)
            options.page.write_text(page(node), encoding="utf-8")
    print(f"\nwhat happened is drawn in {options.page}")
    sys.exit(0 if ok else 1)


def run(node: Node, requests: int) -> bool:
    assert isinstance(node.clock, ManualClock)
    orders = max(2, requests // 10)
    began = time.perf_counter()

    def tell(what: str) -> None:
        print(f"{node.clock.now():%d %b %H:%M}  {what}", flush=True)

    if node.spark is not None:
        tell(f"rules are evaluated on Spark ({node.spark['master']}), which takes some seconds to start")
    node.send_many("requests", [request(number) for number in range(1, requests + 1)])
    processed = node.run_until_idle()
    seconds = time.perf_counter() - began
    answers = Counter(root(message) for message in node.messages("customer"))
    answered = Counter(etree.fromstring(message.body).findtext("requestID") for message in node.messages("customer"))
    once = len(answered) == requests and set(answered.values()) == {1}
    tell(f"{requests} requests for an offer came in: {answers['offer']} offers, {answers['refusal']} refusals")
    tell(f"{processed} messages in {seconds:.1f} s; each request was answered {'exactly once' if once else 'WRONGLY'}")
    if node.spark is not None:
        jobs, where = node.spark["jobs"], node.spark["master"]
        tell(f"{node.spark['messagesOnSpark']} of them were evaluated on Spark, {where}, in {jobs} jobs")
        if node.spark["state"] != "ready":
            tell(f"Spark is {node.spark['state']}")

    node.send_many("requests", [order(number) for number in range(1, orders + 1)])
    node.run_until_idle()
    tell(f"{orders} customers ordered, and got a confirmation, an invoice and a shipment notice")
    node.send("crmErrors", UNREACHABLE)
    node.run_until_idle()
    tell(f"one could not be reached: {len(node.messages('postalService'))} letter goes out by mail")

    pass_time(node, node.clock, timedelta(days=10))
    node.send_many("requests", [payment(number) for number in range(1, orders // 2 + 1)])
    node.run_until_idle()
    tell(f"{orders // 2} customers paid")
    pass_time(node, node.clock, timedelta(days=4))
    reminders = sum(root(message) == "reminder" for message in node.messages("customer"))
    tell(f"the grace period is over: {reminders} reminders")
    pass_time(node, node.clock, timedelta(days=14))
    demand = [message for message in node.messages("operations") if root(message) == "demand"]
    tell(f"the month is over: {len(demand)} report of the demand goes to the planners")

    status = node.status()
    tell(f"{status.position} messages in all; the ledger {'does NOT add up' if status.alarms else 'adds up'}")
    return once and not status.alarms and reminders == orders - orders // 2 and len(demand) == 1


def page(node: Node) -> str:
    """What happened, for a browser."""
    columns = ("outside", "produced", "completed", "failed", "retained", "held", "kept")
    rows = "".join(
        f"<tr><th>{html.escape(counted.queue)}</th>"
        + "".join(f"<td>{getattr(counted, column):,}</td>" for column in columns)
        + "</tr>"
        for counted in node.status().queues
    )
    heading = "".join(f"<td>{column}</td>" for column in columns)
    first = next(message for message in node.messages("requests", everything=True))
    return f"""<!doctype html>
<meta charset="utf-8"><title>Procurement</title>
<style>
  body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }}
  table {{ border-collapse: collapse; }} th {{ text-align: left; padding-right: 2rem; font-weight: 600; }}
  td {{ text-align: right; padding: 0 .8rem; font-variant-numeric: tabular-nums; }}
  thead td {{ font-weight: 600; }} li {{ margin: .3rem 0; }} code {{ color: #555; font-size: .85em; }}
  ul {{ border-left: 2px solid #ccd; list-style: none; padding-left: 1.2rem; }}
</style>
<h1>Procurement</h1>
<p>{node.status().position:,} messages were processed, each exactly once.</p>
<h2>The ledger</h2>
<table><thead><tr><td></td>{heading}</tr></thead><tbody>{rows}</tbody></table>
<h2>One request, and everything that came of it</h2>
<ul>{branch(node.trace(first.id))}</ul>
"""


def branch(trace: Trace) -> str:
    message = trace.message
    how = f"by the rule <b>{html.escape(message.rule)}</b>" if message.rule else "from outside"
    text = html.escape(" ".join(message.body.split())[:160])
    inner = "".join(branch(effect) for effect in trace.effects)
    below = f"<ul>{inner}</ul>" if inner else ""
    return f"<li>{message.id} in <b>{html.escape(message.queue)}</b>, {how}<br><code>{text}</code>{below}</li>"


if __name__ == "__main__":
    main()
