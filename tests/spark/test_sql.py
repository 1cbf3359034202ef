"""`demaq sql`: Spark SQL over the log."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from pyspark.errors import AnalysisException

from databases import postgres
from demaq.cli import main
from demaq.spark.session import SparkUnavailable
from demaq.spark.views import QueryFailed, answer, views_at
from spark.logs import filled


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("log")
    filled(folder, f"sqlite:///{folder / 'log.db'}")
    return f"sqlite:///{folder / 'log.db'}"


def run(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["sql", *arguments, "--store", url])


def test_without_a_query_the_views_are_listed(url: str) -> None:
    printed = run(url).output.splitlines()
    names = [line.split()[0] for line in printed]
    assert names == [
        *("messages", "slices", "errors", "causes"),
        *("queue_errors", "fleeting", "other", "outbox", "systemErrors", "work"),  # `errors` is taken
    ]
    assert "number bigint" in printed[names.index("work")]
    listed = json.loads(run(url, "--json").output)
    assert {"view": "slices", "column": "slicing", "type": "string"} in listed


@pytest.mark.usefixtures("spark")
def test_answers(url: str) -> None:
    table = run(url, "select queue, count(*) as n from messages group by queue order by n desc").output.splitlines()
    assert [line.split() for line in table] == [["queue", "n"], ["work", "7"], ["other", "1"], ["errors", "1"]]
    rows = json.loads(run(url, "select id, flag, price, at, day, null as x from work where id = 1", "--json").output)
    assert rows == [
        {
            "id": 1,
            "flag": True,
            "price": "1.500000000000000000",
            "at": "2007-01-11T04:30:00Z",
            "day": "2007-01-10",
            "x": None,
        }
    ]
    printed = run(url, "select body, properties from messages where id in (2, 4) order by id", "--csv").output
    header, second, fourth = csv.reader(io.StringIO(printed))
    assert header == ["body", "properties"]
    assert second[0].startswith("<m><name>B</name>")
    assert fourth == ["<m><copy/></m>", "{}"]


def no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


@pytest.mark.usefixtures("spark")
def test_numbers_that_json_has_not_are_text(url: str) -> None:
    query = (
        "select ratio, -ratio as less, array(float('NaN')) as some, map(date'2007-01-10', ratio) as days from work "
        "where id = 2"
    )
    printed = run(url, query, "--json").output
    assert json.loads(printed, parse_constant=no_constant) == [
        {"ratio": "INF", "less": "-INF", "some": ["NaN"], "days": {"2007-01-10": "INF"}}
    ]


@pytest.mark.usefixtures("spark")
def test_columns_of_the_same_name_are_no_json(url: str) -> None:
    result = run(url, "select 1 a, 2 b, 3 a", "--json")
    assert (result.exit_code, result.output) == (
        2,
        "error: several columns are called `a`, which JSON cannot tell apart: name them with `as`\n",
    )
    assert run(url, "select 1 a, 2 a", "--csv").output == "a,a\n1,2\n"


def test_views_go_together(spark: Any, url: str) -> None:
    query = """
      with failed as (select * from errors)
      select m.id, e.kind, c.cause, s.slicing, q.errorqueue
      from failed e join messages m on m.id = e.message join causes c on c.message = e.id
      join slices s on s.message = m.id join failed q on q.id = e.id where e.kind = 'evaluation' and m.queue = 'work'
    """
    assert answer(spark, url, query).rows == ((5, "evaluation", 5, "names", "errors"),)
    both = "select count(*) from messages a join messages b on b.cause = a.id where a.queue = 'work'"
    assert answer(spark, url, f"{both} and b.queue = 'other'").rows == ((1,),)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("selec 1", "error: Syntax error at or near 'selec'"),
        ("select nothing from messages", "name `nothing` cannot be resolved"),
        (
            "select * from message",
            "error: there is no view `message`: did you mean `messages`? The views are `causes`, ",
        ),
        ("select * from work natural join nowhere.there", "there is no view `nowhere.there`: the views are `causes`, "),
        ("select cast('x' as int)", "'x'"),
        (
            "select timestamp'+20000-01-01' as at",
            "`at` has a value that is a time outside the years 1 to 9999, so that it",
        ),
        ("select array(date'+20000-01-01') as days", "ask for times as text, with `cast(… as string)`"),
        ("select cast(X'FF' as string) as text", "the column `text` has a value that is no UTF-8"),
    ],
)
def test_errors_are_one_sentence(url: str, query: str, said: str) -> None:
    result = run(url, query)
    assert result.exit_code == 2
    assert said in result.output
    assert len(result.output.splitlines()) == 1


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "command",
    [
        "create table made using csv location '{folder}' as select id from work",
        "with ids as (select id from work) insert into nowhere select * from ids",
        "from work insert into a select id insert into b select id",
        "insert overwrite directory '{folder}' using csv select id from work",
        "execute immediate 'drop table a'",
        "drop view work",
        "set a = b",
        "begin select 1; end",
    ],
)
def test_what_is_no_query_is_refused(url: str, tmp_path: Path, command: str) -> None:
    result = run(url, command.format(folder=tmp_path / "made"))
    assert (result.exit_code, result.output) == (
        2,
        "error: this is no query, and would change something: ask with SELECT, SHOW, DESCRIBE or EXPLAIN\n",
    )
    assert not (tmp_path / "made").exists()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "query",
    [
        *("values (1)", "table work", "(select 1)", "with a as (select 1) select * from a", "show columns from work"),
        *("describe work", "explain select id from work", "explain drop view work"),
    ],
)
def test_what_only_looks_is_answered(url: str, query: str) -> None:
    assert json.loads(run(url, query, "--json").output)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("query", ["from work |> where id = 1", "FROM work |> limit 1"])
def test_what_selects_nothing_by_name_has_bodies(url: str, query: str) -> None:
    (row,) = json.loads(run(url, query, "--json").output)
    assert row["body"].startswith("<m>")


def test_the_settings_of_the_application_are_taken(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "demaq.toml").write_text('spark.master = "local[3]"\nspark.ui.enabled = false\n', encoding="utf-8")
    taken: list[tuple[str, str]] = []

    def session(master: str, settings: Mapping[str, str], _name: str) -> None:
        taken.append((master, settings["spark.ui.enabled"]))
        raise SparkUnavailable("that is enough")

    starting = import_module("demaq.spark.starting")
    monkeypatch.setattr(starting, "running", lambda: None)
    monkeypatch.setattr(starting, "session", session)
    assert run(url, "select 1", "--app", str(tmp_path)).output == "error: that is enough\n"
    assert taken == [("local[3]", "false")]


def test_if_java_ends_the_command_says_why(url: str, tmp_path: Path) -> None:
    (tmp_path / "demaq.toml").write_text(
        'spark.master = "local[1]"\nspark.ui.enabled = false\nspark.driver.memory = "500m"\n', encoding="utf-8"
    )
    query = "select collect_list(id || repeat('x', 1000000)) from range(2000)"
    command = [sys.executable, "-m", "demaq", "sql", query, "--app", str(tmp_path), "--store", url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    *_, last = done.stderr.splitlines()
    assert last.startswith("error: Spark is gone: its Java has ended for want of memory; `spark.driver.memory` in")
    assert "Traceback" not in done.stderr


def test_workers_elsewhere_do_not_see_a_file_of_this_machine(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))  # where none is
    for master, is_warned in (("spark://host:7077", True), ("local[1]", False)):
        (tmp_path / "demaq.toml").write_text(f'spark.master = "{master}"\n', encoding="utf-8")
        told = run(url, "select 1", "--app", str(tmp_path)).stderr
        warning = f"warning: the store is a file of this machine, and workers of Spark at `{master}` on other machines"
        assert told.startswith(warning) == is_warned


def test_queries_leave_the_session_of_others_alone(spark: Any, url: str) -> None:
    answer(spark, url, "select 1 from work")
    assert "work" not in {table.name for table in spark.catalog.listTables()}
    with pytest.raises(QueryFailed):
        answer(spark, url, "select 1 from work_")


def test_looking_at_an_empty_database_makes_no_store(spark: Any) -> None:
    with postgres() as empty:
        for query in ((), ("select 1 from messages",)):
            result = run(empty, *query)
            assert (result.exit_code, "error: there is no store in postgresql://" in result.output) == (2, True)
        with pytest.raises(AnalysisException, match="there is no store in postgresql://"):
            spark.read.format("demaq").options(store=empty).load()
        with psycopg.connect(empty) as connection:
            tables = connection.execute("select tablename from pg_tables where schemaname = current_schema()")
            assert tables.fetchall() == []


def test_misuse(url: str, tmp_path: Path) -> None:
    assert "either --json or --csv" in run(url, "--json", "--csv").output
    assert run(f"sqlite:///{tmp_path / 'none.db'}").exit_code == 2
    assert [view.name for view in views_at(url)][:2] == ["messages", "slices"]
