"""Secrets in URIs are found, and shown nowhere."""

import pytest
from click.testing import CliRunner

from demaq.cli import main
from demaq.pipelines.secrets import masked, secrets_in


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("http://ann:s3cret@host/", "http://ann:***@host/"),
        ("ftp://:s3cret@host/", "ftp://:***@host/"),
        ("jdbc:postgresql://host/db?user=ann&password=s3cret&ssl=true", None),
        ("jdbc:sqlserver://host;user=ann;PASSWORD=s3cret", "jdbc:sqlserver://host;user=ann;PASSWORD=***"),
        ("jdbc:oracle:thin:ann/s3cret@host", "jdbc:oracle:thin:ann/***@host"),
        ("https://host/x?token=s3cret#top", "https://host/x?token=***#top"),
    ],
)
def test_secrets_are_masked(uri: str, shown: str | None) -> None:
    assert [uri[start:end] for start, end in secrets_in(uri)] == ["s3cret"]
    assert masked(uri) == (uri.replace("s3cret", "***") if shown is None else shown)


@pytest.mark.parametrize(
    "uri",
    [
        "file:a.json",
        "http://host:8080/x",
        "http://ann@host/",
        "http://ann:$password@host/",
        "jdbc:db?password=$password",
        "https://host/?passenger=ann",
        "twitter:$config",
    ],
)
def test_what_is_no_secret_stays(uri: str) -> None:
    assert masked(uri) == uri


@pytest.mark.parametrize(
    "options", [[], ["--json"], ["--mermaid"], ["--svg", "-"], ["--graph", "dependencies", "--svg", "-"]]
)
def test_explanations_show_no_secret(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("secret") / "x.lila"
    file.write_text('@from("http://ann:s3cret@host/x") { a(x). }\n@to(file:y) { a }\n', encoding="utf-8")
    result = CliRunner().invoke(main, ["pipeline", "explain", str(file), *options])
    assert result.exit_code == 0
    assert "ann" in result.output
    assert "s3cret" not in result.output
