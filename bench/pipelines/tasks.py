"""What is measured: patterns of integration over facts in three forms, and a scenario of several.

They are those of section 5 of D. Ritter and J. Broß, *A Rule-based Language for Application Integration*.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.pipelines.data import write_facts, write_match

SOCCER = Path(__file__).parents[2] / "examples" / "soccer" / "soccer.lila"

MESSAGE_FILTER = """\
@from(file:data/facts.ENDING) { match(matching: text, count: integer). }
match-filtered(matching, count) :- match(matching, count), matching = "true".
@to(file:out/filtered.ENDING) { match-filtered }
"""

CONTENT_BASED_ROUTER = """\
@from(file:data/facts.ENDING) { match(matching: text, count: integer). }
matching(matching, count) :- match(matching, count), matching = "true".
others(matching, count) :- match(matching, count), matching != "true".
@to(file:out/matching.ENDING) { matching }
@to(file:out/others.ENDING) { others }
"""

CONTENT_FILTER = """\
@from(file:data/facts.ENDING) { match(matching: text, count: integer). }
counts(count) :- match("true", count).
@to(file:out/counts.ENDING) { counts }
"""

FACT = {"matching": str, "count": int}
OF_PLAYER = {"period": int, "time": int, "pId": int, "firstN": str, "lastN": str}
SHOT = {"period": int, "time": int, "firstN": str, "lastN": str, "posX": float, "posY": float}
POSITION = {"period": int, "time": int, "playerId": int, "posX": float, "posY": float}

Columns = Mapping[str, type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something to do with the files in a folder. What comes in is in `data`, what goes out in `out`.

    Facts come `lines`: each line of a file is a message with one fact; or as a file that is one message: `json`, `csv`.
    """

    name: str
    form: str
    lila: str  # the pipeline
    goals: Mapping[str, Columns]  # files in `out`, and what facts in them consist of
    write: Callable[[Path, int], None] = field(default=write_facts)  # makes `data`

    @property
    def title(self) -> str:
        return f"{self.name}, {_TITLES[self.form]}"

    @property
    def key(self) -> str:
        return f"{self.name.replace(' ', '-')}-{self.form}"

    @property
    def words(self) -> str:
        """The name in one word."""
        return self.name.replace(" ", "-")


_TITLES = {
    "lines": "messages with one fact (lines of JSON)",
    "json": "one message (JSON)",
    "csv": "one message (CSV)",
    "files": "three messages and an enricher (JSON and CSV)",
}
ENDINGS = {"lines": "jsonl", "json": "json", "csv": "csv"}


def _over_facts(name: str, form: str, lila: str, goals: Mapping[str, Columns]) -> Task:
    ending = ENDINGS[form]
    named = {f"{goal}.{ending}": columns for goal, columns in goals.items()}
    return Task(name=name, form=form, lila=lila.replace("ENDING", ending), goals=named)


TASKS = (
    *(_over_facts("message filter", form, MESSAGE_FILTER, {"filtered": FACT}) for form in ENDINGS),
    *(
        _over_facts("content-based router", form, CONTENT_BASED_ROUTER, {"matching": FACT, "others": FACT})
        for form in ENDINGS
    ),
    *(_over_facts("content filter", form, CONTENT_FILTER, {"counts": {"count": int}}) for form in ENDINGS),
    Task(
        name="soccer",
        form="files",
        lila=SOCCER.read_text(encoding="utf-8"),
        goals={
            "goals.json": OF_PLAYER,
            "playersAtBall.json": OF_PLAYER,
            "positionAtShotOnGoal.json": SHOT,
            "positionsPerMinute.csv": POSITION,
        },
        write=write_match,
    ),
)


@dataclass(frozen=True, slots=True)
class Job:
    """A task, and a folder to do it in."""

    task: Task
    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def pipeline(self) -> Path:
        return self.folder / f"{self.task.key}.lila"

    def prepare(self) -> None:
        """Nothing is there but what comes in."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        self.pipeline.write_text(self.task.lila, encoding="utf-8")
