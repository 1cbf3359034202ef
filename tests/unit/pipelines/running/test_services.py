"""Services as sources and goals: asked and sent to over HTTP, with patience, and without telling secrets."""

import re
import socket
from collections.abc import Iterator
from http.client import RemoteDisconnected
from pathlib import Path
from unittest.mock import Mock, patch
from urllib.error import URLError

import pytest

from demaq.pipelines import compile_pipeline
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.explain import overview, pipeline_data
from demaq.pipelines.running import http
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import run_here
from demaq.pipelines.running.polling import Polled
from demaq.pipelines.running.report import Ran
from unit.pipelines.running.services import Service, service


@pytest.fixture
def there() -> Iterator[Service]:
    with service() as found, patch.object(http, "_PAUSES", (0.0, 0.0)):
        yield found


def run(folder: Path, text: str, there: Service) -> Ran:
    (folder / "p.lila").write_text(text.replace("SERVICE", there.url), encoding="utf-8")
    return run_here(Endpoints(compile_pipeline(folder / "p.lila"), folder))


READ = "@from(SERVICE/orders) { o(id: integer). }\n@to(out.jsonl) { o }\n"
SEND = "@from(in.jsonl) { o(id: integer). }\n@to(SERVICE/orders) { o }\n"


def test_a_service_has_a_document(tmp_path: Path, there: Service) -> None:
    there.document = b'[{"id": 1}, {"id": 2}]'
    assert run(tmp_path, READ, there).messages == {f"from({there.url}/orders)": 1}
    assert (tmp_path / "out.jsonl").read_text() == '[{"id": 1}, {"id": 2}]\n'
    assert there.asked[0]["accept"] == "application/json"


def test_each_line_of_what_a_service_has(tmp_path: Path, there: Service) -> None:
    there.document = b'{"id": 1}\n\n{"id": 2}\nbroken\n'
    ran = run(tmp_path, READ.replace("orders)", "orders, json, lines)"), there)
    assert (tmp_path / "out.jsonl").read_text() == '[{"id": 1}]\n[{"id": 2}]\n'
    assert str(ran.wrong[0]).startswith(f"{there.url}/orders, line 4: it is no JSON")


def test_a_service_that_has_nothing(tmp_path: Path, there: Service) -> None:
    assert run(tmp_path, READ, there).messages == {f"from({there.url}/orders)": 0}


def test_a_service_enriches(tmp_path: Path, there: Service) -> None:
    there.document = b"<names><n><id>1</id><name>Ada</name></n></names>"
    (tmp_path / "in.jsonl").write_text('{"id": 1}\n{"id": 2}\n')
    text = (
        "@from(in.jsonl) { o(id: integer). }\n@enrich(SERVICE/names, xml) { n(id: integer, name). }\n"
        "x(name) :- o(id), n(id, name).\n@to(out.jsonl) { x }\n"
    )
    run(tmp_path, text, there)
    assert (tmp_path / "out.jsonl").read_text() == '[{"name": "Ada"}]\n'


@pytest.mark.parametrize("statuses", [[503], [500, 429]])
def test_a_service_is_asked_again(tmp_path: Path, there: Service, statuses: list[int]) -> None:
    there.document, there.statuses = b'{"id": 1}', list(statuses)
    run(tmp_path, READ, there)
    assert len(there.asked) == len(statuses) + 1


@pytest.mark.parametrize(("statuses", "times"), [([503] * 9, 3), ([404], 1), ([302], 1)])
def test_a_service_that_does_not_answer(tmp_path: Path, there: Service, statuses: list[int], times: int) -> None:
    there.statuses = list(statuses)
    with pytest.raises(PipelineFailed, match=f"cannot be asked: it answers with {statuses[0]} "):
        run(tmp_path, READ, there)
    assert len(there.asked) == times


def test_a_service_that_is_not_there(tmp_path: Path, there: Service) -> None:
    there.url = "http://127.0.0.1:1"
    with pytest.raises(PipelineFailed, match=r"`http://127.0.0.1:1/orders` cannot be asked: nobody answers at that"):
        run(tmp_path, READ, there)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (URLError(ConnectionRefusedError(111, "Connection refused")), "nobody answers at that address; does"),
        (URLError(socket.gaierror(-2, "Name or service not known")), "its host is not known (Name or service"),
        (URLError(TimeoutError()), "nobody has answered in time;"),
        (TimeoutError("timed out"), "nobody has answered in time;"),
        (ConnectionResetError(104, "Connection reset by peer"), "[Errno 104] Connection reset by peer"),
        (RemoteDisconnected("Remote end closed"), "Remote end closed"),
    ],
)
def test_why_nothing_was_answered_is_said_in_words(tmp_path: Path, there: Service, error: Exception, said: str) -> None:
    with (
        patch.object(http, "_OPENER", Mock(open=Mock(side_effect=error))),
        pytest.raises(PipelineFailed, match=re.escape(f"/orders` cannot be asked: {said}")),
    ):
        run(tmp_path, READ, there)


def test_each_message_is_sent(tmp_path: Path, there: Service) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": 1}\n{"id": 2}\n')
    there.statuses = [503]
    assert list(run(tmp_path, SEND, there).sent.values()) == [2]
    assert [(path, body) for path, _, body in there.posted] == [
        ("/orders", '[\n  {"id": 1}\n]\n'),
        ("/orders", '[\n  {"id": 2}\n]\n'),
    ]
    keys = [headers["idempotency-key"] for _, headers, _ in there.posted]
    assert len(set(keys)) == 2
    assert there.posted[0][1]["content-type"] == "application/json"


def test_a_message_that_is_refused_is_told_and_the_rest_is_sent(tmp_path: Path, there: Service) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": 1}\n{"id": 2}\n{"id": 3}\n')
    there.statuses = [200, 422]
    ran = run(tmp_path, SEND, there)
    assert [body for _, _, body in there.posted] == ['[\n  {"id": 1}\n]\n', '[\n  {"id": 3}\n]\n']
    assert ran.wrong_number == 1
    assert "message 1: it answers with 422 Unprocessable" in str(ran.wrong[0])
    assert "not like this" in str(ran.wrong[0])


def test_credentials_are_sent_and_never_shown(tmp_path: Path, there: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("word", "s3c/ret")
    monkeypatch.setenv("token", "t0ken")
    there.document = b'{"id": 1}'
    with_user = there.url.replace("http://", "http://ann:$word@")
    text = (
        f"@from({with_user}/a) {{ o(id: integer). }}\n"
        f'@enrich({there.url}/b, json, authorization="Bearer $token") {{ e(id: integer). }}\n'
        "x(id) :- o(id), e(id).\n@to(out.jsonl) { x }\n"
    )
    monkeypatch.setenv("word", "s3cret")
    run(tmp_path, text, there)
    assert [headers["authorization"] for headers in there.asked] == ["Basic YW5uOnMzY3JldA==", "Bearer t0ken"]
    program = compile_pipeline(tmp_path / "p.lila")
    shown = overview(program, lambda words, _style: words) + str(pipeline_data(program))
    assert "t0ken" not in shown
    assert "s3cret" not in shown


def test_a_token_that_is_not_configured(tmp_path: Path, there: Service) -> None:
    with pytest.raises(PipelineFailed, match=r"`\$nothing` in .* is not configured"):
        run(tmp_path, READ.replace("orders)", 'orders, json, authorization="$nothing")'), there)


def test_a_stream_keeps_what_is_new(tmp_path: Path, there: Service) -> None:
    program = compile_pipeline(_written(tmp_path, READ, there))
    polled = Polled(program.sources[0].endpoint, tmp_path / "polled" / "source0")
    there.document = b'{"id": 1}'
    assert [polled.poll(), polled.poll()] == [True, False]
    there.document = b'{"id": 2}'
    assert polled.poll()
    there.tag = '"3"'
    there.document = b'{"id": 3}'
    again = Polled(program.sources[0].endpoint, tmp_path / "polled" / "source0")
    assert [again.poll(), again.poll()] == [True, False]
    assert there.asked[-1]["if-none-match"] == '"3"'
    files = sorted((tmp_path / "polled" / "source0").iterdir())
    assert [(file.name, file.read_bytes()) for file in files] == [
        (f"00000000{number}", b'{"id": %d}' % number) for number in (1, 2, 3)
    ]


def test_a_crash_after_a_document_was_kept_neither_doubles_nor_replaces_it(tmp_path: Path, there: Service) -> None:
    program = compile_pipeline(_written(tmp_path, READ, there))
    folder = tmp_path / "polled" / "source0"
    there.document = b'{"id": 1}'
    Polled(program.sources[0].endpoint, folder).poll()
    folder.with_suffix(".json").unlink()  # as if it had never been written
    assert not Polled(program.sources[0].endpoint, folder).poll()
    there.document = b'{"id": 2}'
    assert Polled(program.sources[0].endpoint, folder).poll()
    assert [file.read_bytes() for file in sorted(folder.iterdir())] == [b'{"id": 1}', b'{"id": 2}']


def test_documents_are_removed_and_their_numbers_never_given_again(tmp_path: Path, there: Service) -> None:
    program = compile_pipeline(_written(tmp_path, READ, there))
    folder = tmp_path / "polled" / "source0"
    for number in (1, 2):
        there.document = b'{"id": %d}' % number
        Polled(program.sources[0].endpoint, folder).poll()
    assert Polled(program.sources[0].endpoint, folder).forget(["000000001", "000000002"]) == []
    assert Polled(program.sources[0].endpoint, folder).forget(["000000001"]) == []  # it crashed, and tries again
    assert list(folder.iterdir()) == []
    assert not Polled(program.sources[0].endpoint, folder).poll()  # it is still the same document
    there.document = b'{"id": 3}'
    assert Polled(program.sources[0].endpoint, folder).poll()
    assert [file.name for file in folder.iterdir()] == ["000000003"]


def test_a_document_stays_until_its_number_is_noted(tmp_path: Path, there: Service) -> None:
    program = compile_pipeline(_written(tmp_path, READ, there))
    folder = tmp_path / "polled" / "source0"
    there.document = b'{"id": 1}'
    Polled(program.sources[0].endpoint, folder).poll()
    folder.with_suffix(".json").unlink()  # as if it had never been written
    assert Polled(program.sources[0].endpoint, folder).forget(["000000001"]) == ["000000001"]
    assert [file.name for file in folder.iterdir()] == ["000000001"]


def _written(folder: Path, text: str, there: Service) -> Path:
    (folder / "p.lila").write_text(text.replace("SERVICE", there.url), encoding="utf-8")
    return folder / "p.lila"


@pytest.mark.parametrize("uri", ["twitter:$all", "http:$all", "http:$rest", "twitter:ADDRESS"])
def test_an_address_may_be_configured(
    uri: str, tmp_path: Path, there: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("all", f"{there.url}/orders")
    monkeypatch.setenv("rest", f"{there.url}/orders".removeprefix("http:"))
    there.document = b'{"id": 1}'
    uri = uri.replace("ADDRESS", f"{there.url}/orders")
    run(tmp_path, f"@from({uri}) {{ o(id: integer). }}\n@to({uri}) {{ o }}\n", there)
    assert [(path, body) for path, _, body in there.posted] == [("/orders", '[\n  {"id": 1}\n]\n')]


def test_a_secure_address_stays_secure(tmp_path: Path, there: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all", there.url)
    with pytest.raises(
        PipelineFailed, match=r"^`https:\$all` is no address of a service: it begins with `https://`, and"
    ):
        run(tmp_path, "@from(https:$all) { o(id: integer). }\n@to(out.jsonl) { o }\n", there)
    assert there.asked == []
