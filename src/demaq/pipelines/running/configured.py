"""What `$name` stands for in URIs: passwords, addresses, whatever is not part of a pipeline.

The environment says it, or `[config]` in the file `demaq.toml` beside the pipeline. It is never shown.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.program import Endpoint
from demaq.pipelines.vocabulary import AUTHORIZATION

_FILE = "demaq.toml"
_NAME = re.compile(r"\$([^\W\d]\w*)")


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


def resolved(endpoint: Endpoint, config: Mapping[str, str]) -> Endpoint:
    """The endpoint with what is configured in its place."""
    for name in endpoint.configured:
        if name not in config:
            raise PipelineFailed(
                f"`${name}` in `{endpoint.shown}` is not configured: set it in the environment, or in `[config]` of "
                f"`{_FILE}` beside the pipeline"
            )

    def put(text: str) -> str:
        return _NAME.sub(lambda found: config[found[1]], text)

    options = dict(endpoint.options)
    if AUTHORIZATION in options:
        options[AUTHORIZATION] = put(str(options[AUTHORIZATION]))
    return replace(endpoint, uri=put(endpoint.uri), path=put(endpoint.path), options=options)
