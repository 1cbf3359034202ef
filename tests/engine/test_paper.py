"""Figure 7 of the paper: the unguarded join answers twice, the guarded one once."""

from itertools import permutations
from pathlib import Path

import pytest

from running import Running, plan_at, plan_from

GOLDEN = Path(__file__).parents[1] / "golden" / "language"
EXAMPLE = Path(__file__).parents[2] / "examples" / "procurement"
GUARD = " and\n  not(qs:slice()[/offer or /refusal])"
RESULTS = [f"<{name}Result><requestID>r1</requestID><accept/></{name}Result>" for name in ("customerInfo", "capacity")]
RESTRICTIONS = "<restrictionsResult><requestID>r1</requestID></restrictionsResult>"
REQUEST = "<offerRequest><requestID>r1</requestID><items><item><name>ink</name></item></items></offerRequest>"


def guarded() -> str:
    """The figure with the guard, from the folder of golden programs."""
    found = [file.read_text(encoding="utf-8") for file in sorted(GOLDEN.glob("paper-fig-07*/*.demaq"))]
    (text,) = [text for text in found if GUARD in text]
    return text


def join(folder: Path, text: str, *, batch: int, order: tuple[str, ...]) -> Running:
    prices = {"crm/prices.xml": '<pricelist><price item="ink">12</price></pricelist>'}
    running = Running(plan_from(folder, text, prices), batch=batch)
    running.send("crm", REQUEST, *order)
    running.run()
    return running


@pytest.mark.parametrize("batch", [1, 2, 256])
@pytest.mark.parametrize("order", list(permutations([*RESULTS, RESTRICTIONS]))[:3])
def test_the_unguarded_join_sends_two_offers_and_the_guarded_one_sends_one(
    tmp_path: Path, order: tuple[str, ...], batch: int
) -> None:
    once = join(tmp_path / "guarded", guarded(), batch=batch, order=order)
    twice = join(tmp_path / "unguarded", guarded().replace(GUARD, ""), batch=batch, order=order)
    offer = '<offer><requestID>r1</requestID><item price="12"><name>ink</name></item></offer>'
    assert once.bodies("customer") == [offer]
    assert twice.bodies("customer") == [offer] * 2
    # The first offer resets the slice: the second finds it empty but for itself.
    assert [once.retained("crm"), once.retained("customer")] == [[], []]
    assert twice.members("requestMsgs", "r1") == []


@pytest.mark.parametrize("batch", [1, 256])
def test_the_example_answers_each_request_once(batch: int) -> None:
    running = Running(plan_at(EXAMPLE), batch=batch)
    request = (EXAMPLE / "messages" / "offer-request.xml").read_text(encoding="utf-8")
    name = request.partition("<requestID>")[2].partition("<")[0]
    running.send("requests", *(request.replace(f">{name}<", f">{number}<") for number in range(30)))
    running.run()
    answers = running.messages("customer")
    assert sorted(answer.properties["requestID"].text for answer in answers) == sorted(map(str, range(30)))
    assert running.errors() == running.errors("crmErrors") == []
