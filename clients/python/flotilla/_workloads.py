from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ._errors import FlotillaError
from ._http import Http, Json, new_key, query_of, quoted, while_busy

SUBMIT_PATIENCE_S = 150.0
BATCH_S = 120.0
IMPORT_S = 600.0
CHECK_S = 130.0
IMPORT_TYPES = {"csv": "text/csv", "jsonl": "application/x-ndjson"}
WORKLOADS = "/api/v1/workloads"


def _is_away(err: FlotillaError) -> bool:
    """Nobody answers, 503 is the answer, or an earlier call with the same key still runs."""
    return err.status in (0, 503) or (err.status == 409 and "retry-after" in err.headers)


class Workloads:
    """Workloads, their queues and runs."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def _at(self, slug: str, rest: str = "") -> str:
        return f"{WORKLOADS}/{quoted(slug)}{rest}"

    def list(self) -> List[Json]:
        return self._http.every_item(WORKLOADS, "workloads")

    def create(self, workload: Mapping[str, Any]) -> Json:
        return self._http.json("POST", WORKLOADS, body=workload)

    def get(self, slug: str) -> Json:
        return self._http.json("GET", self._at(slug))

    def replace(self, slug: str, settings: Mapping[str, Any]) -> Json:
        """Replaces every field that can change."""
        return self._http.json("PUT", self._at(slug), body=settings)

    def set_enabled(self, slug: str, enabled: bool) -> Json:
        return self._http.json("PATCH", self._at(slug, "/enabled"), body={"enabled": enabled})

    def delete(self, slug: str, *, force: bool = False) -> None:
        """With its queue; its runs stay. 409 while tasks are claimed, unless it is forced."""
        self._http.json("DELETE", self._at(slug, query_of({"force": force})))

    def submit(
        self,
        slug: str,
        items: Sequence[Mapping[str, Any]],
        *,
        patience_s: float = SUBMIT_PATIENCE_S,
        idempotency_key: Optional[str] = None,
    ) -> Json:
        """Up to 10,000 tasks, all or none. A key that is pending, claimed or failed is a duplicate and is not changed.

        A control plane that is busy or away is asked again under one Idempotency-Key: no task is submitted twice.
        """
        headers = {"idempotency-key": idempotency_key or new_key()}
        body: Dict[str, Any] = {"items": list(items)}
        path = self._at(slug, "/tasks/batch")
        return while_busy(
            patience_s,
            lambda: self._http.json("POST", path, body=body, headers=headers, timeout_s=BATCH_S),
            _is_away,
        )

    def import_tasks(self, slug: str, path: str, *, format: str = "csv", **query: Any) -> Json:
        """Every row of a CSV file, or line of JSON, as a task.

        ``query`` holds ``key``, ``columns``, ``typed``, ``skip_faults`` and ``dry_run``, which submits nothing.
        """
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            headers = {"content-type": IMPORT_TYPES[format], "content-length": str(size)}
            at = self._at(slug, f"/tasks/import{query_of(query)}")
            return self._http.json("POST", at, data=file, headers=headers, timeout_s=IMPORT_S)

    def check(self, draft: Mapping[str, Any]) -> Json:
        """Has a worker try settings that are not saved, with one task if there is one."""
        return self._http.json("POST", f"{WORKLOADS}/check", body=draft, timeout_s=CHECK_S)

    def versions(self, slug: str) -> List[Json]:
        """Versions of its code, the newest first; the code itself comes with ``version``."""
        return self._http.every_item(self._at(slug, "/versions"), "versions")

    def version(self, slug: str, version: int) -> Json:
        return self._http.json("GET", self._at(slug, f"/versions/{version}"))

    def restore(self, slug: str, version: int, *, note: str = "") -> Json:
        """Rolls back: the code of that version becomes the newest one."""
        body = {"version_note": note}
        return self._http.json("POST", self._at(slug, f"/versions/{version}/restore"), body=body)

    def status(self, slug: str, pks: Sequence[str]) -> Json:
        """The state of up to 10,000 tasks; those that are not in the queue are counted as ``absent``."""
        return self._http.json("POST", self._at(slug, "/tasks/status"), body={"pks": list(pks)})

    def queue(self, slug: str) -> Json:
        return self._http.json("GET", self._at(slug, "/queue"))

    def peek(self, slug: str, **query: Any) -> Json:
        return self._http.json("GET", self._at(slug, f"/queue/peek{query_of(query)}"))

    def reset_failed(self, slug: str) -> int:
        """How many failed tasks became pending."""
        return self._http.json("POST", self._at(slug, "/queue/reset-failed"))["reset"]

    def remove_task(self, slug: str, pk: str) -> None:
        """Removes a pending or failed task, cancels a claimed one."""
        self._http.json("DELETE", self._at(slug, f"/queue/{quoted(pk)}"))

    def runs(self, slug: str, **query: Any) -> List[Json]:
        """Newest first."""
        return self._http.json("GET", self._at(slug, f"/runs{query_of(query)}"))["runs"]

    def all_runs(self, **query: Any) -> List[Json]:
        """Of all workloads."""
        return self._http.json("GET", f"/api/v1/runs{query_of(query)}")["runs"]

    def run(self, run_id: int) -> Json:
        return self._http.json("GET", f"/api/v1/runs/{run_id}")
