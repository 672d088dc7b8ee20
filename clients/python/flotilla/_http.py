from __future__ import annotations

import json
import random
import secrets
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException, HTTPMessage, IncompleteRead
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, TypeVar

from ._errors import FlotillaError, describe_detail

T = TypeVar("T")
Json = Dict[str, Any]

FIRST_WAIT_S = 0.5
MOST_WAIT_S = 15.0
MOST_ASKED_S = 60.0
CHUNK = 64 * 1024


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The API leads nowhere else, and a token goes to no other server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def backoff_s(n: int, retry_after: Optional[str]) -> float:
    """The pause before try ``n`` (from 0) again: what the answer asks for, else doubling, half of it jitter."""
    try:
        asked = float(retry_after) if retry_after is not None else -1.0
    except ValueError:
        asked = -1.0
    if 0 <= asked < float("inf"):
        return min(asked, MOST_ASKED_S)
    return min(MOST_WAIT_S, FIRST_WAIT_S * 2 ** min(n, 30)) * (0.5 + random.random() / 2)


def new_key() -> str:
    """For Idempotency-Key."""
    return secrets.token_hex(16)


def quoted(text: str) -> str:
    """A part of a path."""
    return urllib.parse.quote(text, safe="")


def query_of(query: Mapping[str, Any]) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    lists = {n: v if isinstance(v, (list, tuple)) else [v] for n, v in given.items()}
    words = {n: [str(v).lower() if isinstance(v, bool) else str(v) for v in many] for n, many in lists.items()}
    return "?" + urllib.parse.urlencode(words, doseq=True) if words else ""


class Http:
    def __init__(
        self, base_url: str, *, token: Optional[str], ca_file: Optional[str], timeout_s: float
    ) -> None:
        parts = urllib.parse.urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"{base_url} is not an http address")
        self.base_url = base_url.rstrip("/")
        self.timeout_s = timeout_s
        self._headers = {"authorization": f"Bearer {token}"} if token else {}
        handlers: List[urllib.request.BaseHandler] = [_NoRedirects()]
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=ca_file)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        self._opener = urllib.request.build_opener(*handlers)

    def json(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        data: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout_s: Optional[float] = None,
    ) -> Any:
        """The JSON of a 2xx answer; None when it has no body. Raises FlotillaError."""
        limit = self.timeout_s if timeout_s is None else timeout_s
        until = time.monotonic() + limit
        with self.open(
            method, path, body=body, data=data, headers=headers, timeout_s=limit
        ) as answer:
            try:
                raw = _read(answer, until, limit)
            except (OSError, HTTPException) as err:
                raise FlotillaError(f"{method} {path[:200]} failed: {err}") from err
            return _json_of(answer, raw)

    def open(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        data: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout_s: Optional[float] = None,
    ) -> Any:
        """A 2xx answer as it comes, to be read and closed; the timeout counts for each wait. Raises FlotillaError."""
        limit = self.timeout_s if timeout_s is None else timeout_s
        sent = {**self._headers, **(headers or {})}
        if body is not None:
            data = json.dumps(body).encode()
            sent["content-type"] = "application/json"
        request = urllib.request.Request(self.base_url + path, data, sent, method=method)
        try:
            return self._opener.open(request, timeout=limit)
        except urllib.error.HTTPError as err:
            with err:
                raise _failure_of(err, limit) from None
        except (OSError, HTTPException) as err:
            why = getattr(err, "reason", None) or err
            raise FlotillaError(f"{method} {path[:200]} failed: {why}") from err

    def every_item(self, path: str, name: str, query: Mapping[str, Any] = {}) -> List[Json]:
        """Every item of a list, page after page."""
        items: List[Json] = []
        cursor: Optional[str] = None
        while True:
            page = self.json("GET", path + query_of({**query, "cursor": cursor}))
            items.extend(page[name])
            cursor = page.get("next_cursor")
            if cursor is None:
                return items


def while_busy(
    patience_s: float, attempt: Callable[[], T], passes: Callable[[FlotillaError], bool]
) -> T:
    """Runs ``attempt`` again while it fails with what ``passes``, waiting as Retry-After says or 0.5 s doubling to 15 s."""
    until = time.monotonic() + patience_s
    n = 0
    while True:
        try:
            return attempt()
        except FlotillaError as err:
            wait = backoff_s(n, err.headers.get("retry-after"))
            if not passes(err) or time.monotonic() + wait > until:
                raise
        time.sleep(wait)
        n += 1


def is_busy(err: FlotillaError) -> bool:
    return err.status == 503


def save(answer: Any, path: str) -> None:
    """Writes an answer to a file. Raises FlotillaError when it breaks off; the file has what came."""
    with answer, open(path, "wb") as file:
        for chunk in _whole(answer):
            file.write(chunk)


def _whole(answer: Any) -> Iterator[bytes]:
    try:
        yield from _chunks(answer)
    except (OSError, HTTPException) as err:
        raise FlotillaError(f"the answer broke off: {err}") from err


def _chunks(answer: Any) -> Iterator[bytes]:
    # As much as is there: a body that trickles in must not hold the deadline up.
    read = getattr(answer, "read1", answer.read)
    length = answer.headers.get("content-length")
    left = None if length is None else int(length)
    chunk = read(CHUNK)
    while chunk:
        if left is not None:
            left -= len(chunk)
        yield chunk
        chunk = read(CHUNK)
    # Reads of a given size take a connection that broke off for the end of the body.
    if left:
        raise IncompleteRead(b"", left)


def _read(answer: Any, until: float, limit: float) -> bytes:
    parts = []
    for chunk in _chunks(answer):
        parts.append(chunk)
        if time.monotonic() > until:
            raise TimeoutError(f"no whole answer within {limit:g} s")
    return b"".join(parts)


def _json_of(answer: Any, raw: bytes) -> Any:
    """The body of a success, which is JSON or empty: a router's page is neither. Raises FlotillaError."""
    if not raw:
        return None
    try:
        return json.loads(raw)
    except ValueError:
        text = raw.decode(errors="replace")
        raise FlotillaError(
            f"the answer is not JSON: {text[:200]}",
            status=answer.status,
            body=text,
            headers=_lower(answer.headers),
        ) from None


def _parsed(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode(errors="replace")


def _failure_of(err: urllib.error.HTTPError, limit: float) -> FlotillaError:
    try:
        body = _parsed(_read(err, time.monotonic() + limit, limit))
    except (OSError, HTTPException):
        body = None
    detail = body.get("detail") if isinstance(body, dict) else None
    message = describe_detail(detail) or f"the hub answered {err.code}"
    return FlotillaError(
        message, status=err.code, detail=detail, body=body, headers=_lower(err.headers)
    )


def _lower(headers: Optional[HTTPMessage]) -> Dict[str, str]:
    return {name.lower(): value for name, value in headers.items()} if headers else {}
