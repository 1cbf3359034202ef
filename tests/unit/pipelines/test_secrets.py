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
        ("kafka:a?servers=h:1&user=ann&password=s3cret&tls=true", None),
        ("kafka:a?servers=h:1&kafka.ssl.key.password=s3cret", None),
        ("kafka:a?kafka.sasl.jaas.config=s3cret&servers=h:1", None),
        ("https://s3cret@host/", None),
        ("https://s3cret:@host/", None),
        ("https://host/a?access_token=s3cret&page=2", None),
        ("https://host/a?refresh_token=s3cret", None),
        ("https://host/a?X-Amz-Date=1&X-Amz-Signature=s3cret", None),
        ("https://host/a?auth=s3cret", None),
        ("https://host/a?credential=s3cret&user=ann", None),
        ("https://host/a?pw=s3cret", None),
        ("https://host/a?private_key=s3cret", None),
        ("spark:x?sfUser=ann&sfPassword=s3cret", None),
        ("spark:x?accountKey=s3cret", None),
        ("spark:x?secretKey=s3cret", None),
        ("spark:x?fs.azure.account.key.foo=s3cret", None),
        ("spark:jdbc?url=jdbc:postgresql://h/db%3Fuser%3Dann%26password%3Ds3cret&dbtable=t", None),
        ("jdbc:postgresql://host/db?user=ann&sslpassword=s3cret", None),
        ("jdbc:db2://host:1/db:password=s3cret;user=ann;", None),
    ],
)
def test_secrets_are_masked(uri: str, shown: str | None) -> None:
    assert [uri[start:end] for start, end in secrets_in(uri)] == ["s3cret"]
    assert masked(uri) == (uri.replace("s3cret", "***") if shown is None else shown)


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("http://ann:p/s3cret@host/x", "http://ann:***@host/x"),
        ("http://ann:p@s3cret@host/x", "http://ann:***@host/x"),
        ("http://ann:p$s3cret@host/x", "http://ann:***@host/x"),
        ("jdbc:oracle:thin:ann/p@s/3cret@host", "jdbc:oracle:thin:ann/***@host"),
        ("jdbc:postgresql://host/db?password=s3cret;#more", "jdbc:postgresql://host/db?password=***"),
        ("jdbc:sqlserver://host;password={s3;cret};user=ann", "jdbc:sqlserver://host;password=***;user=ann"),
    ],
)
def test_whatever_a_secret_has_in_it(uri: str, shown: str) -> None:
    assert masked(uri) == shown


@pytest.mark.parametrize(
    "uri",
    [
        "file:a.json",
        "http://host:8080/x",
        "http://host:8080/x@2/y",
        "http://$host:$port/x?mail=ann@host",
        "http://[::1]:8080/x@2",
        "ftp://ann@host/",
        "jdbc:postgresql://one:1,two:2/db?mail=ann@host",
        "http://ann:$password@host/",
        "jdbc:db?password=$password",
        "https://host/?passenger=ann",
        "kafka:a?servers=$kafka&password=$password&kafka.sasl.jaas.config=$login",
        "twitter:$config",
        "https://host/?key=ann&primaryKey=id&tokenizer=words&keyspace=a&sslkey=client.pem",
        "kafka:a?servers=h:1&kafka.key.serializer=x&kafka.ssl.keystore.location=/a",
        "jdbc:mysql://h/db?clientCertificateKeyStoreUrl=file:/a",
    ],
)
def test_what_is_no_secret_stays(uri: str) -> None:
    assert masked(uri) == uri


EXPLAINED = """
@from("http://ann:s3cret@host/x", authorization="Bearer s3cret") { a(x). }
@enrich("spark:x?user=ann&accountKey=s3cret") { a(x). }
@to(file:y) { a }
"""


@pytest.mark.parametrize(
    "options",
    [[], ["--json"], ["--mermaid"], ["--svg", "-"], ["--graph", "dependencies", "--svg", "-"], ["--plan"]],
)
def test_explanations_show_no_secret(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("secret") / "x.lila"
    file.write_text(EXPLAINED, encoding="utf-8")
    result = CliRunner().invoke(main, ["pipeline", "explain", str(file), *options])
    assert result.exit_code == 0
    assert "ann" in result.output
    assert "s3cret" not in result.output
