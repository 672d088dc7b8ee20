from __future__ import annotations

from typing import List

from ._http import Http, Json, quoted


class Fleet:
    """Workers and health."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def health(self) -> Json:
        return self._http.json("GET", "/health")

    def figures(self, range: str = "24h") -> Json:
        """What the fleet does, what went wrong and why: of 1h, 6h, 24h or 7d."""
        return self._http.json("GET", f"/figures?range={quoted(range)}")

    def workers(self) -> List[Json]:
        return self._http.every_item("/workers", "workers")

    def worker(self, worker_id: str) -> Json:
        return self._http.json("GET", f"/workers/{quoted(worker_id)}")

    def set_worker_status(self, worker_id: str, status: str) -> Json:
        """active, drain or standby."""
        path = f"/workers/{quoted(worker_id)}/status"
        return self._http.json("POST", path, body={"status": status})

    def delete_worker(self, worker_id: str) -> None:
        self._http.json("DELETE", f"/workers/{quoted(worker_id)}")
