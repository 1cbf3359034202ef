"""Every example gives the same log on Spark as in one process."""

from collections.abc import Callable

import pytest

from running import Running, plan_at
from spark.test_executor import EXAMPLES, log_of_run, on_spark, places, registrar

pytestmark = pytest.mark.usefixtures("spark")
NUMBER = 40


def message(name: str, number: int, customers: int = 1) -> str:
    """One of the messages of the procurement example, with other numbers in it."""
    text = (EXAMPLES / "procurement" / "messages" / f"{name}.xml").read_text(encoding="utf-8")
    text = text.replace("R-1<", f"R-{number}<").replace("<orderID>1<", f"<orderID>{number}<")
    return text.replace("C-17<", f"{'VIP' if number % 3 == 0 else 'C'}-{number % customers}<")


def sent(running: Running, queue: str, *bodies: str) -> None:
    assert all(isinstance(answer, int) for answer in running.send(queue, *bodies))


def procurement(running: Running) -> None:
    """Requests, orders of most of them, and payments of some; the second time all of these wait together."""
    for first in (0, NUMBER):
        numbers = range(first, first + NUMBER)
        sent(running, "requests", *(message("offer-request", number, 7) for number in numbers))
        sent(running, "requests", *(message("order", number, 7) for number in numbers if number % 5))
        if first == 0:
            running.run()
        sent(running, "requests", *(message("payment", number) for number in numbers if number % 4 == 1))
        running.run()
        running.advance(days=20)
    running.advance(days=60)


def company(running: Running) -> None:
    sent(running, "requests", *(message("offer-request", number, 7) for number in range(NUMBER)))
    running.run()
    answers = (
        f"<capacityResult><requestID>R-{n}</requestID><{'accept' if n % 5 else 'refuse'}/></capacityResult>"
        for n in range(NUMBER)
    )
    sent(running, "capacities", *answers)
    running.run()


def customer(running: Running) -> None:
    sent(running, "wishes", *(message("offer-request", number) for number in range(NUMBER)))
    offers = (f"<offer><requestID>R-{number}</requestID></offer>" for number in range(NUMBER))
    sent(running, "customer", *offers)
    running.run()


def supplier(running: Running) -> None:
    items = "<items><item><sku>acetone</sku><quantity>{}</quantity></item></items>"
    bodies = (
        f"<requestCapacity><requestID>R-{n}</requestID>{items.format(20 * n)}</requestCapacity>" for n in range(60)
    )
    sent(running, "supplier", *bodies)
    running.run()


PLAYS: dict[str, Callable[[Running], None]] = {
    "procurement": procurement,
    "registrar": registrar,
    "nodes/company": company,
    "nodes/customer": customer,
    "nodes/supplier": supplier,
}


def test_no_example_is_left_out() -> None:
    folders = {path.parent for path in EXAMPLES.rglob("demaq.toml")}
    assert {str(folder.relative_to(EXAMPLES)) for folder in folders} == set(PLAYS)


@pytest.mark.parametrize("example", PLAYS)
def test_an_example_gives_the_same_log(example: str) -> None:
    plan, play = plan_at(EXAMPLES / example), PLAYS[example]
    here = log_of_run(plan, "memory:", None, 256, play)
    with places() as urls:
        for url in urls.values():
            executor = on_spark(url, parts=3)
            assert log_of_run(plan, url, executor, 16, play) == here
            assert executor.tally.failed_jobs == 0, executor.tally.last_failure
            assert executor.tally.spark > 100
