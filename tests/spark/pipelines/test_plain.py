"""Documents that are read as columns are read as they are value by value; those that are plain are read so."""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_type

from demaq.pipelines.documents import Shape, read_document
from demaq.pipelines.program import Endpoint
from demaq.pipelines.values import Value, ValueType
from demaq.pipelines.vocabulary import Format
from demaq.spark.pipelines import plain, regular
from demaq.spark.pipelines.plain import plain_columns
from demaq.spark.pipelines.regular import WIDEST, regular_columns
from demaq.spark.pipelines.values import encoder, spark_type
from property.effort import scaled

_SEEDS = range(3)
_DOCUMENTS = scaled(1000)  # of each seed

_NEVER = {ValueType.DECIMAL, ValueType.DATETIME}  # columns of these types are read value by value
_READ = [type_ for type_ in ValueType if type_ not in _NEVER]

_LETTERS = 'aZ0 ,;:.{}[]"\\/\t\n\r\x00\x1f\x7f\x85\xa0éß\u2028\ufeff😀'
_BYTES = b'{}[],:"\\\n\r\t\x00\x0b\x0c 019-+e.aNu;|\x80\xff'  # what damages documents

_ODD = [
    *("null", "-0", "-0.0", "0.0", "1.0", "1e2", "1E+2", "1e400", "-1e400", "1e-400", "5e-324", "0.1e1"),
    *("NaN", "Infinity", "-Infinity", "Inf", "-Inf", "007", "+1", ".5", "1.", "-", "0x1", "1_000", "nul", "True"),
    *(str(sign * (2**power + more)) for sign in (1, -1) for power in (53, 63, 64) for more in (-1, 0, 1)),
    *("1" + "0" * zeros for zeros in (17, 22, 400, 4400)),
    *('"12"', '" 12 "', '"1.5"', '"true"', '"TRUE"', '"NaN"', '""', '"x"', "true", "false", "'x'"),
    *('"0000-01-01"', '"0001-01-01"', '"9999-12-31"', '"2021-02-30"', '" 2021-02-03"', '"20210203"', '"2021-2-3"'),
    *('"2021-W05-3"', '"2021-02-03T04:05:06"', '"12021-02-03"', '"2021-02-03\\n"'),
    *(r'"\ud800"', r'"\udc00"', r'"\ud83d\ude00"', r'"\u0000"', r'"\u0041\/\b\f\n\r\t\"\\"', r'"\x"', r'"\u12"'),
    *('"},{"', '"} , {"', '"}\\n{"', '"}],[{"', '"x\ny"', '"x\ty"', '"x\ry"', '"x\x00y"', '"}\n{"', '"\u2028"'),
    *("[]", "{}", "[1]", "[{}]", '{"a": 1}', '{"p": {"a": 1}}', '[{"a": 1}, {"a": 2}]', "[[[[[[[[1]]]]]]]]"),
]
_ODD_IN_TEXT = [
    *("+1", "-0", "-0.0", "007", "-007", "1e3", "1.", ".5", "1.0", "NaN", "nan", "inf", "-inf", "1_0", "0x10", "٣"),
    *("9" * 15, "9" * 16, "9" * 18, "9" * 19, "9" * 400, "0." + "1" * 16, "12345678901234.5"),
    *(" ", " 1", "1 ", "True", "FALSE", " true", "null", "NULL", "NA", "-", "#N/A", "\\", "\\N", "'x'", "\ufeff1"),
    *("0000-01-01", "2021-02-30", "20210203", " 2021-02-03", "2021-02-03 ", "2021-02-03T00:00:00", "9999-12-31"),
    *('"x"', '"x,y"', '"x""y"', '"x\ny"', '"x', 'x"', '""', 'x"y', "x\x00", "x\ry", "\x0b", "\x85", "\u2028"),
]


@dataclass(frozen=True)
class Case:
    """A document, and what is looked for in it."""

    data: bytes
    shape: Shape
    format: Format
    options: Mapping[str, Value]

    def columns(self) -> list[Any] | None:
        endpoint = Endpoint(
            uri="file:in",
            shown="file:in",
            scheme="file",
            path="in",
            format=self.format,
            options=self.options,
            configured=(),
        )
        return plain_columns(self.data, endpoint, (self.shape,))

    def is_read(self) -> bool:
        """Is it read as columns? If it is, are they what they should be?"""
        columns = self.columns()
        if columns is None:
            return False
        assert [column.type for column in columns] == [to_arrow_type(spark_type(type_)) for type_ in self.shape.types]
        found = [column.to_pylist() for column in columns]
        assert repr(found) == repr(self._expected()), self  # -0.0 equals 0.0, and True 1, but are not the same
        return True

    def _expected(self) -> list[list[Any]]:
        """The columns, value by value."""
        if self.options.get("lines"):
            each = [self._rows(line) for line in io.BytesIO(self.data) if not line.isspace()]
            assert all(len(rows) == 1 for rows in each), self
            rows = [rows[0] for rows in each]
        else:
            rows = self._rows(self.data)
        encoders = [encoder(type_) for type_ in self.shape.types]
        return [[encode(row[at]) for row in rows] for at, encode in enumerate(encoders)]

    def _rows(self, document: bytes) -> list[tuple[Any, ...]]:
        found = read_document(document, self.format, (self.shape,), self.options)
        assert (found.problems, found.is_broken) == ([], False), self
        return found.facts.get(self.shape.relation, [])


# Documents, by chance


def _shape(chance: Random, *, is_plain: bool) -> Shape:
    names = chance.sample(["a", "b", "c", "é", "a b", "p"], chance.randint(1, 4))
    types = chance.choices(_READ, k=len(names))
    if not is_plain and chance.random() < 0.03:
        types[0] = chance.choice(sorted(_NEVER, key=str))
    return Shape("p", tuple(names), tuple(types))


def _text(chance: Random) -> str:
    return "".join(chance.choices(_LETTERS, k=chance.randint(0, 6)))


def _date(chance: Random) -> str:
    return f"{chance.randint(1, 9999):04d}-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}"


def _integer(chance: Random) -> str:
    return str(chance.choice([chance.randint(-9, 9), chance.randint(-(2**53), 2**53), chance.randint(1, 10**6)]))


def _double(chance: Random) -> str:
    return repr(chance.choice([chance.random(), chance.uniform(-1e6, 1e6), 10 ** chance.uniform(-300, 300), 0.5]))


def _json_text(chance: Random) -> str:
    return json.dumps(_text(chance), ensure_ascii=chance.random() < 0.5)


def _json_boolean(chance: Random) -> str:
    return chance.choice(["true", "false"])


_JSON: dict[ValueType, Callable[[Random], str]] = {
    ValueType.TEXT: _json_text,
    ValueType.BOOLEAN: _json_boolean,
    ValueType.INTEGER: _integer,
    ValueType.DOUBLE: _double,
    ValueType.DATE: lambda chance: f'"{_date(chance)}"',
}


def _kinds(chance: Random, shape: Shape) -> list[Callable[[Random], str]]:
    """How the values of each column are written, if nothing is odd."""
    some: dict[ValueType, list[Callable[[Random], str]]] = {
        ValueType.NUMBER: [_integer, _double],
        ValueType.ANY: [_json_text, _json_boolean, _integer, lambda chance: f"{chance.random()}"],
    }
    return [chance.choice(some.get(type_, [_JSON.get(type_, _double)])) for type_ in shape.types]


@dataclass(frozen=True)
class _Objects:
    """Writes objects with the fields of a shape; a part of their values is odd."""

    chance: Random
    shape: Shape
    odd: float
    blanks: tuple[str, ...]
    kinds: list[Callable[[Random], str]]
    lists: float = 0  # how many lines are lists

    def blank(self) -> str:
        return self.chance.choice(self.blanks)

    def object(self, *, is_whole: bool) -> str:
        chance = self.chance
        fields = [
            (name, self._value(kind))
            for name, kind in zip(self.shape.names, self.kinds, strict=True)
            if is_whole or chance.random() < 0.9
        ]
        if chance.random() < 0.2:
            fields.append(("more", chance.choice(_ODD) if chance.random() < self.odd else _integer(chance)))
        if fields and chance.random() < self.odd:
            fields.append((chance.choice(fields)[0], fields[0][1]))
        chance.shuffle(fields)
        inside = f"{self.blank()},{self.blank()}".join(self._field(*field) for field in fields)
        return f"{{{self.blank()}{inside}{self.blank()}}}"

    def _field(self, name: str, value: str) -> str:
        written = json.dumps(name, ensure_ascii=self.chance.random() < 0.5)
        if self.chance.random() < 0.05:
            written = '"' + "".join(f"\\u{ord(letter):04x}" for letter in name) + '"'
        return f"{written}{self.blank()}:{self.blank()}{value}"

    def _value(self, kind: Callable[[Random], str]) -> str:
        return self.chance.choice(_ODD) if self.chance.random() < self.odd else kind(self.chance)

    def line(self, *, is_first: bool) -> str:
        chance = self.chance
        own = self.object(is_whole=is_first or not self.odd)
        if chance.random() < self.lists:
            own = f"[{own}]"
        if chance.random() < self.odd:
            other = self.object(is_whole=True)
            own = chance.choice(
                [
                    *(
                        own + other,
                        f"{own} {other}",
                        f"{own},{other}",
                        f"[{own},{other}]",
                        f"[{own}{other}]",
                        f"{own},",
                    ),
                    *(f"\ufeff{own}", f"{own}\x00{other}", f"{own}\r{other}", f"{own}\x0b", f"\x0b\n{own}", "[]", "{}"),
                    *("", "  ", "\t", "1", "[1]", "null", own.replace(":", ":\n"), own.replace(",", ",\n"), f"[{own}"),
                ]
            )
        return own


def _damaged(chance: Random, data: bytes) -> bytes:
    for _ in range(chance.randint(1, 2)):
        at = chance.randrange(len(data) + 1)
        data = data[:at] + bytes(chance.choices(_BYTES, k=chance.randint(0, 2))) + data[at + chance.randint(0, 2) :]
    return data


def _oddness(chance: Random, *, is_plain: bool) -> float:
    return 0.0 if is_plain else chance.choice([0, 0.02, 0.1])


def _lines(chance: Random, *, is_plain: bool = False) -> Case:
    shape = _shape(chance, is_plain=is_plain)
    blanks = ("", "", " ", "\t", "\r") if chance.random() < 0.3 else ("",)
    lists = chance.choice([0, 1] if is_plain else [0, 0.3, 1])
    writer = _Objects(chance, shape, _oddness(chance, is_plain=is_plain), blanks, _kinds(chance, shape), lists)
    lines = [writer.line(is_first=number == 0) for number in range(chance.randint(1, 6))]
    between = chance.choice(["\n", "\n", "\r\n", "\n\n", " \n", "\n \t\r\n"])
    data = (between.join(lines) + chance.choice(["", "\n", "\r\n"])).encode("utf-8", "surrogatepass")
    is_damaged = not is_plain and chance.random() < 0.2
    return Case(_damaged(chance, data) if is_damaged else data, shape, Format.JSON, {"lines": True})


def _document(chance: Random, *, is_plain: bool = False) -> Case:
    shape = _shape(chance, is_plain=is_plain)
    blanks = ("", " ", "\n", "\r\n", "\n  ") if chance.random() < 0.5 else ("",)
    writer = _Objects(chance, shape, _oddness(chance, is_plain=is_plain), blanks, _kinds(chance, shape))
    objects = [writer.object(is_whole=is_plain or number == 0) for number in range(chance.randint(1, 6))]
    if not is_plain and chance.random() < 0.1:
        objects.insert(chance.randrange(len(objects) + 1), chance.choice(["1", "null", "[]", "{}", "", '"}"', "[{}]"]))
    comma = "," if is_plain or chance.random() < 0.9 else chance.choice(["", " ", "\n", "\x00", "\x0b,", ",\x0c", ",,"])
    text = f"{writer.blank()}[{writer.blank()}{(comma + writer.blank()).join(objects)}{writer.blank()}]{writer.blank()}"
    data = text.encode("utf-8", "surrogatepass")
    is_damaged = not is_plain and chance.random() < 0.2
    return Case(_damaged(chance, data) if is_damaged else data, shape, Format.JSON, {})


def _regular(chance: Random, *, is_plain: bool = False) -> Case:
    """Objects that are all written alike; a part of their values is odd."""
    names = chance.sample(["a", "b", "c", "é", "a b", "p"], chance.randint(1, 4))
    types = [type_ for type_ in _READ if type_ is not ValueType.BOOLEAN]
    shape = Shape("p", tuple(names), tuple(chance.choices(types, k=len(names))))
    kinds = [_plain_text if kind in (_json_text, _json_boolean) else kind for kind in _kinds(chance, shape)]
    fields = [*zip(names, kinds, strict=True)] + (
        [("more", chance.choice([_integer, _plain_text]))] * chance.randint(0, 1)
    )
    chance.shuffle(fields)
    odd = _oddness(chance, is_plain=is_plain)
    colon, comma, begin = chance.choice([":", ": ", " :\t"]), chance.choice([",", ", "]), chance.choice(["", "  ", " "])
    objects = [
        "{"
        + comma.join(
            f'"{name}"{colon}{_odd(chance) if chance.random() < odd else kind(chance)}' for name, kind in fields
        )
        for _ in range(chance.randint(2, 6))
    ]
    between, first, last = chance.choice([(f"}},\n{begin}", f"\n{begin}", "}\n"), (f"}}{comma}", "", "}")])
    data = f"[{first}{between.join(objects)}{last}]\n".encode("utf-8", "surrogatepass")
    is_damaged = not is_plain and chance.random() < 0.2
    return Case(_damaged(chance, data) if is_damaged else data, shape, Format.JSON, {})


def _plain_text(chance: Random) -> str:
    text = "".join(chance.choices("aZ0 ,;:.{[]/éß\u2028😀", k=chance.randint(0, 6)))
    return f'"{text}"'


def _odd(chance: Random) -> str:
    numbers = [
        "007",
        "-007",
        "0",
        "-0",
        "-",
        "--1",
        "1-",
        "",
        "0.5",
        ".5",
        "-.5",
        "1.",
        "1.2.3",
        "00.5",
        "-00.5",
        "1.5e3",
    ]
    return chance.choice([*_ODD, *numbers, "1.e3", "1e", "1e+", " 1", "1 ", "1,", "1}"])


_TEXTS: dict[ValueType, Callable[[Random], str]] = {
    ValueType.BOOLEAN: _json_boolean,
    ValueType.NUMBER: lambda chance: f"{chance.uniform(-1e6, 1e6):.3f}",
    ValueType.INTEGER: _integer,
    ValueType.DOUBLE: lambda chance: f"{chance.uniform(-1e6, 1e6):.6f}",
    ValueType.DATE: _date,
}


def _cell(chance: Random) -> str:
    return "".join(chance.choices("aZ0.-éß😀", k=chance.randint(1, 5)))


def _table(chance: Random, *, is_plain: bool = False) -> Case:
    shape = _shape(chance, is_plain=is_plain)
    odd = _oddness(chance, is_plain=is_plain)
    delimiter = chance.choice(",,;|\t" if "a b" in shape.names else ",,;|\t ")
    end = chance.choice(["\n", "\n", "\r\n"])
    has_header = chance.random() < 0.7
    types = dict(zip(shape.names, shape.types, strict=True))
    if has_header and len(types) > 1 and chance.random() < odd:
        types.pop(shape.names[0])
    names = [*types, "more"] if has_header and chance.random() < 0.3 else list(types)
    if has_header:
        chance.shuffle(names)
    writers = [_TEXTS.get(types.get(name, ValueType.TEXT), _cell) for name in names]
    rows = [
        [chance.choice(_ODD_IN_TEXT) if chance.random() < odd else write(chance) for write in writers]
        for _ in range(chance.randint(1, 6))
    ]
    for row in rows:
        if len(row) > 1 and chance.random() < 0.2:
            row[chance.randrange(len(row))] = ""
        if chance.random() < odd:
            row[:] = chance.choice([[*row, ""], row[:-1], [""], ["" for _ in row], [" "]])
    if has_header:
        rows.insert(0, [*map(_name(chance, odd), names)])
    lines = [delimiter.join(row) for row in rows]
    if chance.random() < odd:
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(["", " ", delimiter, "\r", '"', *names]))
    between = chance.choice([end, end, end * 2]) if is_plain else chance.choice([end, end, end * 2, "\r", "\n\r\n"])
    text = between.join(lines) + chance.choice(["", end])
    options: dict[str, Value] = {} if has_header else {"header": False}
    if delimiter != ",":
        options["delimiter"] = delimiter
    data = text.encode()
    is_damaged = not is_plain and chance.random() < 0.2
    return Case(_damaged(chance, data) if is_damaged else data, shape, Format.CSV, options)


def _name(chance: Random, odd: float) -> Callable[[str], str]:
    def written(name: str) -> str:
        if chance.random() >= odd:
            return name
        return chance.choice(
            [f" {name}", f"{name} ", f'"{name}"', name.upper(), "", "a", "\ufeff" + name, f"\xa0{name}"]
        )

    return written


# Tests


@pytest.mark.parametrize("block", [None, 150], ids=["at-once", "in-blocks"])
@pytest.mark.parametrize("made", [_lines, _document, _regular, _table], ids=["lines", "json", "regular", "csv"])
@pytest.mark.parametrize("seed", _SEEDS)
def test_columns_are_what_is_read_value_by_value(
    made: Callable[[Random], Case], seed: int, block: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if block is not None:
        monkeypatch.setattr(plain, "_BLOCK", block)
        monkeypatch.setattr(regular, "_BLOCK", block)
    chance = Random(f"{seed} {block}")
    read = sum(made(chance).is_read() for _ in range(_DOCUMENTS))
    assert read > _DOCUMENTS * 0.1
    assert read < _DOCUMENTS * 0.9


@pytest.mark.parametrize("made", [_lines, _document, _table], ids=["lines", "json", "csv"])
def test_what_is_plain_is_read_as_columns(made: Callable[..., Case]) -> None:
    chance, types = Random(1), set[ValueType]()
    for _ in range(_DOCUMENTS):
        case = made(chance, is_plain=True)
        assert case.is_read(), case
        types.update(case.shape.types)
    assert types == set(_READ)


def test_lists_of_objects_that_are_written_alike_are_read_as_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """And by no parser of JSON."""
    monkeypatch.setattr("pyarrow.json.read_json", None)
    chance = Random("regular")
    for _ in range(scaled(200)):
        case = _regular(chance, is_plain=True)
        assert case.is_read(), case


@pytest.mark.parametrize(
    "objects",
    [
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
        ('{"a": 1, "b": 2}', '{"a": 1, "c": 2}'),
        ('{"a": 1, "b": 2}', '{"a": 1, "b":  2}'),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2},{"a": 3, "b": 4}'),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 02}'),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2}}'),
        ('{"a": 1, "a": 2, "b": 2}', '{"a": 1, "a": 2, "b": 2}'),
        ('{"a": 1, "b": 2, "c": "x"}', '{"a": 1, "b": 2, "c": "x\ty"}'),
        ('{"a": 1, "b": 2, "c": "x"}', '{"a": 1, "b": 2, "c": "\\u0041"}'),
        ('{"a": 1, "b": 2, "c": 3}', '{"a": 1, "b": 2, "c": 3.}'),
        ('{"a": 1, "b": 2, "c": 3}', '{"a": 1, "b": 2, "c": NaN}'),
        ('{"a": 1, "b": 2, "c": [3]}', '{"a": 1, "b": 2, "c": [3]}'),
    ],
)
@pytest.mark.parametrize("between", [",", ",\n"], ids=["line", "lines"])
def test_objects_that_are_not_alike_are_not_read_so(objects: tuple[str, str], between: str) -> None:
    kinds = {"a": pa.int64(), "b": pa.int64()}
    alike = f"[{between.join(objects[:1] * 3)}]".encode()
    assert ("[3]" in objects[0] or objects[0].count('"a"') > 1) == (regular_columns(alike, kinds) is None)
    for document in (f"[{between.join((objects[0], *objects))}]", f"[{between.join((*objects, objects[0]))}]"):
        found = _read_or_refused(document.encode(), kinds)
        assert found is None or found["a"].to_pylist() == [each["a"] for each in json.loads(document)], document
        assert found is None or "},{" in objects[1]


def _read_or_refused(document: bytes, kinds: Mapping[str, Any]) -> Mapping[str, Any] | None:
    try:
        return regular_columns(document, kinds)
    except pa.ArrowInvalid:
        return None


@pytest.mark.parametrize("deep", [500, 100_000])
@pytest.mark.parametrize("type_", [ValueType.TEXT, ValueType.ANY], ids=str)
def test_brackets_that_are_deep_inside_one_another_do_no_harm(deep: int, type_: ValueType) -> None:
    shape = Shape("p", ("a",), (type_,))
    for inside in ("[" * deep + "]" * deep, '{"b":' * deep + "1" + "}" * deep, "[" * deep):
        document = f'{{"a": "x", "more": {inside}}}'.encode()
        assert not Case(document + b"\n", shape, Format.JSON, {"lines": True}).is_read()
        assert not Case(b"[%s]" % document, shape, Format.JSON, {}).is_read()
    assert not Case(b"[" * deep + b"]" * deep, shape, Format.JSON, {}).is_read()


def test_brackets_in_text_are_text() -> None:
    """However many there are."""
    document = json.dumps({"a": "[{" * 1000, "b": "see: [1]"}).encode()
    shape = Shape("p", ("a", "b"), (ValueType.TEXT, ValueType.ANY))
    assert Case(document, shape, Format.JSON, {"lines": True}).is_read()
    assert Case(b"[%s, %s]" % (document, document), shape, Format.JSON, {}).is_read()


def test_lists_in_one_block_and_numbers_in_the_next_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "_BLOCK", 50)
    document = b'{"a": 1, "more": [1]}\n' + b'{"a": 2, "more": 1}\n' * 5
    assert not Case(document, Shape("p", ("a",), (ValueType.INTEGER,)), Format.JSON, {"lines": True}).is_read()


@pytest.mark.parametrize(
    ("document", "type_"),
    [
        (b'[{"a": 1}{"a": 2}]', ValueType.INTEGER),
        (b'[{"a": 1}\n{"a": 2}]', ValueType.INTEGER),
        (b'[{"a": "x\ny"}]', ValueType.TEXT),
        (b'\x0b[{"a": "x"}]', ValueType.TEXT),
        (b'[{"a": "x"}\x0c,{"a": "x"}]', ValueType.TEXT),
        (b'[{"a": NaN}]', ValueType.DOUBLE),
        (b'[{"a": "x", "b": -Inf}]', ValueType.TEXT),
        (b'[{"a": "x", "b": 1%s}]' % (b"0" * 4400), ValueType.TEXT),
        (b'[{"a": 1%s}]' % (b"0" * 400), ValueType.DOUBLE),
        (b'[{"a": 0.5}, {"a": 9007199254740993}]', ValueType.ANY),
        (b'[{"a": 0.5}, {"a": 100000000000000000}]', ValueType.ANY),
        (b'[{"a": "0000-01-01"}]', ValueType.DATE),
        (b"[1, 2]", ValueType.ANY),
        (b"[]", ValueType.ANY),
        (b"", ValueType.TEXT),
    ],
)
def test_json_that_arrow_reads_otherwise_is_left_to_others(document: bytes, type_: ValueType) -> None:
    assert not Case(document, Shape("p", ("a",), (type_,)), Format.JSON, {}).is_read()


@pytest.mark.parametrize(
    ("document", "type_"),
    [
        (b"a\n\xef\xbb\xbf1\n", ValueType.TEXT),
        (b"a\n0000-01-01\n", ValueType.DATE),
        (b"a\n1e3\n", ValueType.DOUBLE),
        (b'a\n"1"\n', ValueType.TEXT),
        (b"a,a\n1,2\n", ValueType.TEXT),
        (b"b\n1\n", ValueType.TEXT),
        (b"a\n1,2\n", ValueType.TEXT),
        (b"", ValueType.TEXT),
        (b"a\n", ValueType.TEXT),
    ],
)
def test_csv_that_arrow_reads_otherwise_is_left_to_others(document: bytes, type_: ValueType) -> None:
    assert not Case(document, Shape("p", ("a",), (type_,)), Format.CSV, {}).is_read()


@pytest.mark.parametrize("type_", [ValueType.DOUBLE, ValueType.NUMBER], ids=str)
@pytest.mark.parametrize(
    ("document", "format_"), [(b'[{"a": 0.5}, {"a": -0}]', Format.JSON), (b"a\n0.5\n-0\n-0.0\n", Format.CSV)]
)
def test_zero_has_no_sign(document: bytes, format_: Format, type_: ValueType) -> None:
    assert Case(document, Shape("p", ("a",), (type_,)), format_, {}).is_read()


@pytest.mark.parametrize("names", [("a", "uid"), ("a", "parentId")])
def test_facts_that_are_numbered_are_left_to_others(names: tuple[str, ...]) -> None:
    shape = Shape("p", names, (ValueType.INTEGER,) * 2)
    assert not Case(b'{"a": 1}', shape, Format.JSON, {"lines": True}).is_read()
    assert not Case(b"a\n1\n", shape, Format.CSV, {}).is_read()


def test_objects_with_fields_of_their_own_are_no_table() -> None:
    """Each of them would be a column, with something in it for each object."""
    shape = Shape("p", ("x",), (ValueType.INTEGER,))
    lines = [f'{{"x": {n}, "f{n}": {n}}}' for n in range(3 * WIDEST)]
    for some, is_read in ((lines[:WIDEST], True), (lines, False)):
        assert Case("\n".join(some).encode(), shape, Format.JSON, {"lines": True}).is_read() == is_read
        assert Case(f"[{','.join(some)}]".encode(), shape, Format.JSON, {}).is_read() == is_read


def test_fields_that_only_later_objects_have_are_read() -> None:
    shape = Shape("p", ("x",), (ValueType.INTEGER,))
    begin, late = '{"x": 1, "y": "some text"}\n' * 10_000, '{"x": 2, "late": 1}\n'
    assert Case((begin + late * 900).encode(), shape, Format.JSON, {"lines": True}).is_read()
    assert not Case((begin + late * (2 * WIDEST)).encode(), shape, Format.JSON, {"lines": True}).is_read()


def test_tables_are_not_as_wide_as_one_likes() -> None:
    shape = Shape("p", ("f1",), (ValueType.INTEGER,))
    names = [f"f{n}" for n in range(2 * WIDEST)]
    text = ",\n".join(json.dumps(dict.fromkeys(names, 1)) for _ in range(3))
    assert not Case(f"[{text}]".encode(), shape, Format.JSON, {}).is_read()
    rows = "\n".join(",".join(each) for each in (names, ["1"] * len(names)))
    assert not Case(rows.encode(), shape, Format.CSV, {}).is_read()
