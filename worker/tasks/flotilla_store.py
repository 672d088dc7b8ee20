"""State and blobs of the plugin a task belongs to: `ctx.state` and `ctx.blob` of a Python module."""

import http.client
import json
import os
import threading
import urllib.parse

TIMEOUT_S = 60
_local = threading.local()


class StoreError(Exception):
    """The store refused the call; `status` is the status of its answer."""

    def __init__(self, status, detail):
        super().__init__("%s (status %d)" % (detail, status))
        self.status = status


def _base():
    url = os.environ.get("FLOTILLA_STORE_URL")
    if not url:
        raise RuntimeError("this workload runs no plugin, so it has no state and no blobs")
    return urllib.parse.urlsplit(url)


def _call(method, kind, key, body=None, headers=None):
    base = _base()
    path = "%s/%s/%s" % (base.path, kind, urllib.parse.quote(key, safe=""))
    # Kept open between calls; if the other side has closed it meanwhile, it is reopened once.
    for again in (True, False):
        link = getattr(_local, "link", None)
        if link is None:
            link = _local.link = http.client.HTTPConnection(base.hostname, base.port, timeout=TIMEOUT_S)
        try:
            link.request(method, path, body=body, headers=headers or {})
            answer = link.getresponse()
            return answer, answer.read()
        except (http.client.HTTPException, ConnectionError):
            link.close()
            _local.link = None
            if not again:
                raise


def _fail(answer, body):
    try:
        detail = json.loads(body)["detail"]
    except (ValueError, KeyError, TypeError):
        detail = body[:200].decode("utf-8", "replace")
    raise StoreError(answer.status, detail)


class State:
    """JSON values by key. Keys may hold slashes."""

    def get(self, key, default=None):
        return self._read(key, default)[0]

    def set(self, key, value):
        self._write(key, value, {})

    def update(self, key, change, default=None):
        """Replaces the value by change(value); when another task was quicker, change is called again."""
        while True:
            value, version = self._read(key, default)
            after = change(value)
            condition = {"if-none-match": "*"} if version is None else {"if-match": version}
            try:
                self._write(key, after, condition)
                return after
            except StoreError as err:
                if err.status != 412:
                    raise

    def delete(self, key):
        answer, body = _call("DELETE", "state", key)
        if answer.status not in (204, 404):
            _fail(answer, body)

    def _read(self, key, default):
        answer, body = _call("GET", "state", key)
        if answer.status == 404:
            return default, None
        if answer.status != 200:
            _fail(answer, body)
        return json.loads(body)["value"], answer.headers["etag"]

    def _write(self, key, value, condition):
        headers = {"content-type": "application/json", **condition}
        answer, body = _call("PUT", "state", key, json.dumps(value).encode(), headers)
        if answer.status != 200:
            _fail(answer, body)


class Blob:
    """Bytes by key, at most 5 MB each."""

    def get(self, key):
        answer, body = _call("GET", "blob", key)
        if answer.status == 404:
            return None
        if answer.status != 200:
            _fail(answer, body)
        return body

    def set(self, key, data, content_type="application/octet-stream"):
        data = data.encode() if isinstance(data, str) else bytes(data)
        answer, body = _call("PUT", "blob", key, data, {"content-type": content_type})
        if answer.status != 200:
            _fail(answer, body)

    def delete(self, key):
        answer, body = _call("DELETE", "blob", key)
        if answer.status not in (204, 404):
            _fail(answer, body)
