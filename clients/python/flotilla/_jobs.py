from __future__ import annotations

import time
from typing import Any, Callable, Iterator, List, Mapping, Optional, Sequence

from ._errors import FlotillaError
from ._http import Http, Json, backoff_s, is_busy, new_key, query_of, quoted, save, while_busy

SUBMIT_S = 60.0
SUBMIT_PATIENCE_S = 600.0
BODY_S = 60.0
COMPARISON_S = 180.0
IMPORT_S = 1800.0
ACT_S = 120.0
POLL_S = 0.5
PATIENCE_S = 30.0
MAY_PASS = (0, 502, 503, 504)


class Jobs:
    def __init__(self, http: Http) -> None:
        self._http = http

    def submit(
        self,
        input: Mapping[str, Any],
        *,
        patience_s: float = SUBMIT_PATIENCE_S,
        idempotency_key: Optional[str] = None,
    ) -> Json:
        """Submits a job and waits for a lane: running (or ended already), or still queued when ``patience_s`` are over.

        A 503 is waited out without ever making a second job of it.
        """
        until = time.monotonic() + patience_s
        headers = {"idempotency-key": idempotency_key or new_key()}

        def attempt() -> Json:
            try:
                return self._http.json(
                    "POST", "/jobs", body=input, headers=headers, timeout_s=SUBMIT_S
                )
            except FlotillaError as err:
                job_id = err.body.get("job_id") if isinstance(err.body, dict) else None
                if err.status != 503 or not isinstance(job_id, str):
                    raise
                return self._leave_queue(job_id, until)

        return while_busy(patience_s, attempt, is_busy)

    def _leave_queue(self, job_id: str, until: float) -> Json:
        """Asks for a job that has no lane yet: the hub runs it by itself, a second POST would be a second job."""
        n = 0
        while True:
            job = self.get(job_id)
            wait = min(backoff_s(n, None), until - time.monotonic())
            if job["status"] != "queued" or wait <= 0:
                return job
            time.sleep(wait)
            n += 1

    def wait(
        self,
        job_id: str,
        *,
        timeout_s: Optional[float] = None,
        on_event: Optional[Callable[[Json], None]] = None,
    ) -> Json:
        """The record of the job once it has ended, however it ended. Without ``timeout_s`` there is no limit."""
        for event in self._events(job_id, 0, PATIENCE_S, timeout_s):
            if on_event is not None:
                on_event(event)
        return self.get(job_id)

    def run(
        self,
        input: Mapping[str, Any],
        *,
        patience_s: float = SUBMIT_PATIENCE_S,
        idempotency_key: Optional[str] = None,
        timeout_s: Optional[float] = None,
        on_event: Optional[Callable[[Json], None]] = None,
    ) -> Json:
        """``submit`` and ``wait`` in one."""
        job = self.submit(input, patience_s=patience_s, idempotency_key=idempotency_key)
        return self.wait(job["job_id"], timeout_s=timeout_s, on_event=on_event)

    def events(
        self, job_id: str, *, since: int = 0, patience_s: float = PATIENCE_S
    ) -> Iterator[Json]:
        """The events of a job in order, to its ``done`` or ``error``; ``since`` is the last ``seq`` already seen.

        Raises FlotillaError with status 404 for an unknown job, or when the hub stays away for ``patience_s``.
        """
        return self._events(job_id, since, patience_s, None)

    def _events(
        self, job_id: str, since: int, patience_s: float, timeout_s: Optional[float]
    ) -> Iterator[Json]:
        began = heard = time.monotonic()
        failures = 0
        while True:
            if timeout_s is not None and time.monotonic() - began > timeout_s:
                raise FlotillaError(f"job {job_id} did not end within {timeout_s:g} s")
            try:
                page = self._http.json("GET", self._at(job_id, f"/events.json?since={since}"))
            except FlotillaError as err:
                if err.status not in MAY_PASS or time.monotonic() - heard > patience_s:
                    raise
                failures += 1
                time.sleep(backoff_s(failures - 1, err.headers.get("retry-after")))
                continue
            failures = 0
            heard = time.monotonic()
            for event in page["events"]:
                since = event["seq"]
                yield event
                if event["type"] != "log":
                    return
            if not page["events"]:
                time.sleep(POLL_S)

    def _at(self, job_id: str, rest: str = "") -> str:
        return f"/jobs/{quoted(job_id)}{rest}"

    def get(self, job_id: str) -> Json:
        return self._http.json("GET", self._at(job_id))

    def list(self, **query: Any) -> Json:
        """One page, newest first; ``next_cursor`` is the ``cursor`` of the next."""
        return self._http.json("GET", f"/jobs{query_of(query)}")

    def failures(self, **query: Any) -> Json:
        """Failed jobs in groups, of all hosts or one."""
        return self._http.json("GET", f"/jobs/failures{query_of(query)}")

    def act_on(self, action: str, **filter: Any) -> Json:
        """Submits again (``retry``), cancels or deletes the jobs that a filter finds.

        With ``dry_run=True`` it says how many it would be. A long call ends with ``complete`` false: the same call goes on.
        """
        return self._http.json("POST", f"/jobs/{quoted(action)}", body=filter, timeout_s=ACT_S)

    def import_archive(self, path: str) -> Json:
        """A completed job made of a web archive: a WACZ file, or a WARC file compressed or not."""
        with open(path, "rb") as archive:
            size = archive.seek(0, 2)
            archive.seek(0)
            headers = {"content-type": "application/octet-stream", "content-length": str(size)}
            return self._http.json(
                "POST", "/jobs/import", data=archive, headers=headers, timeout_s=IMPORT_S
            )

    def cancel(self, job_id: str) -> Json:
        return self._http.json("POST", self._at(job_id, "/cancel"))

    def set_labels(self, job_id: str, labels: Mapping[str, Optional[str]]) -> Json:
        """Sets the labels that have a value, removes those that are None and leaves the others."""
        return self._http.json("PATCH", self._at(job_id), body={"labels": labels})

    def delete(self, job_id: str) -> None:
        self._http.json("DELETE", self._at(job_id))

    def result(self, job_id: str) -> Json:
        return self._http.json("GET", self._at(job_id, "/result"))

    def assets(self, job_id: str) -> List[Json]:
        return self._http.json("GET", self._at(job_id, "/assets.json"))["items"]

    def links(self, job_id: str) -> List[Json]:
        return self._http.json("GET", self._at(job_id, "/links.json"))["links"]

    def compare(self, before: str, after: str) -> Json:
        """What changed from one completed job to another: the page's title and text, and the assets."""
        path = self._at(before, f"/diff/{quoted(after)}")
        return self._http.json("GET", path, timeout_s=COMPARISON_S)

    def recording(self, job_id: str) -> Json:
        """What is recorded of the job: its state, length and chunks."""
        return self._http.json("GET", self._at(job_id, "/recording"))

    def export_recording(self, job_id: str, format: str, speed: int = 1) -> Json:
        """Asks for a video of the recording, ``mp4`` or ``webm``, which the hub makes in the background."""
        body = {"format": format, "speed": speed}
        return self._http.json("POST", self._at(job_id, "/recording/exports"), body=body)

    def recording_exports(self, job_id: str) -> List[Json]:
        """The videos of the recording: those that are made, on their way, or have failed."""
        return self._http.json("GET", self._at(job_id, "/recording/exports"))["items"]

    def recording_video(self, job_id: str, format: str) -> Any:
        """A video of the recording, to be read and closed; 404 until it was asked for, 409 while it is made."""
        path = self._at(job_id, f"/recording/video.{quoted(format)}")
        return self._http.open("GET", path, timeout_s=BODY_S)

    def download(self, job_id: str, name: str) -> Any:
        """An asset's body, to be read and closed (``with``)."""
        return self._http.open("GET", self._at(job_id, f"/assets/{quoted(name)}"), timeout_s=BODY_S)

    def save(self, job_id: str, name: str, path: str) -> None:
        """An asset's body into a file."""
        save(self.download(job_id, name), path)

    def archive(self, job_ids: Sequence[str]) -> Any:
        """Up to 50 jobs as one WACZ file, to be read and closed."""
        query = query_of({"jobs": ",".join(job_ids)})
        return self._http.open("GET", f"/archive.wacz{query}", timeout_s=BODY_S)

    def file(self, job_id: str, name: str) -> Any:
        """A document of the job by its name, such as page.html or assets.zip, to be read and closed; 404 while it does not exist."""
        return self._http.open("GET", self._at(job_id, f"/{quoted(name)}"), timeout_s=BODY_S)

    def attempts(self, job_id: str) -> List[Json]:
        """What a codegen-loop or rerun job tried, in order, without long texts."""
        return self._http.json("GET", self._at(job_id, "/attempts"))["attempts"]

    def attempt(self, job_id: str, n: int) -> Json:
        """One attempt with its script, streams and verdict; ``n`` counts from 1."""
        return self._http.json("GET", self._at(job_id, f"/attempts/{n}"))

    def screenshot(self, job_id: str, **request: Any) -> Json:
        """A picture of the page as it is now, stored as an asset of the job; 409 when no lane is bound to it."""
        path = self._at(job_id, "/screenshot/capture")
        return self._http.json("POST", path, body=request, timeout_s=BODY_S)
