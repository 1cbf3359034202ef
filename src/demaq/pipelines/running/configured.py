"""What `$name` stands for in URIs: passwords, addresses, whatever is not part of a pipeline.

The environment says it, or `[config]` in the file `demaq.toml` beside the pipeline. It is never shown.
"""

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.program import Endpoint
from demaq.pipelines.secrets import CONFIGURED
from demaq.pipelines.vocabulary import AUTHORIZATION, KAFKA

_FILE = "demaq.toml"
_FILES = "file"  # the scheme of files
_SHORTEST = 4  # characters of what is hidden: less would be found in every sentence


def configured(folder: Path, environment: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """What is configured for pipelines of a folder. The environment comes first."""
    file = folder / _FILE
    if not file.is_file():
        return environment
    try:
        table: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PipelineFailed(f"`{file}` is not TOML: {error}") from error
    own = table.get("config", {})
    if not isinstance(own, dict) or not all(isinstance(value, str) for value in own.values()):
        raise PipelineFailed(f'`config` in `{file}` is a table of texts: `[config]`, and below it `name = "value"`')
    return {**own, **environment}


def resolved(endpoint: Endpoint, config: Mapping[str, str], folder: Path) -> Endpoint:
    """The endpoint with what is configured in its place. Names of files are relative to the folder."""
    for name in endpoint.configured:
        if name not in config:
            raise PipelineFailed(
                f"`${name}` in `{endpoint.shown}` is not configured: set it in the environment, or in `[config]` of "
                f"`{_FILE}` beside the pipeline"
            )

    def put(text: str) -> str:
        return CONFIGURED.sub(lambda found: config[found[1]], text)

    def put_into_uri(text: str) -> str:
        """A parameter of a topic is what is configured, whatever characters that has."""
        if endpoint.scheme != KAFKA:
            return put(text)
        return CONFIGURED.sub(lambda found: quote(config[found[1]], safe=""), text)

    options = dict(endpoint.options)
    if AUTHORIZATION in options:
        options[AUTHORIZATION] = put(str(options[AUTHORIZATION]))
    scheme, path = f"{endpoint.scheme}:", put_into_uri(endpoint.path)
    uri = put_into_uri(endpoint.uri)
    is_file = endpoint.scheme == _FILES
    if CONFIGURED.match(endpoint.path) and path.lower().startswith(scheme) and not is_file:
        uri, path = path, path[len(scheme) :]  # what is configured says the scheme once more
    places = _places(endpoint.path, put, folder) if is_file else ()
    hidden = (*endpoint.hidden, *places, *_values(endpoint, config))
    return replace(endpoint, uri=uri, path=path, options=options, hidden=hidden)


def _places(path: str, put: Callable[[str], str], folder: Path) -> Iterator[tuple[str, str]]:
    """Files and folders in whose names something is configured, and how they are written."""
    parts = path.split("/")
    for number, part in enumerate(parts, 1):
        if CONFIGURED.search(part):
            written = "/".join(parts[:number])
            found = os.path.join(folder, put(written))
            yield from ((place, written) for place in dict.fromkeys((found, os.path.abspath(found))))


def _values(endpoint: Endpoint, config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What is configured, also as it is when codes in it are resolved."""
    for name in endpoint.configured:
        yield from ((value, f"${name}") for value in dict.fromkeys((config[name], unquote(config[name]))))


def seen(text: str, endpoint: Endpoint) -> str:
    """A text about an endpoint as it may be shown to anybody: with what stands in the pipeline in place of secrets."""
    hidden = {secret: shown for secret, shown in endpoint.hidden if len(secret) >= _SHORTEST}
    if not hidden:
        return text
    every = "|".join(re.escape(secret) for secret in sorted(hidden, key=len, reverse=True))
    return re.sub(every, lambda found: hidden[found[0]], text)
