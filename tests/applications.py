"""Small applications for tests."""

from pathlib import Path

from demaq.language import Checked, Program, check
from demaq.language.program import Rule

QUEUES = """
create queue inbox kind incomingGateway mode persistent
create queue work kind basic mode persistent
create queue other kind basic mode persistent
create queue outbox kind outgoingGateway mode persistent
create queue timer kind echo mode persistent
create property key as xs:string fixed queue work, other value //key
create slicing slices on key
create rule forget for slices if (qs:slice()[/done]) then do reset
create rule admit for inbox if (/*) then (do enqueue . into work, do enqueue . into other)
create rule finish for other if (//other) then do enqueue <x/> into outbox
"""


def check_text(folder: Path, text: str, *, queues: bool = True) -> Checked:
    """Check an application with these statements, in front of them some queues to work with."""
    (folder / "main.demaq").write_text((QUEUES if queues else "") + text, encoding="utf-8")
    return check(folder)


def compile_text(folder: Path, text: str, *, queues: bool = True) -> Program:
    checked = check_text(folder, text, queues=queues)
    assert checked.program is not None, [diagnostic.message for diagnostic in checked.report]
    return checked.program


def compile_rule(folder: Path, text: str) -> Rule:
    """The last rule of an application with these statements."""
    return compile_text(folder, text).rules[-1]


def found(checked: Checked) -> list[str]:
    """The codes that were found, in the order of the text."""
    return [diagnostic.code.name for diagnostic in checked.report]
