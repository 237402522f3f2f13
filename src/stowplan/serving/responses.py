"""Answers: errors as Kubernetes tells them, a Status object in JSON, and plain text."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from stowplan.serving.authentication import AccessRequest

#: What answers a request, with one of these or with a page.
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_BROWSERS = ("curl/", "Wget/", "Mozilla/")


def forbidden(request: web.Request, refused: AccessRequest, reason: str) -> web.Response:
    """Tell who may not do what; a reason is the API server's."""
    text = f'User "{refused.user.name}" cannot {refused.verb} path "{refused.path}"'
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    message = f"forbidden: {text}: {reason}" if reason else f"forbidden: {text}"
    return failure(request, 403, "Forbidden", message, {"details": {}})


def text_page(text: str, status: int = 200) -> web.Response:
    """Answer with text that a browser takes for nothing else."""
    return web.Response(status=status, text=text, headers={"X-Content-Type-Options": "nosniff"})


def failure(
    request: web.Request, code: int, reason: str, message: str, more: dict[str, Any] | None = None
) -> web.Response:
    """Answer with a Status."""
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        **(more or {}),
        "code": code,
    }
    # People read it in a terminal; programs do not care.
    is_read = request.headers.get("User-Agent", "").startswith(_BROWSERS)
    text = json.dumps(status, indent=2) if is_read else json.dumps(status, separators=(",", ":")) + "\n"
    headers = {"X-Content-Type-Options": "nosniff"}
    return web.Response(status=code, text=text, content_type="application/json", headers=headers)
