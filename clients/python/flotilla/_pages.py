from __future__ import annotations

from typing import Any, List

from ._http import Http, Json, is_busy, while_busy

__all__ = ["Pages"]

PATIENCE_S = 60.0
# As the hub's own default.
WORK_S = 60.0
# For a lane and its browser.
OPEN_S = 80.0


class Pages:
    """Pages in one call each, in a browser of their own that nothing remembers.

    Every method takes ``url`` or ``html`` and the fields of its call as keywords; 503 (no free lane) is waited out for
    ``patience_s``.
    """

    def __init__(self, http: Http) -> None:
        self._http = http

    def _open(self, kind: str, accept: str, call: Json) -> Any:
        body = dict(call)
        patience_s = body.pop("patience_s", PATIENCE_S)
        timeout_s = body.get("timeout_s", WORK_S) + OPEN_S
        return while_busy(
            patience_s,
            lambda: self._http.open(
                "POST", f"/{kind}", body=body, headers={"accept": accept}, timeout_s=timeout_s
            ),
            is_busy,
        )

    def _json(self, kind: str, call: Json) -> Json:
        body = dict(call)
        patience_s = body.pop("patience_s", PATIENCE_S)
        timeout_s = body.get("timeout_s", WORK_S) + OPEN_S
        headers = {"accept": "application/json"}
        return while_busy(
            patience_s,
            lambda: self._http.json(
                "POST", f"/{kind}", body=body, headers=headers, timeout_s=timeout_s
            ),
            is_busy,
        )

    def screenshot(self, **call: Any) -> Any:
        """A picture of the page, to be read and closed (``with``)."""
        return self._open("screenshot", "image/*", call)

    def pdf(self, **call: Any) -> Any:
        """The page as a PDF, to be read and closed (``with``)."""
        return self._open("pdf", "application/pdf", call)

    def content(self, **call: Any) -> str:
        """The page's HTML, as its scripts have made it."""
        return self._json("content", call)["content"]

    def markdown(self, **call: Any) -> str:
        return self._json("markdown", call)["markdown"]

    def links(self, **call: Any) -> List[Json]:
        """``href`` and ``text`` of each link."""
        return self._json("links", call)["links"]

    def scrape(self, **call: Any) -> Json:
        """Elements of the page, or the whole of it in several formats."""
        return self._json("scrape", call)

    def evaluate(self, **call: Any) -> Any:
        """What ``code`` comes to; it runs in the page."""
        return self._json("evaluate", call)["result"]
