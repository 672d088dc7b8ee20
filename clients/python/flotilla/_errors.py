from __future__ import annotations

from typing import Any, Mapping, Optional


class FlotillaError(Exception):
    """What went wrong with a call.

    ``status`` is the hub's, or 0 when no answer came (unreachable, timed out; see ``__cause__``). ``detail`` and ``body``
    are those of its error, ``body`` None when there is none. Names in ``headers`` are in lower case.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        detail: Any = None,
        body: Any = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.detail = message if detail is None else detail
        self.body = body
        self.headers = dict(headers or {})


def _issue_text(field: str, msg: str) -> str:
    """An issue as one sentence about its field. Most name it themselves, from the body or from an object in it on."""
    if not field:
        return msg
    named = msg.split(" ", 1)[0]
    if f".{field}".endswith(f".{named}"):
        return field + msg[len(named) :]
    return f"{field}: {msg}"


def describe_detail(detail: Any) -> Optional[str]:
    """``detail`` as one line: text as it is, issues as ``options.wait_seconds must be …``."""
    if isinstance(detail, str):
        return detail
    if not isinstance(detail, list):
        return None
    lines = []
    for issue in detail:
        loc = list(issue.get("loc") or [])
        path = ".".join(str(part) for part in (loc[1:] if loc[:1] == ["body"] else loc))
        lines.append(_issue_text(path, str(issue.get("msg"))))
    return "; ".join(lines)
