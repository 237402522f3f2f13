"""Who may read what: tokens of service accounts, when a grant counts, and pages fetched with or without a token."""

from __future__ import annotations

import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping

import yaml

from tests.e2e.api import Api
from tests.e2e.plane import Plane
from tests.limits import LIMIT_SECONDS


def fetch(url: str, bearer: str = "") -> tuple[int, str]:
    """Read a page, with a token if one is given; return its status and text."""
    return _send(urllib.request.Request(url), bearer)


def post(url: str, content: object, bearer: str = "") -> tuple[int, str]:
    """Post JSON to a page; return its status and text."""
    headers = {"Content-Type": "application/json"}
    return _send(urllib.request.Request(url, json.dumps(content).encode(), headers, method="POST"), bearer)


def _send(request: urllib.request.Request, bearer: str) -> tuple[int, str]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    if bearer:
        request.add_header("Authorization", f"Bearer {bearer}")
    try:
        with opener.open(request, timeout=LIMIT_SECONDS) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def token(plane: Plane, namespace: str, account: str) -> str:
    config = yaml.safe_load(plane.service_account_kubeconfig(namespace, account).read_text(encoding="utf-8"))
    found: str = config["users"][0]["user"]["token"]
    return found


def grant_monitoring(plane: Plane, namespace: str, account: str) -> None:
    """Let a service account read the pages of components, and wait until that counts."""
    plane.grant(namespace, account, "system:monitoring")
    asked = {"path": "/metrics", "verb": "get"}
    wait_until_allowed(plane.api, f"system:serviceaccount:{namespace}:{account}", asked)


def wait_until_allowed(api: Api, user: str, asked: Mapping[str, str]) -> None:
    kind = "nonResourceAttributes" if "path" in asked else "resourceAttributes"
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": {"user": user, kind: asked},
    }
    wait_until(lambda: api.create(review)["status"]["allowed"], f"{user} is allowed {dict(asked)}")


def wait_until(is_so: Callable[[], bool], what: str, seconds: float = LIMIT_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {seconds:.0f} s it is not so that {what}")
        time.sleep(0.05)
