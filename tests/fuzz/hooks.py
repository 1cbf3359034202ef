"""What Schemathesis is to do with requests and answers: it loads this module by its name."""

import os
import random
import threading
from typing import Any

import schemathesis
from schemathesis.generation import GenerationMode

from fuzz.tally import Answer, complaint

_LOCK = threading.Lock()
_PLACE = os.environ.get("FUZZ_ANSWERS", os.devnull)
_KNOWN = {
    "queue": ("orders", "strict", "notes", "later", "answers", "problems"),
    "slicing": ("customers",),
    "id": tuple(range(1, 60)),
}
"""What is there when it begins; names that are made up lead nowhere."""
_OFTEN = 0.6


@schemathesis.serializer("application/zip")
def archive(_context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    """Ask for what is there, where nothing wrong is asked for on purpose."""
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    for given in (case.path_parameters, case.query):
        for name in set(given or ()) & _KNOWN.keys():
            if random.random() < _OFTEN:
                given[name] = random.choice(_KNOWN[name])


@schemathesis.hook
def after_call(_context: Any, case: Any, response: Any) -> None:
    """Note each answer, for whoever has started it: status, seconds, and the id of what was accepted."""
    number = response.json().get("id", 0) if case.method == "POST" and response.status_code == 201 else 0
    with _LOCK, open(_PLACE, "a", encoding="utf-8") as file:
        file.write(f"{response.status_code} {response.elapsed} {number}\n")


@schemathesis.check
def says_why(_context: Any, response: Any, case: Any) -> None:
    headers = {name.lower(): values[0] for name, values in response.headers.items()}
    wrong = complaint(Answer(response.status_code, headers, response.content))
    if wrong is not None and case.method != "HEAD":
        raise AssertionError(wrong)
