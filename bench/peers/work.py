"""The work that is measured: requests for an offer, as in the procurement example, mixed so that the join matters.

Beside the requests, what departments do with a message, written by hand with lxml. Every peer calls these functions:
they differ in how messages travel, and in how the state of a request is kept.
"""

from collections.abc import Collection, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

PROCUREMENT = Path(__file__).parents[2] / "examples" / "procurement"
MESSAGES_EACH = 9  # requests, crm, three checks, three results, and the answer

DEBTORS = tuple(f"D-{number}" for number in range(10))  # customers with unpaid invoices
_SKUS = ("acetone", "benzene", "ethanol", "toluene", "xylene")
_COUNTRIES = ("DE", "FR", "JP", "XA", "US", "XB", "BR")

CHECKS = ("finance", "legal", "supplier")
_RESULTS = {"customerInfoResult": "finance", "restrictionsResult": "legal", "capacityResult": "supplier"}

Element = Any  # of lxml, which has no types
Message = tuple[str, str]  # its queue and its body


# What comes in


def offer_requests(number: int, first: int = 0) -> list[str]:
    return [_request(n) for n in range(first, first + number)]


def _request(number: int) -> str:
    items = "".join(
        f"<item><sku>{_SKUS[(number + n) % len(_SKUS)]}</sku>"
        f"<quantity>{10 + (number * 37 + n * 91) % 270}</quantity></item>"
        for n in range(1 + number % 3)
    )
    return (
        f"<offerRequest><requestID>R-{number}</requestID><customerID>{_customer(number)}</customerID>"
        f"<country>{_COUNTRIES[number % len(_COUNTRIES)]}</country><items>{items}</items></offerRequest>"
    )


def _customer(number: int) -> str:
    if number % 13 == 5:
        return DEBTORS[number % len(DEBTORS)]
    return f"VIP-{number}" if number % 10 == 0 else f"C-{number}"


def debts() -> list[str]:
    """Orders, one for each debtor: their invoices are never paid."""
    return [
        f"<customerOrder><orderID>{number}</orderID><requestID>O-{number}</requestID>"
        f"<customerID>{customer}</customerID><address>{number} Canal Street, Mannheim</address>"
        f"<items><item><sku>ethanol</sku><quantity>1</quantity></item></items></customerOrder>"
        for number, customer in enumerate(DEBTORS, 1)
    ]


# What departments do


@dataclass(slots=True)
class Case:
    """What is known of a request that has no answer yet."""

    request: str
    verdicts: dict[str, bool] = field(default_factory=dict)  # by the department that gave it


@dataclass(frozen=True, slots=True)
class MasterData:
    prices: dict[str, float]
    capacities: dict[str, int]
    restricted: frozenset[tuple[str, str]]  # countries and goods


@cache
def master_data() -> MasterData:
    prices, plants, restrictions = (
        etree.parse(PROCUREMENT / "collections" / f"{name}.xml") for name in ("prices", "plants", "restrictions")
    )
    capacities: dict[str, int] = {}
    for capacity in plants.iter("capacity"):
        capacities[capacity.get("sku")] = capacities.get(capacity.get("sku"), 0) + int(capacity.text)
    return MasterData(
        prices={price.get("sku"): float(price.text) for price in prices.iter("price")},
        capacities=capacities,
        restricted=frozenset(
            (country.get("code"), sku.text) for country in restrictions.iter("country") for sku in country.iter("sku")
        ),
    )


@dataclass(frozen=True, slots=True)
class Received:
    """A message that was read. One that only goes on to the next queue was not."""

    queue: str
    body: str
    root: Element = None

    @property
    def request(self) -> str:
        return str(self.root[0].text)


def received(messages: Iterable[Message]) -> list[Received]:
    return [
        Received(queue, body) if queue == "requests" else Received(queue, body, etree.fromstring(body))
        for queue, body in messages
    ]


def customers_in(messages: Iterable[Received]) -> set[str]:
    """The customers whose invoices are asked for."""
    return {message.root.findtext("customerID") for message in messages if message.queue == "finance"}


def requests_in(messages: Iterable[Received]) -> set[str]:
    """The requests whose cases are needed, since a result has come."""
    return {message.request for message in messages if message.queue == "crm" and message.root.tag in _RESULTS}


def handle(messages: Iterable[Received], cases: MutableMapping[str, Case], debtors: Collection[str]) -> list[Message]:
    """What messages lead to, in their order. Cases are opened and completed; those with an answer are gone."""
    made: list[Message] = []
    for message in messages:
        if message.queue == "requests":
            made.append(("crm", message.body))
        elif message.queue == "crm":
            made += _at_the_desk(message, cases)
        else:
            made.append(("crm", check(message.queue, message.root, debtors)))
    return made


def _at_the_desk(message: Received, cases: MutableMapping[str, Case]) -> Sequence[Message]:
    if message.root.tag == "offerRequest":
        cases[message.request] = Case(message.body)
        return questions(message.root)
    case = cases[message.request]
    case.verdicts[department_of(message.root)] = verdict(message.root)
    if len(case.verdicts) < len(CHECKS):
        return ()
    del cases[message.request]
    return (("customer", answer(message.request, case)),)


def questions(request: Element) -> tuple[Message, ...]:
    """One for each department."""
    number, customer, country, items = request
    head, goods = _copy(number), etree.tostring(items, encoding="unicode", with_tail=False)
    return (
        ("finance", f"<requestCustomerInfo>{head}{_copy(customer)}</requestCustomerInfo>"),
        ("legal", f"<requestRestrictions>{head}{_copy(country)}{goods}</requestRestrictions>"),
        ("supplier", f"<requestCapacity>{head}{goods}</requestCapacity>"),
    )


def _copy(element: Element) -> str:
    """An element that has only text."""
    return f"<{element.tag}>{escape(element.text)}</{element.tag}>"


def check(department: str, question: Element, debtors: Collection[str]) -> str:
    """What a department answers."""
    if department == "finance":
        return _credit_rating(question, debtors)
    return _export_restrictions(question) if department == "legal" else _plant_capacity(question)


def _credit_rating(question: Element, debtors: Collection[str]) -> str:
    number, customer = question
    found = "<refuse/>" if customer.text in debtors else "<accept/>"
    return f"<customerInfoResult>{_copy(number)}{_copy(customer)}{found}</customerInfoResult>"


def _export_restrictions(question: Element) -> str:
    number, country, items = question
    skus = [item[0].text for item in items if (country.text, item[0].text) in master_data().restricted]
    found = "".join(f"<restrictedItem>{escape(sku)}</restrictedItem>" for sku in skus)
    return f"<restrictionsResult>{_copy(number)}{found}</restrictionsResult>"


def _plant_capacity(question: Element) -> str:
    number, items = question
    capacities = master_data().capacities
    is_enough = all(int(quantity.text) <= capacities.get(sku.text, 0) for sku, quantity in items)
    return f"<capacityResult>{_copy(number)}{'<accept/>' if is_enough else '<refuse/>'}</capacityResult>"


def department_of(result: Element) -> str:
    return _RESULTS[result.tag]


def verdict(result: Element) -> bool:
    if result.tag == "restrictionsResult":
        return len(result) == 1
    return bool(result[-1].tag == "accept")


def answer(number: str, case: Case) -> str:
    """An offer if all departments agree."""
    if not all(case.verdicts.values()):
        return f"<refusal><requestID>{escape(number)}</requestID></refusal>"
    _, customer, _, items = etree.fromstring(case.request)
    discount = 0.95 if customer.text.startswith("VIP-") else 1.0
    positions = "".join(_position(sku.text, quantity.text, discount) for sku, quantity in items)
    return f"<offer><requestID>{escape(number)}</requestID>{positions}</offer>"


def _position(sku: str, quantity: str, discount: float) -> str:
    price = repr(master_data().prices[sku] * discount).removesuffix(".0")
    return f'<position sku={quoteattr(sku)} quantity={quoteattr(quantity)} price="{price}"/>'


# What goes out


def canonical(answers: Iterable[str]) -> list[str]:
    """Answers in a form that can be compared: the same content gives the same text, in whatever order."""
    return sorted(etree.tostring(etree.fromstring(text), method="c14n").decode() for text in answers)
