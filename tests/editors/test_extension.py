"""The files around the grammar: they name each other rightly, and the grammar is what its source says."""

from __future__ import annotations

import json
import plistlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from babi.reg import make_reg  # type: ignore[import-untyped]

Json = dict[str, Any]


@pytest.fixture(scope="module")
def manifest(editors: Path) -> Json:
    return _read(editors / "vscode" / "package.json")


@pytest.fixture(scope="module")
def grammar(editors: Path, manifest: Json) -> Json:
    return _read(editors / "vscode" / manifest["contributes"]["grammars"][0]["path"])


def _read(path: Path) -> Json:
    content: Json = json.loads(path.read_text(encoding="utf-8"))
    return content


def _rules(rule: Json) -> Iterator[Json]:
    yield rule
    for inner in [*rule.get("patterns", []), *rule.get("repository", {}).values()]:
        yield from _rules(inner)


def test_the_manifest_names_the_grammar(manifest: Json, grammar: Json) -> None:
    (contributed,) = manifest["contributes"]["grammars"]
    (language,) = manifest["contributes"]["languages"]
    assert contributed["scopeName"] == grammar["scopeName"] == "source.demaq"
    assert contributed["language"] == language["id"] == "demaq"
    assert language["extensions"] == [".demaq"]


def test_the_scopes_that_the_manifest_speaks_of_exist(manifest: Json, grammar: Json) -> None:
    scopes = {rule[key] for rule in _rules(grammar) for key in ("name", "contentName") if key in rule}
    assert set(manifest["contributes"]["grammars"][0]["tokenTypes"]) <= scopes


def test_the_language_configuration_knows_comments_and_brackets(editors: Path, manifest: Json) -> None:
    configuration = _read(editors / "vscode" / manifest["contributes"]["languages"][0]["configuration"])
    assert configuration["comments"] == {"blockComment": ["(:", ":)"]}
    assert configuration["brackets"] == [["{", "}"], ["[", "]"], ["(", ")"]]
    assert {pair["open"] for pair in configuration["autoClosingPairs"]} >= {"{", "[", "(", '"', "'", "(:"}
    assert set(configuration["folding"]["markers"]) == {"start", "end"}


def test_every_regular_expression_compiles(grammar: Json) -> None:
    regexes = [rule[key] for rule in _rules(grammar) for key in ("match", "begin", "end") if key in rule]
    assert regexes
    for regex in regexes:
        make_reg(regex)


def test_every_included_rule_exists_and_every_rule_is_included(grammar: Json) -> None:
    included = {rule["include"].removeprefix("#") for rule in _rules(grammar) if "include" in rule}
    assert included == set(grammar["repository"])


def test_textmate_has_the_same_grammar(editors: Path, grammar: Json) -> None:
    bundle = editors / "textmate" / "Demaq.tmbundle"
    assert plistlib.loads((bundle / "Syntaxes" / "demaq.tmLanguage").read_bytes()) == grammar
    for path in [bundle / "info.plist", *(bundle / "Preferences").iterdir()]:
        assert "uuid" in plistlib.loads(path.read_bytes())


@pytest.mark.parametrize("module", [["grammar", "--check"], ["doctest", "grammar/lexis.py"]], ids=" ".join)
def test_the_grammar_is_written_from_its_source(module: list[str], editors: Path) -> None:
    checked = subprocess.run([sys.executable, "-m", *module], cwd=editors, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
