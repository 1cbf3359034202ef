"""The page on the command line has every command, option, exit code and JSON field that there is, and no other."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from demaq.cli import main
from demaq.cli.output import FINDINGS, MISUSE, NOT_YET
from demaq.language.explain.functions import Apart
from demaq.language.rewrite.shareable import Use
from demaq.model import MessageState, Origin
from demaq.spark.inputs import COMPRESSIONS, SUFFIXES
from docs.fences import DOCS, ROOT, code_spans, section, sections, table

PAGE = DOCS / "reference" / "command-line.md"
APPLICATION = ROOT / "examples" / "procurement"


def _commands(group: click.Group, before: str = "") -> dict[str, click.Command]:
    """All commands by their names, those of groups with the name of the group."""
    found: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found |= _commands(command, f"{before}{name} ")
        else:
            found[before + name] = command
    return found


COMMANDS = _commands(main)


def test_every_command_has_a_section() -> None:
    titled = {found.title for found in sections(PAGE) if found.title.startswith("demaq ")}
    assert titled == {f"demaq {name}" for name in COMMANDS}


def test_every_command_is_in_the_table() -> None:
    rows = [row for row in table(section(PAGE, "Command line").text) if row[0]]
    assert {re.sub(r"[\[\]`]|\(.*", "", row[0]) for row in rows} == {f"demaq {name}" for name in COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_those_of_the_command(name: str) -> None:
    described = {span for row in table(section(PAGE, f"demaq {name}").text) for span in code_spans(row[0])}
    assert described == {spelling for option in _options(COMMANDS[name]) for spelling in option.opts}


def test_options_of_the_program_are_described() -> None:
    described = {span for row in table(section(PAGE, "Everywhere").text) for span in code_spans(row[0])}
    assert described == {spelling for option in _options(main) for spelling in option.opts}


@pytest.mark.parametrize("name", COMMANDS)
def test_usage_names_options_and_arguments(name: str) -> None:
    """In the order in which the command takes arguments; of the spellings of an option one is enough."""
    command = COMMANDS[name]
    words = [word.strip("[]|") for word in section(PAGE, f"demaq {name}").blocks[0].text.split()]
    assert words[: 1 + len(name.split())] == ["demaq", *name.split()]
    options = {spelling: option for option in _options(command) for spelling in option.opts}
    named, arguments = set(), []
    rest = iter(words[1 + len(name.split()) :])
    for word in rest:
        if word in options:
            named.add(options[word].name)
            if not options[word].is_flag:
                next(rest)
        elif word:
            arguments.append(word)
    assert named == {option.name for option in options.values() if "--help" not in option.opts}
    assert arguments == [
        (parameter.name or "").upper() for parameter in command.params if isinstance(parameter, click.Argument)
    ]


def _options(command: click.Command) -> list[click.Option]:
    with click.Context(command, **command.context_settings, parent=_parent(command)) as context:
        parameters = command.get_params(context)
    return [each for each in parameters if isinstance(each, click.Option)]


def _parent(command: click.Command) -> click.Context | None:
    return None if command is main else click.Context(main, **main.context_settings)


def test_exit_codes() -> None:
    described = [row[0].strip("`") for row in table(section(PAGE, "Exit codes").text)]
    assert described == [str(code) for code in (0, FINDINGS, MISUSE, NOT_YET)]


def test_shells_are_those_that_there_are() -> None:
    (shell,) = (each for each in COMMANDS["completion"].params if isinstance(each, click.Argument))
    assert isinstance(shell.type, click.Choice)
    *_, tail = section(PAGE, "demaq completion").text.split("| shell |")
    assert [span for row in table(f"| shell |{tail}") for span in code_spans(row[0])] == list(shell.type.choices)


# JSON


def _fields(title: str) -> set[str]:
    return {span for row in table(section(PAGE, title).text) for span in code_spans(row[0])}


def _json(*arguments: str) -> Any:
    return json.loads(CliRunner().invoke(main, [*arguments, "--json"]).output)


def test_fields_of_check() -> None:
    report = _json("check", str(ROOT / "tests" / "docs" / "samples" / "readme" / "unknown-queue"))
    assert _fields("The report") == set(report)
    assert all(_fields("A finding") == set(finding) for finding in report["diagnostics"])


@pytest.fixture(scope="module")
def explained() -> Any:
    return _json("explain", str(APPLICATION))


@pytest.mark.parametrize(
    ("title", "path"),
    [
        ("The application", ""),
        ("A queue", "queues"),
        ("A property", "properties"),
        ("A slicing", "slicings"),
        ("A collection", "collections"),
        ("A rule", "rules"),
        ("What a rule reads", "rules reads"),
        ("A queue that a rule reads", "rules reads queues"),
        ("A message that a rule makes", "rules writes"),
    ],
)
def test_fields_of_explain(title: str, path: str, explained: Any) -> None:
    found = list(_along(explained, path.split()))
    assert found
    assert all(_fields(title) == set(each) for each in found)


@pytest.mark.parametrize(
    ("title", "path"),
    [
        ("Rules that are evaluated together", ""),
        ("A rule", "rules"),
        ("A function of rules", "functions"),
        ("An expression that is evaluated once", "functions once"),
        ("An expression that is evaluated once", "rules once"),
    ],
)
@pytest.mark.parametrize("name", ["crm", "requestMsgs"])
def test_fields_of_a_queue_that_is_explained(title: str, path: str, name: str) -> None:
    found = list(_along(_json("explain", str(APPLICATION), name), path.split()))
    assert found
    assert all(_fields(title) == set(each) for each in found)


def test_words_of_a_queue_that_is_explained() -> None:
    functions = {row[0]: code_spans(row[1]) for row in table(section(PAGE, "A function of rules").text)}
    assert functions["`apart`"] == ["rule", "because", *(why.value for why in Apart)]
    once = {row[0]: code_spans(row[1]) for row in table(section(PAGE, "An expression that is evaluated once").text)}
    assert set(once["`value`"]) == {use.value for use in Use}
    rows = {row[0]: code_spans(row[1]) for row in table(section(PAGE, "Rules that are evaluated together").text)}
    (lookup,) = _json("explain", str(APPLICATION), "crm")["lookups"]
    assert rows["`lookups`"] == list(lookup)


def test_fields_that_are_described_in_words(explained: Any) -> None:
    rows = {row[0]: row[1] for title in ("A queue", "A rule") for row in table(section(PAGE, title).text)}
    for field, path in (("`interface`", "queues interface"), ("`using`", "queues using"), ("`resets`", "rules resets")):
        found = [each for each in _along(explained, path.split()) if each is not None]
        assert found
        assert all(set(each) <= set(code_spans(rows[field])) for each in found)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A pipeline with something of everything, and a finding that is allowed."""
    file = tmp_path_factory.mktemp("pipeline") / "all.lila"
    text = """
    @from(file:in.json) { a(x, y). }
    @enrich(more.csv) { b(x). }
    c(1). c(2).
    d(x) :- a(x, y), b(x), c(x). % allow DQ1308: why not
    @aggregate(union, completionSize=2) { ?-d(x). }
    @split() { ?-d-aggregate(x). }
    @to(file:out.json) { d-aggregate-split }
    ?-d(x).
    """
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_fields_of_pipeline_check(pipeline: str) -> None:
    report = _json("pipeline", "check", pipeline)
    assert _fields("JSON of pipeline check") == set(report)
    assert report["ok"]
    assert all(_fields("A finding") == set(finding) for finding in report["allowed"])
    assert len(report["allowed"]) == 1


def test_fields_of_pipeline_explain(pipeline: str) -> None:
    found = {**_json("pipeline", "explain", pipeline, "--plan"), "spark": "which would be started"}
    rows = {row[0]: set(code_spans(row[1])) for row in table(section(PAGE, "JSON of pipeline explain").text)}
    assert {f"`{field}`" for field in found} == set(rows)
    assert {node["kind"] for node in found["nodes"]} == {
        *("source", "enricher", "facts", "processor", "aggregation", "split", "goal")
    }
    for field, path in (("`dependencies`", "dependencies"), ("`patterns`", "patterns"), ("`queries`", "queries")):
        each = list(_along(found, [path]))
        assert each
        assert all(set(one) == rows[field] for one in each)
    components = [component for route in found["routes"] for component in route]
    assert all(set(component) == rows["`routes`"] for component in components)
    parameters = {key for relation in found["relations"] for each in relation["parameters"] for key in each}
    assert rows["`relations`"] == set(found["relations"][0]) | parameters


def _along(data: Any, path: list[str]) -> Iterator[Any]:
    if isinstance(data, list):
        for each in data:
            yield from _along(each, path)
    elif path:
        yield from _along(data[path[0]], path[1:])
    else:
        yield data


# JSON of a store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a store in which an offer was made, an order waits for its payment, and a rule has failed."""
    folder = tmp_path_factory.mktemp("store")
    bad = folder / "bad.xml"
    bad.write_text("<order><orderID>2</orderID><month>none</month></order>", encoding="utf-8")
    url = f"sqlite:///{folder / 'log.db'}"
    messages = [str(APPLICATION / "messages" / name) for name in ("offer-request.xml", "order.xml")]
    sent = _json("send", str(APPLICATION), "requests", *messages, "--store", url)
    assert [set(each) for each in sent] == [{"file", "id"}, {"file", "id"}]
    _json("send", str(APPLICATION), "orders", str(bad), "--store", url)
    assert _fields("JSON of run") == set(_json("run", str(APPLICATION), "--until-idle", "--store", url))
    return url


def test_fields_of_send(store: str, tmp_path: Path) -> None:
    nonsense = tmp_path / "nonsense.xml"
    nonsense.write_text("<nonsense/>", encoding="utf-8")
    (refused,) = _json("send", str(APPLICATION), "requests", str(nonsense), "--store", store)
    spans = set(code_spans(section(PAGE, "JSON of send").text))
    assert set(refused) | {"id"} == spans


def test_fields_of_a_load(store: str, tmp_path: Path) -> None:
    nonsense = tmp_path / "nonsense.xml"
    nonsense.write_text("<nonsense/>", encoding="utf-8")
    load = _json("send", "--bulk", str(APPLICATION), "requests", str(nonsense), "--store", store, "--spark", "off")
    assert _fields("JSON of a load") == set(load)
    (row,) = (row for row in table(section(PAGE, "JSON of a load").text) if row[0] == "`refusals`")
    assert set(load["refusals"][0]) | {"null"} == set(code_spans(row[1]))


def test_suffixes_of_files_are_those_that_are_known() -> None:
    page = section(PAGE, "Very many messages").text
    assert [span for row in table(page) for span in code_spans(row[0])] == list(SUFFIXES)
    assert set(COMPRESSIONS) <= set(code_spans(page))


def test_fields_of_deploy(store: str) -> None:
    assert _fields("JSON of deploy") == set(_json("deploy", str(APPLICATION), "--store", store))


def test_fields_of_a_message(store: str) -> None:
    messages = _json("messages", "crm", "--all", "--store", store)
    assert messages
    assert all(_fields("A message") == set(each) for each in messages)
    values = [value for each in messages for value in each["properties"].values()]
    assert values
    assert all(set(value) == {"type", "value"} for value in values)
    (row,) = (row for row in table(section(PAGE, "A message").text) if row[0] == "`properties`")
    assert {"type", "value"} <= set(code_spans(row[1]))


@pytest.mark.parametrize("enum", [Origin, MessageState])
def test_words_of_a_message(enum: type[Origin] | type[MessageState]) -> None:
    (row,) = (
        row for row in table(section(PAGE, "A message").text) if row[0] == ("`origin`" if enum is Origin else "`state`")
    )
    assert code_spans(row[1]) == [one.value for one in enum]


def test_fields_of_slices(store: str) -> None:
    slices = _json("slices", "--store", store)
    assert slices
    assert all(_fields("JSON of slices") == set(each) for each in slices)
    members = _json("slices", slices[0]["slicing"], slices[0]["key"], "--store", store)
    assert all(_fields("A message") == set(each) for each in members)


def test_fields_of_timers(store: str) -> None:
    timers = _json("timers", "--store", store)
    assert timers
    assert all(_fields("A message") == set(each) for each in timers)


def test_fields_of_trace(store: str) -> None:
    every = list(_traced(_json("trace", "1", "--store", store)))
    assert any(each["resets"] for each in every)
    assert all(_fields("A message") | _fields("JSON of trace") == set(each) for each in every)
    assert all(set(reset) == {"slicing", "key"} for each in every for reset in each["resets"])


def _traced(trace: Any) -> Iterator[Any]:
    yield trace
    for effect in trace["effects"]:
        yield from _traced(effect)


def test_fields_of_status(store: str) -> None:
    status = _json("status", "--store", store)
    assert _fields("JSON of status") == set(status)
    assert all(_fields("The counts of a queue") == set(each) for each in status["queues"])


def test_fields_of_errors(store: str) -> None:
    listed = _json("errors", "list", "--store", store)
    failed = next(each for each in listed if each["cause"] is not None)
    assert all(_fields("A message") | _fields("JSON of errors list") == set(each) for each in listed)
    shown = _json("errors", "show", str(failed["id"]), "--store", store)
    assert _fields("JSON of errors show") == set(shown)
    assert _fields("A message") == set(shown["error"]) == set(shown["message"])
    (again,) = _json("errors", "retry", str(failed["id"]), "--store", store)
    assert _fields("JSON of errors retry") == set(again)


def test_fields_of_upkeep(store: str) -> None:
    (row,) = (row for row in table(section(PAGE, "demaq migrate").text) if row[0] == "`--json`")
    assert set(code_spans(row[1])) == set(_json("migrate", "--store", store))
    assert _fields("JSON of compact") == set(_json("compact", "--store", store))


def test_fields_of_test() -> None:
    results = _json("test", str(APPLICATION), "-k", "letter")
    assert results
    assert all(_fields("JSON of test") == set(each) for each in results)
