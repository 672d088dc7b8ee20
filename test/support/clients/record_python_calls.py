"""Calls every method of the Python client on a transport that writes down where each call goes, and prints that as JSON."""

from __future__ import annotations

import inspect
import io
import json
import sys
import tempfile
from typing import Any, Dict, List, Mapping

from flotilla import Client, OpenSession

# What is in a path must be encoded: this would be two parts of it.
ID = "an id/with a slash"
NAMED: Dict[str, Any] = {"name": "page.html", "action": "retry", "format": "mp4"}
TYPED = {"str": ID, "int": 1, "float": 1.5, "bool": True}
ENDED = {"seq": 1, "type": "done"}


class Answer(Dict[str, Any]):
    """Has whatever it is asked for: lists are empty, but for the events of a job that has ended."""

    def __missing__(self, key: str) -> Any:
        if key.endswith("_id"):
            return ID
        return {"events": [ENDED], "status": "completed"}.get(key, [])


class EmptyFile(io.BytesIO):
    headers: Dict[str, str] = {}


class RecordingHttp:
    base_url = "http://hub.test"

    def __init__(self) -> None:
        self.calls: List[List[str]] = []

    def json(self, method: str, path: str, **_: Any) -> Any:
        self.calls.append([method, path])
        return Answer()

    def open(self, method: str, path: str, **_: Any) -> Any:
        self.calls.append([method, path])
        return EmptyFile()

    def every_item(self, path: str, name: str, query: Mapping[str, Any] = {}) -> Any:
        self.calls.append(["GET", path])
        return []


def value_of(parameter: inspect.Parameter, file: str) -> Any:
    if parameter.name == "path":
        return file
    if parameter.name in NAMED:
        return NAMED[parameter.name]
    declared = str(parameter.annotation)
    if declared.startswith(("List", "Sequence")):
        return []
    return TYPED.get(declared, {})


def is_needed(parameter: inspect.Parameter) -> bool:
    is_rest = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    return not is_rest and parameter.default is parameter.empty


def called(room: str, of: Any, http: RecordingHttp, file: str) -> List[Dict[str, Any]]:
    made = []
    for name, method in inspect.getmembers(of, inspect.ismethod):
        if name.startswith("_"):
            continue
        http.calls.clear()
        parameters = inspect.signature(method).parameters.values()
        result = method(*[value_of(one, file) for one in parameters if is_needed(one)])
        if inspect.isgenerator(result):
            list(result)
        made.append({"room": room, "name": name, "calls": list(http.calls)})
    return made


def main() -> None:
    http: Any = RecordingHttp()
    client = Client(http)
    rooms = {name: of for name, of in vars(client).items() if name != "base_url"}
    rooms["session"] = OpenSession(http, {"session_id": ID})
    with tempfile.NamedTemporaryFile() as file:
        made = [one for room, of in rooms.items() for one in called(room, of, http, file.name)]
    json.dump(made, sys.stdout)


main()
