from __future__ import annotations

from typing import Any

from ._http import Http, Json, query_of, quoted

ACT_S = 120.0


class Failures:
    """Failures of the pipeline in groups, and what is done to many tasks."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self, **query: Any) -> Json:
        """One page; ``next_cursor`` is the ``cursor`` of the next."""
        return self._http.json("GET", f"/api/v1/failures{query_of(query)}")

    def act_on(self, action: str, **filter: Any) -> Json:
        """Retries, cancels, deletes or moves the tasks of one group (``fingerprint``), in all workloads.

        With ``dry_run=True`` it says how many it would be. A long call ends with ``complete`` false: the same call goes on.
        """
        path = f"/api/v1/failures/{quoted(action)}"
        return self._http.json("POST", path, body=filter, timeout_s=ACT_S)

    def act_on_tasks(self, slug: str, action: str, **filter: Any) -> Json:
        """The same for the tasks of a workload that a filter finds."""
        path = f"/api/v1/workloads/{quoted(slug)}/tasks/{quoted(action)}"
        return self._http.json("POST", path, body=filter, timeout_s=ACT_S)
