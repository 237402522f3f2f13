"""Plain HTTP to an embedded API server: one connection, requests one after another."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tests.limits import LIMIT_SECONDS

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    code: int
    text: str
    content_type: str
    #: What the server warned of.
    warnings: tuple[str, ...] = ()

    @property
    def content(self) -> Any:
        return json.loads(self.text)


class Caller:
    """Sends requests to one server."""

    def __init__(self, port: int, headers: dict[str, str] | None = None, timeout: float = LIMIT_SECONDS) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self._headers = headers or {}

    def get(self, path: str, accept: str = "application/json", **query: str | int) -> Reply:
        return self.send("GET", path, None, {"Accept": accept}, **query)

    def post(self, path: str, body: Any, content_type: str = "application/json", **query: str | int) -> Reply:
        return self.send("POST", path, body, {"Content-Type": content_type}, **query)

    def put(self, path: str, body: Any, **query: str | int) -> Reply:
        return self.send("PUT", path, body, {"Content-Type": "application/json"}, **query)

    def patch(self, path: str, body: Any, kind: str = "merge-patch+json", **query: str | int) -> Reply:
        return self.send("PATCH", path, body, {"Content-Type": f"application/{kind}"}, **query)

    def delete(self, path: str, body: Any = None, **query: str | int) -> Reply:
        return self.send("DELETE", path, body, {"Content-Type": "application/json"}, **query)

    def send(self, method: str, path: str, body: Any, headers: dict[str, str], **query: str | int) -> Reply:
        """Send anything; a body that is neither text nor bytes is sent as JSON."""
        url = f"{path}?{urlencode(query)}" if query else path
        data = body if body is None or isinstance(body, str | bytes) else json.dumps(body)
        self._connection.request(method, url, data, self._headers | headers)
        response = self._connection.getresponse()
        warnings = tuple(response.headers.get_all("Warning") or ())
        return Reply(response.status, response.read().decode(), response.headers.get("Content-Type", ""), warnings)

    def watch(self, path: str, accept: str = "application/json", **query: str | int) -> Iterator[Any]:
        """The events of a watch, until the server ends it; give `timeoutSeconds`."""
        url = f"{path}?{urlencode({'watch': 'true', **query})}"
        self._connection.request("GET", url, None, self._headers | {"Accept": accept})
        response = self._connection.getresponse()
        assert response.status == 200, response.read()
        for line in response:
            yield json.loads(line)

    def close(self) -> None:
        self._connection.close()


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A pod that asks for nothing in particular."""
    containers = [{"name": "main", "image": "registry.example/app:1"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name.partition("-")[0]}},
        "spec": {"containers": containers, **spec},
    }


def config_map(name: str, value: str = "", **metadata: Any) -> dict[str, Any]:
    """A config map, the simplest of objects."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"value": value}}
