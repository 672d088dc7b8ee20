from __future__ import annotations

from typing import Any, List, Mapping, Optional

from ._actions import ACTION_TIMEOUT_S, ACTION_TIMEOUTS_S, ACTIONS, Actions
from ._errors import FlotillaError
from ._http import Http, Json, is_busy, query_of, quoted, while_busy

__all__ = ["ACTIONS", "OpenSession", "Sessions"]

OPEN_S = 60.0
OPEN_PATIENCE_S = 60.0
SAVE_S = 600.0
TRACE_S = 60.0
# On top of an action's own timeout: the hub answers 504 by then.
GRACE_S = 10.0


class OpenSession(Actions):
    """A held lane. With ``with`` it ends with its block."""

    def __init__(self, http: Http, record: Json) -> None:
        self._http = http
        #: As it was when it was opened.
        self.record = record
        self.session_id: str = record["session_id"]
        self._base = f"/sessions/{quoted(self.session_id)}"

    def __enter__(self) -> OpenSession:
        return self

    def __exit__(self, *_: Any) -> None:
        try:
            self.close()
        except FlotillaError as err:
            # Reaped meanwhile: it is what was wanted.
            if err.status != 404:
                raise

    def act(self, action: str, args: Mapping[str, Any]) -> Json:
        default_s = ACTION_TIMEOUTS_S.get(action, ACTION_TIMEOUT_S)
        timeout_s = args.get("timeout_s", default_s) + GRACE_S
        path = f"{self._base}/{quoted(action)}"
        return self._http.json("POST", path, body=dict(args), timeout_s=timeout_s)

    def state(self) -> Json:
        return self._http.json("GET", f"{self._base}/state")

    def cookies(self) -> List[Json]:
        return self._http.json("GET", f"{self._base}/cookies")["cookies"]

    def put_cookies(self, cookies: List[Json]) -> List[Json]:
        """Adds or replaces these, keeps the others."""
        path = f"{self._base}/cookies"
        return self._http.json("PUT", path, body={"cookies": cookies})["cookies"]

    def clear_cookies(self) -> None:
        self._http.json("DELETE", f"{self._base}/cookies")

    def network(self, since: int = 0) -> Json:
        """Requests from ``since`` on; ``next`` is the ``since`` of the next call."""
        return self._http.json("GET", f"{self._base}/network?since={since}")

    def files(self) -> List[Json]:
        return self._http.json("GET", f"{self._base}/files")["files"]

    def file(self, name: str) -> Any:
        """A downloaded file, to be read and closed (``with``)."""
        return self._http.open("GET", f"{self._base}/files/{quoted(name)}")

    def record_input(self, on: bool) -> Json:
        """Records what people do as steps, or stops."""
        return self._http.json("POST", f"{self._base}/record-input", body={"on": on})

    def recorded_input(self, revision: int = -1, wait_s: float = 0) -> Json:
        """The steps; with ``wait_s`` once there are others than in ``revision``."""
        path = f"{self._base}/record-input?revision={revision}&wait_s={wait_s}"
        return self._http.json("GET", path)

    def save_profile(self, name: str) -> Json:
        path = f"{self._base}/profile/save"
        return self._http.json("POST", path, body={"name": name}, timeout_s=SAVE_S)

    def close(self) -> None:
        """Ends the session and its browser."""
        self._http.json("DELETE", self._base)


class Sessions:
    def __init__(self, http: Http) -> None:
        self._http = http

    def open(
        self, input: Optional[Mapping[str, Any]] = None, *, patience_s: float = OPEN_PATIENCE_S
    ) -> OpenSession:
        """503 (no free lane) is waited out for ``patience_s``."""
        body = dict(input or {})
        record = while_busy(
            patience_s,
            lambda: self._http.json("POST", "/sessions", body=body, timeout_s=OPEN_S),
            is_busy,
        )
        return OpenSession(self._http, record)

    def get(self, session_id: str) -> OpenSession:
        """One that somebody else opened, by its id."""
        return OpenSession(self._http, self._http.json("GET", f"/sessions/{quoted(session_id)}"))

    def list(self) -> List[Json]:
        return self._http.every_item("/sessions", "sessions")

    def recording(self, session_id: str) -> Json:
        """What is recorded of a session, also of one that has ended."""
        return self._http.json("GET", f"/sessions/{quoted(session_id)}/recording")

    def har(self, session_id: str) -> Json:
        """What a session requested, as HAR 1.2, also of one that has ended."""
        return self._http.json("GET", f"/sessions/{quoted(session_id)}/har.json")

    def body(self, session_id: str, sha256: str) -> Any:
        """A body that a session with ``capture`` received, to be read and closed; its HAR names it as ``content._body``."""
        path = f"/sessions/{quoted(session_id)}/bodies/{quoted(sha256)}"
        return self._http.open("GET", path, timeout_s=TRACE_S)

    def trace(self, session_id: str) -> Any:
        """The Playwright trace of a session that was opened with ``trace`` and has ended, to be read and closed; 404 until it is there."""
        path = f"/sessions/{quoted(session_id)}/trace.zip"
        return self._http.open("GET", path, timeout_s=TRACE_S)

    def thumbnail(self, session_id: str) -> Any:
        """A small picture of what the recording of a session that has ended shows last: WebP, to be read and closed; 404 where there is none."""
        path = f"/sessions/{quoted(session_id)}/thumbnail.webp"
        return self._http.open("GET", path)

    def export_recording(self, session_id: str, format: str, speed: int = 1) -> Json:
        """Asks for a video of the recording, ``mp4`` or ``webm``, which the hub makes in the background."""
        path = f"/sessions/{quoted(session_id)}/recording/exports"
        return self._http.json("POST", path, body={"format": format, "speed": speed})

    def recording_exports(self, session_id: str) -> List[Json]:
        """The videos of the recording: those that are made, on their way, or have failed."""
        return self._http.json("GET", f"/sessions/{quoted(session_id)}/recording/exports")["items"]

    def recording_video(self, session_id: str, format: str) -> Any:
        """A video of the recording, to be read and closed; 404 until it was asked for, 409 while it is made."""
        path = f"/sessions/{quoted(session_id)}/recording/video.{quoted(format)}"
        return self._http.open("GET", path)

    def ended(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Json:
        """One page of the records of sessions that have ended, the last one first: ``sessions`` and ``next_cursor``."""
        query = query_of({"status": "ended", "limit": limit, "cursor": cursor})
        return self._http.json("GET", "/sessions" + query)
