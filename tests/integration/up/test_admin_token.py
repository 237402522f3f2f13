"""With TLS and without `--token`, the kubeconfig has a token of its own: kubectl has something to show."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from stowplan.kube import local_kubeconfig
from stowplan.serving.certificates import self_signed
from tests.integration.up.up_process import Up, run, running
from tests.limits import LIMIT_SECONDS

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("up")
    (folder / "pair.pem").write_bytes(b"".join(self_signed()))
    with running(folder, "--nodes", "1", "--cert", "pair.pem", "--authorization", "rbac") as up:
        yield up


def token_of(folder: Path) -> str:
    access = local_kubeconfig.read(folder / ".stowplan" / "kubeconfig")
    assert access is not None
    return access.token


def ask(url: str, body: bytes | None, **headers: str) -> tuple[int, str]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"} | headers)
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_SECONDS, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def who_is(up: Up, **headers: str) -> str:
    code, text = ask(f"{up.url}{WHO}", b"{}", **headers)
    assert code == 201, text
    return str(json.loads(text)["status"]["userInfo"]["username"])


def test_the_token_of_the_kubeconfig_is_the_administrators(up: Up) -> None:
    token = token_of(up.folder)
    assert len(token) >= 43
    assert who_is(up, Authorization=f"Bearer {token}") == "kubernetes-admin"


def test_another_token_is_nobodys(up: Up) -> None:
    assert ask(f"{up.url}{WHO}", b"{}", Authorization="Bearer wrong")[0] == 401


def test_nobody_has_to_show_it(up: Up) -> None:
    assert who_is(up) == "kubernetes-admin"


def test_it_is_good_for_the_pages_of_the_scheduler_too(up: Up) -> None:
    token = token_of(up.folder)
    assert ask(f"{up.scheduler}/metrics", None, Authorization=f"Bearer {token}")[0] == 200
    assert run(up.folder, "nodes").returncode == 0


def test_it_is_drawn_anew_for_each_cluster(up: Up, tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "0", "--without", "scheduler", "--cert", str(up.folder / "pair.pem")):
        assert token_of(tmp_path) not in ("", token_of(up.folder))
