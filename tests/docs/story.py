"""A page is read from top to bottom, and whatever it shows is done.

The languages of fences, and their options:

`demaq`      an application, checked: nothing may be found, or with `reports=CODE,…` exactly these codes
               name=N       blocks after it may stand in it
               with=N       stands in the application of that name
               continues    added to what the block before it was checked with
               fragment=F   a piece of a statement, put into the one that `FRAGMENTS` gives
               file=PATH    written to a file; checked is the application that the file belongs to
               append=PATH  added to a file, likewise
`lila`       a pipeline, checked likewise: `reports`, `name`, `with`, `file` and `append` as above
`xquery`     parses as XQuery 3.1
`console`    lines after `$` are run, what follows them must be what they print; `...` stands for lines left out,
             or for a part of a line; where nothing follows, the command must only succeed. A command with `&` at its
             end goes on beside the page, until `kill %1`, `kill $!` or the end; what commands that only look print, or
             `cat`, may then take a while to come
               postgres     `POSTGRES` stands for the address of a store on a real server
`text`       a part of what `demaq check` printed for the block before it, or for an application in `samples`;
             `text drawing` is a drawing
`toml`       a `demaq.toml`; `reports` and `file` as above
`xml`        is well-formed; `file=PATH` writes it
`json`       is JSON; `file=PATH` writes it
`jsonl`      is JSON on each line; `file=PATH` writes it
`csv`        has as many values on each line; `file=PATH` writes it
`python`     runs, as one doctest a page; or with `file=PATH` is written to a file
`sh`         commands of the repository, which exist
`mermaid`    a drawing, in the part of Mermaid's notation that the pages use
`ebnf`       a grammar; `test_grammar.py` reads it
"""

import contextlib
import csv
import doctest
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from click.testing import CliRunner
from lxml import etree

from databases import postgres
from demaq.cli import main
from demaq.diagnostics import DemaqError, Report, Source, render
from demaq.language import check
from demaq.language.configuration import read_configuration
from demaq.pipelines import check_pipeline
from demaq.xquery import parse
from docs.fences import ROOT, Block
from docs.grammar import read_grammar

SAMPLES = Path(__file__).parent / "samples"
FRAGMENTS = {
    "actions": "create rule example for orders\nif (/order) then (\n{}\n)\n",
    "expression": "create rule example for orders\nif (/order) then\n  do enqueue <x>{{\n{}\n}}</x> into invoices\n",
}
_MERMAID = re.compile(
    r"flowchart (LR|TD)|stateDiagram-v2|sequenceDiagram|direction LR|end"
    r"|subgraph \w+\[\"[^\"]*\"\]"
    r"|\w+(\[\"[^\"]*\"\]|\(\"[^\"]*\"\)|\[\(\"[^\"]*\"\)\])?"
    r"( (-->|-\.->|---)(\|\"[^\"]*\"\|)? \w+(\[\"[^\"]*\"\]|\(\"[^\"]*\"\)|\[\(\"[^\"]*\"\)\])?)*"
    r"|(\w+|\[\*\]) --> (\w+|\[\*\])( : [^:;]+)?"
    r"|participant \w+( as [^;]+)?|\w+-{1,2}>>\w+: [^;]+|Note over \w+(,\w+)?: [^;]+"
)


_PATIENCE = 30.0  # seconds for a node that runs beside the page
_LOOKING = ("messages", "slices", "timers", "trace", "status", "errors list")


class Mismatch(AssertionError):
    """What a page shows is not what happens."""


class Story:
    """A page being read, in a folder of its own."""

    def __init__(self, page: Path, folder: Path) -> None:
        self._page = page
        self._folder = folder
        self._named: dict[str, str] = {}
        self._application = ""
        self._files: dict[str, str] = {}
        self._printed = ""
        self._exit_code = 0
        self._globals: dict[str, object] = {}
        self._beside: subprocess.Popen[str] | None = None
        self._left_open = contextlib.ExitStack()
        self._postgres = ""
        self._do: dict[str, Callable[[Block], None]] = {
            "demaq": self._demaq,
            "lila": self._lila,
            "xquery": self._xquery,
            "console": self._console,
            "text": self._text,
            "toml": self._toml,
            "xml": self._xml,
            "json": self._json,
            "jsonl": self._jsonl,
            "csv": self._csv,
            "python": self._python,
            "sh": self._sh,
            "mermaid": self._mermaid,
            "ebnf": self._ebnf,
        }

    def read(self, block: Block) -> None:
        """Do what a block shows, or raise `Mismatch`."""
        do = self._do.get(block.language)
        if do is None:
            raise Mismatch(f"{block.place}: no block may be `{block.language}`; there are {', '.join(self._do)}")
        do(block)

    def close(self) -> None:
        if self._beside is not None:
            self._stop()
        self._left_open.close()

    # Applications

    def _demaq(self, block: Block) -> None:
        _known(block, "name", "with", "continues", "fragment", "file", "append", "reports")
        if "file" in block.options or "append" in block.options:
            self._write_module(block)
            return
        text = block.text
        if "fragment" in block.options:
            text = FRAGMENTS[block.options["fragment"]].format(text)
        if "with" in block.options:
            text = f"{self._named[block.options['with']]}\n{text}"
        elif "continues" in block.options:
            text = f"{self._application}\n{text}"
        self._application = text
        if "name" in block.options:
            self._named[block.options["name"]] = text
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            for name, content in self._files.items():
                _write(folder / name, content)
            _write(folder / "example.demaq", text)
            self._check(block, folder, ".")

    def _write_module(self, block: Block) -> None:
        name = block.options.get("file") or block.options["append"]
        file = self._folder / name
        before = file.read_text(encoding="utf-8") + "\n" if "append" in block.options else ""
        _write(file, before + block.text)
        self._check(block, self._folder, Path(name).parts[0])

    def _check(self, block: Block, folder: Path, application: str) -> None:
        with contextlib.chdir(folder):
            report = check(application).report
        self._printed = "\n\n".join(render(finding) for finding in report)
        _compare_codes(block, report)

    # Pipelines

    def _lila(self, block: Block) -> None:
        _known(block, "name", "with", "file", "append", "reports")
        text = block.text
        name = block.options.get("file") or block.options.get("append")
        if "with" in block.options:
            text = f"{self._named[block.options['with']]}\n{text}"
        if "append" in block.options:
            text = f"{(self._folder / block.options['append']).read_text(encoding='utf-8')}\n{text}"
        if "name" in block.options:
            self._named[block.options["name"]] = text
        if name is not None:
            _write(self._folder / name, text)
            self._files[name] = text
        report = check_pipeline(Source(name or "example.lila", text)).report
        self._printed = "\n\n".join(render(finding) for finding in report)
        _compare_codes(block, report)

    # Languages that are only read

    def _xquery(self, block: Block) -> None:
        _known(block)
        parse(block.text)

    def _toml(self, block: Block) -> None:
        _known(block, "reports", "file")
        with tempfile.TemporaryDirectory() as scratch:
            _write(Path(scratch) / "demaq.toml", block.text)
            report = Report()
            with contextlib.chdir(scratch):
                read_configuration(Path(), report)
        self._printed = "\n\n".join(render(finding) for finding in report)
        _compare_codes(block, report)
        if not block.listed("reports"):
            tomllib.loads(block.text)
        self._write_file(block)

    def _xml(self, block: Block) -> None:
        _known(block, "file", "malformed")
        try:
            etree.fromstring(block.text.encode())
        except etree.XMLSyntaxError as error:
            if "malformed" not in block.options:
                raise Mismatch(f"{block.place}: this is not XML: {error}") from error
        self._write_file(block)

    def _json(self, block: Block) -> None:
        _known(block, "file")
        json.loads(block.text)
        self._write_file(block)

    def _jsonl(self, block: Block) -> None:
        _known(block, "file")
        for line in block.text.splitlines():
            json.loads(line)
        self._write_file(block)

    def _csv(self, block: Block) -> None:
        _known(block, "file")
        if len({len(row) for row in csv.reader(block.text.splitlines())}) != 1:
            raise Mismatch(f"{block.place}: lines of this CSV have more or fewer values than others")
        self._write_file(block)

    def _write_file(self, block: Block) -> None:
        if "file" in block.options:
            name = block.options["file"]
            self._files[name] = block.text
            _write(self._folder / name, block.text)

    def _mermaid(self, block: Block) -> None:
        _known(block)
        for line in block.text.splitlines():
            if line.strip() and not _MERMAID.fullmatch(line.strip()):
                raise Mismatch(f"{block.place}: not in our part of Mermaid: {line}")

    def _ebnf(self, block: Block) -> None:
        _known(block)
        read_grammar(block.text)

    # Languages that are run

    def _python(self, block: Block) -> None:
        _known(block, "file")
        if "file" in block.options:
            compile(block.text, block.place, "exec")
            self._write_file(block)
            return
        example = doctest.DocTestParser().get_doctest(block.text, {}, block.place, str(block.page), block.line)
        if not example.examples:
            raise Mismatch(f"{block.place}: Python is shown as in a session, with `>>>`")
        example.globs = self._globals
        said: list[str] = []
        with contextlib.chdir(self._folder):
            result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
                example, out=said.append, clear_globs=False
            )
        if result.failed:
            raise Mismatch(f"{block.place}:\n{''.join(said)}")

    def _sh(self, block: Block) -> None:
        _known(block)
        for line in block.text.splitlines():
            words = line.split("#")[0].split()
            if words and not os.access(ROOT / words[0], os.X_OK):
                raise Mismatch(f"{block.place}: there is no command `{words[0]}`")

    def _console(self, block: Block) -> None:
        _known(block, "postgres")
        for command, expected in _commands(block):
            what = f"{block.place}: $ {command}"
            until = time.monotonic() + (_PATIENCE if self._beside is not None and _only_looks(command) else 0.0)
            while True:
                named = self._with_address(command) if "postgres" in block.options else command
                printed = self._run(named, len(expected))
                try:
                    self._compare_printed(what, expected, printed)
                    break
                except Mismatch:
                    if time.monotonic() >= until:
                        raise
                    time.sleep(0.1)

    def _compare_printed(self, what: str, expected: list[str], printed: str) -> None:
        if expected:
            _compare(what, expected, printed.splitlines(), whole=True)
        elif self._exit_code != 0:
            raise Mismatch(f"{what}\nfailed with {self._exit_code}:\n{printed}")

    def _with_address(self, command: str) -> str:
        if not self._postgres:
            self._postgres = self._left_open.enter_context(postgres())
        return command.replace("POSTGRES", self._postgres)

    def _run(self, command: str, lines: int) -> str:
        """What a command prints; of one that goes on beside the page, its first lines."""
        if command == "echo $?":
            return f"{self._exit_code}\n"
        words = command.split()
        if words[0] == "cd":
            self._folder = self._folder / words[1]
            self._exit_code = 0
            return ""
        if words[-1] == "&":
            return self._start(words[:-1], lines)
        if command in ("kill %1", "kill $!"):
            return self._stop()
        with contextlib.chdir(self._folder):
            if words[0] == "demaq" and not re.search(r"[|<>&;$\"']", command.replace(self._postgres, "")):
                result = CliRunner().invoke(main, words[1:], prog_name="demaq")
                if result.exception is not None and not isinstance(result.exception, SystemExit):
                    raise result.exception
                self._exit_code = result.exit_code
                return result.output
            return self._run_in_shell(command)

    def _start(self, words: list[str], lines: int) -> str:
        """Start a node beside the page; its first lines say that it is there."""
        assert self._beside is None, "one at a time"
        self._beside = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "DEMAQ_PORT": "0"},
        )
        assert self._beside.stdout is not None
        self._exit_code = 0
        return "".join(self._beside.stdout.readline() for _ in range(lines))

    def _stop(self) -> str:
        assert self._beside is not None
        self._beside.terminate()
        printed, _ = self._beside.communicate(timeout=_PATIENCE)
        self._exit_code = self._beside.returncode
        self._beside = None
        return printed

    def _run_in_shell(self, command: str) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],
            env={**os.environ, "PATH": path, "DEMAQ_PORT": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        self._exit_code = done.returncode
        return done.stdout.decode()

    def _text(self, block: Block) -> None:
        _known(block, "drawing")
        if "drawing" in block.options:
            return
        lines = block.text.splitlines()
        for printed in (self._printed, *_samples(self._page)):
            with contextlib.suppress(Mismatch):
                _compare(block.place, lines, printed.splitlines(), whole=False)
                return
        raise Mismatch(f"{block.place}: nothing prints this; the block before it prints\n{self._printed}")


def _known(block: Block, *options: str) -> None:
    for option in block.options:
        if option not in options:
            raise Mismatch(f"{block.place}: `{block.language}` has no option `{option}`")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _compare_codes(block: Block, report: Report) -> None:
    expected = set(block.listed("reports"))
    found = {finding.code.name for finding in report}
    if found != expected:
        said = "\n\n".join(render(finding) for finding in report) or "nothing"
        raise Mismatch(f"{block.place}: should report {sorted(expected) or 'nothing'}, but says\n{said}")


def _commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Each command, without its comment, and the lines that it should print."""
    command = ""
    lines: list[str] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, lines
            command, lines = re.sub(r"\s+# .*", "", line[2:]).strip(), []
        elif not command:
            raise Mismatch(f"{block.place}: a console begins with a command after `$`")
        else:
            lines.append(line)
    yield command, lines


def _compare(what: str, expected: list[str], printed: list[str], *, whole: bool) -> None:
    """The lines that are expected are those that were printed; `...` stands for any lines, or for any text."""
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line.strip() == "..." else _line_pattern(line.rstrip()) + r"\n"
        for line in _trimmed(expected)
    )
    text = "".join(f"{line.rstrip()}\n" for line in _trimmed(printed))
    found = re.fullmatch(pattern, text) if whole else re.search(f"^{pattern}", text, re.MULTILINE)
    if found is None:
        raise Mismatch(f"{what}\nshould print\n{chr(10).join(expected)}\nbut prints\n{text}")


def _line_pattern(line: str) -> str:
    return r"[^\n]*".join(re.escape(part) for part in line.split("..."))


def _only_looks(command: str) -> bool:
    return command.startswith(("cat ", *(f"demaq {name}" for name in _LOOKING)))


def _trimmed(lines: list[str]) -> list[str]:
    """Without empty lines at the ends."""
    return "\n".join(lines).strip("\n").split("\n")


def _samples(page: Path) -> Iterator[str]:
    """What is printed for the applications that a page shows only the findings of."""
    for sample in sorted((SAMPLES / page.stem.lower()).glob("*")):
        with contextlib.chdir(sample):
            yield "\n\n".join(render(finding) for finding in check(".").report)


def tell(page: Path, page_blocks: tuple[Block, ...], folder: Path) -> list[str]:
    """Read a page to its end; what is wrong on it."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns(".demaq"))
    story = Story(page, folder)
    wrong = []
    with contextlib.closing(story):
        for block in page_blocks:
            try:
                story.read(block)
            except Mismatch as mismatch:
                wrong.append(str(mismatch))
            except (DemaqError, ValueError) as error:  # not XQuery, not JSON
                wrong.append(f"{block.place}: {error}")
    return wrong
