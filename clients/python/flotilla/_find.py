from __future__ import annotations

from typing import List, Mapping, Optional

from ._http import Http, Json, query_of, quoted

SAVED_LISTS = "/api/v1/saved-lists"


class Search:
    """What is found by a few words: ``{q, hits, incomplete}``, best first."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def fleet(self, q: str, *, limit: Optional[int] = None) -> Json:
        """Jobs, sessions, workers, hosts and what else the fleet knows."""
        return self._http.json("GET", f"/search{query_of({'q': q, 'limit': limit})}")

    def pipeline(self, q: str, *, limit: Optional[int] = None) -> Json:
        """Workloads, tasks, runs, pull workers and host agents."""
        return self._http.json("GET", f"/api/v1/search{query_of({'q': q, 'limit': limit})}")


class SavedLists:
    """Lists with their filters, kept under a name."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self, page: Optional[str] = None) -> List[Json]:
        """Of one page, or of all."""
        return self._http.json("GET", f"{SAVED_LISTS}{query_of({'page': page})}")["saved_lists"]

    def put(self, page: str, name: str, filters: Mapping[str, str]) -> Json:
        path = f"{SAVED_LISTS}/{quoted(page)}/{quoted(name)}"
        return self._http.json("PUT", path, body={"filters": filters})

    def delete(self, page: str, name: str) -> None:
        self._http.json("DELETE", f"{SAVED_LISTS}/{quoted(page)}/{quoted(name)}")
