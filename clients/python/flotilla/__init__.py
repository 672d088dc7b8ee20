"""The client of a Flotilla hub: ``create_client(base_url).jobs``, ``.sessions``, ``.pages``, ``.workloads`` and ``.fleet``."""

from __future__ import annotations

from typing import Optional

from ._errors import FlotillaError
from ._fleet import Fleet
from ._find import SavedLists, Search
from ._http import Http
from ._jobs import Jobs
from ._pages import Pages
from ._sessions import ACTIONS, OpenSession, Sessions
from ._failures import Failures
from ._workloads import Workloads

__all__ = [
    "ACTIONS",
    "Client",
    "FlotillaError",
    "Fleet",
    "Jobs",
    "OpenSession",
    "Pages",
    "SavedLists",
    "Search",
    "Sessions",
    "Workloads",
    "create_client",
]


class Client:
    """A hub. Safe to share between threads: each call opens a connection of its own."""

    def __init__(self, http: Http) -> None:
        self.base_url = http.base_url
        self.jobs = Jobs(http)
        self.sessions = Sessions(http)
        self.pages = Pages(http)
        self.workloads = Workloads(http)
        self.failures = Failures(http)
        self.fleet = Fleet(http)
        self.search = Search(http)
        self.saved_lists = SavedLists(http)


def create_client(
    base_url: str,
    *,
    token: Optional[str] = None,
    ca_file: Optional[str] = None,
    timeout_s: float = 30.0,
) -> Client:
    """A client of the hub at ``base_url``.

    token: that of a role, or SVC_API_TOKEN. ca_file: authority (PEM) that has signed the hub's certificate, by default
    those of the system. timeout_s: what a call may take unless it says otherwise.

    Raises ValueError when ``base_url`` is not an http or https URL.
    """
    return Client(Http(base_url, token=token, ca_file=ca_file, timeout_s=timeout_s))
