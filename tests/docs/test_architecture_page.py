"""The page on architecture shows the packages and passes that there are."""

from demaq.language import compile as compile_module
from docs.fences import DOCS, ROOT, code_spans, section, table

PAGE = DOCS / "architecture.md"
SOURCE = ROOT / "src" / "demaq"


def test_rooms_are_the_packages() -> None:
    packages = {f"demaq.{entry.name}" for entry in SOURCE.iterdir() if (entry / "__init__.py").is_file()}
    assert {span for row in table(section(PAGE, "The rooms").text) for span in code_spans(row[0])} == packages


def test_passes_stand_in_modules_that_exist() -> None:
    folder = SOURCE / "language"
    rows = table(section(PAGE, "From text to program").text)
    assert [row[0] for row in rows] == "load parse define link facts checks rewrite Saxon program".split()
    for row in rows:
        assert all((folder / name).exists() for name in code_spans(row[1])), row


def test_steps_stand_in_modules_that_exist() -> None:
    rows = table(section(PAGE, "The way of a message").text)
    assert [row[0] for row in rows] == "admit schedule evaluate settle commit".split()
    for row in rows:
        names = [name for name in code_spans(row[1]) if name.endswith(".py")]
        assert all((SOURCE / "engine" / name).is_file() for name in names), row


def test_modules_of_the_engine_and_the_store_exist() -> None:
    for title, folder in (("The way of a message", "engine"), ("On Spark", "spark"), ("The store", "store")):
        named = {span for span in code_spans(section(PAGE, title).text) if span.endswith((".py", ".xq"))}
        assert named
        assert not [name for name in named if not (SOURCE / folder / name).is_file()]


def test_the_module_that_puts_parts_together_is_named() -> None:
    modules = {entry.name for entry in SOURCE.glob("*.py") if not entry.name.startswith("_")}
    assert modules <= set(code_spans(section(PAGE, "The rooms").text))


def test_folders_of_tests_exist() -> None:
    for row in table(section(PAGE, "Tests").text):
        assert (ROOT / code_spans(row[0])[0]).is_dir()


def test_drawings_show_the_same_as_the_tables() -> None:
    rooms, passes = (block for found in ("The rooms", "From text to program") for block in _mermaid(found))
    for row in table(section(PAGE, "The rooms").text):
        assert code_spans(row[0])[0].removeprefix("demaq.") in rooms
    for row in table(section(PAGE, "From text to program").text):
        assert f'"{row[0]}"' in passes


def _mermaid(title: str) -> list[str]:
    return [block.text for block in section(PAGE, title).blocks if block.language == "mermaid"]


def test_arguments_of_a_rule() -> None:
    described = [code_spans(row[0])[0] for row in table(section(PAGE, "The program").text)]
    checked = compile_module.check(ROOT / "examples" / "registrar")
    assert checked.program is not None
    text = checked.program.rules[0].query.text
    assert [text.index(f"{name} as") for name in described] == sorted(text.index(f"{name} as") for name in described)


def test_planned_packages_do_not_exist_yet() -> None:
    text = section(PAGE, "Planned").text
    planned = text.split("**")[1::2]
    assert len(planned) == 4
    assert not [name for name in planned if (SOURCE / name).exists()]
