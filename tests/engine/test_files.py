"""What lies beside the modules: collections and schemas."""

import pytest

from running import Start

PRICES = {
    "prices/b.xml": "<price sku='b'>2</price>",
    "prices/a.xml": "\ufeff<?xml version='1.0' encoding='utf-8'?><price sku='a'>1</price>",
    "prices/readme.txt": "no price",
}


def test_collections_are_read_in_the_order_of_their_files(start: Start) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create collection prices from "prices/*.xml"
create rule all for inbox if (/all) then do enqueue <p>{collection("prices")/price/@sku ! string(.)}</p> into out
create rule one for inbox
if (/one) then do enqueue <p>{sum(collection("prices")[price/@sku = qs:message()/one/@sku]/price)}</p> into out
""",
        files=PRICES,
    )
    running.play("inbox", "<all/>", '<one sku="b"/>', '<one sku="c"/>')
    assert running.bodies("out") == ["<p>a b</p>", "<p>2</p>", "<p>0</p>"]


ORDER = """
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:include schemaLocation="more/types.xsd"/>
  <xs:element name="order">
    <xs:complexType><xs:sequence><xs:element name="id" type="identifier"/></xs:sequence></xs:complexType>
  </xs:element>
</xs:schema>
"""
TYPES = """
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:simpleType name="identifier"><xs:restriction base="xs:integer"><xs:minInclusive value="1"/></xs:restriction>
  </xs:simpleType>
</xs:schema>
"""
VALIDATED = """
create queue inbox kind basic mode persistent
create queue orders kind basic mode persistent schema "schemas/order.xsd" errorqueue problems
create queue problems kind basic mode persistent
create rule make for inbox if (/make) then do enqueue <order><id>{string(/make/@id)}</id></order> into orders
"""
FILES = {"schemas/order.xsd": ORDER, "schemas/more/types.xsd": TYPES}


def test_messages_from_outside_are_validated(start: Start) -> None:
    running = start(VALIDATED, files=FILES)
    running.play("orders", "<order><id>7</id></order>")
    refusal = running.refused("orders", "<order><id>0</id></order>")
    assert refusal.kind == "schema"
    assert "order.xsd" in refusal.reason
    assert "'0'" in refusal.reason
    (error,) = running.errors("problems")
    assert (error.kind, error.queue, error.initial) == ("schema", "orders", "<order><id>0</id></order>")
    assert running.bodies("orders") == ["<order><id>7</id></order>"]


def test_messages_that_rules_make_are_validated(start: Start) -> None:
    running = start(VALIDATED, files=FILES)
    running.play("inbox", '<make id="1"/>', '<make id="-1"/>', '<make id="2"/>')
    assert running.bodies("orders") == ["<order><id>1</id></order>", "<order><id>2</id></order>"]
    (error,) = running.errors()
    assert (error.kind, error.rule, error.queue, error.line) == ("schema", "make", "inbox", "5")


@pytest.mark.parametrize("attack", ["xsi:schemaLocation", "xsi:noNamespaceSchemaLocation"])
def test_a_message_cannot_bring_its_own_schema(start: Start, attack: str) -> None:
    running = start(VALIDATED, files=FILES)
    refusal = running.refused(
        "orders",
        f'<order xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" {attack}="file:///etc/passwd x"><id>0</id>'
        "</order>",
    )
    assert refusal.kind == "schema"
