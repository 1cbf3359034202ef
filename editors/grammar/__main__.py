"""Write the grammar as VS Code and as TextMate read it, or with --check see that what is written is this."""

import argparse
import json
import plistlib
import sys
from pathlib import Path

from grammar import expressions, literals, operands, statements
from grammar.lexis import Rule, include

EDITORS = Path(__file__).resolve().parent.parent
JSON_FILE = EDITORS / "vscode" / "syntaxes" / "demaq.tmLanguage.json"
PLIST_FILE = EDITORS / "textmate" / "Demaq.tmbundle" / "Syntaxes" / "demaq.tmLanguage"

GRAMMAR: Rule = {
    "name": "Demaq",
    "scopeName": "source.demaq",
    "fileTypes": ["demaq"],
    "uuid": "6C0F4E52-6E0B-4B0D-9E57-2B6B0D2C8A41",
    "patterns": include("expression"),
    "repository": statements.REPOSITORY | expressions.REPOSITORY | operands.REPOSITORY | literals.REPOSITORY,
}


def outputs() -> dict[Path, bytes]:
    return {
        JSON_FILE: (json.dumps(GRAMMAR, indent=2, ensure_ascii=False) + "\n").encode(),
        PLIST_FILE: plistlib.dumps(GRAMMAR, sort_keys=False),
    }


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m grammar", description=__doc__)
    arguments.add_argument("--check", action="store_true", help="write nothing, exit 1 if a file is out of date")
    if arguments.parse_args().check:
        stale = [path for path, content in outputs().items() if not path.exists() or path.read_bytes() != content]
        for path in stale:
            print(
                f"{path.relative_to(EDITORS)} is out of date: run `python -m grammar` in {EDITORS}",
                file=sys.stderr,
            )
        return 1 if stale else 0
    for path, content in outputs().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
