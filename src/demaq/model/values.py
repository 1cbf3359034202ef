"""Typed values, and the properties of messages."""

from collections.abc import Iterator, Mapping
from json.encoder import encode_basestring as quoted

from demaq.model.record import record
from demaq.model.texts import read_text


@record
class Value:
    """A typed atomic value: a built-in type such as `xs:integer`, and the value's canonical text."""

    type: str
    text: str


class PropertyValues(Mapping[str, Value]):
    """Properties by their names. They are kept, and travel, as the text of the log; most are never asked for."""

    __slots__ = ("_text", "_values")

    def __init__(self, values: Mapping[str, Value] | None = None, *, text: str = "{}") -> None:
        """From values, or from a text as `text` gives it."""
        self._values: Mapping[str, Value] | None = values
        self._text: str | None = text if values is None else None

    @property
    def text(self) -> str:
        """As JSON: {"name": ["xs:type", "text"], …}."""
        if self._text is None:
            pairs = (
                f"{quoted(name)}: [{quoted(value.type)}, {quoted(value.text)}]" for name, value in self._read().items()
            )
            self._text = f"{{{', '.join(pairs)}}}"
        return self._text

    def _read(self) -> Mapping[str, Value]:
        if self._values is None:
            text = self._text
            if text is None or text == "{}":
                self._values = _NONE
            else:
                self._values = {name: Value(*value) for name, value in read_text(text).items()}
        return self._values

    def __getitem__(self, name: str) -> Value:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __contains__(self, name: object) -> bool:
        return name in self._read()

    def get(self, name: str, default: Value | None = None) -> Value | None:  # type: ignore[override]
        return self._read().get(name, default)

    def __eq__(self, other: object) -> bool:
        return dict(self._read()) == dict(other) if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"PropertyValues({dict(self._read())!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return _from_text, (self.text,)


_NONE: Mapping[str, Value] = {}


def _from_text(text: str) -> PropertyValues:
    return PropertyValues(text=text)
