"""What `stowplan up` keeps to itself: its files, the key of tokens, and who tried to come in."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.up.up_process import Up, run, running

ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
PODS = "/api/v1/namespaces/default/pods"
FEW = ("--nodes", "0", "--without", "scheduler")


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """Nothing is kept from others by what a shell is set to."""
    before = os.umask(0)
    yield
    os.umask(before)


def new_token(up: Up, secret: str) -> str:
    up.until(lambda: up.send("GET", ACCOUNT, None, Authorization=f"Bearer {secret}")[0] == 200)
    code, answer = up.send("POST", f"{ACCOUNT}/token", {"spec": {}}, Authorization=f"Bearer {secret}")
    assert code == 201
    return str(answer["status"]["token"])


def code_for(up: Up, token: str) -> int:
    return up.send("POST", WHO, {}, Authorization=f"Bearer {token}")[0]


def open_to_others(folder: Path) -> list[str]:
    found = [folder, *folder.rglob("*")]
    return [str(path) for path in found if stat.S_IMODE(path.stat().st_mode) & 0o077 and path.name != ".gitignore"]


def test_what_it_writes_is_its_owners_alone(tmp_path: Path) -> None:
    with running(tmp_path, *FEW, "--data", "data", "--audit-log", "audit.log") as up:
        up.get(PODS)
        assert open_to_others(tmp_path / "data") == []
        assert open_to_others(tmp_path / ".stowplan") == []
        assert open_to_others(tmp_path / "audit.log") == []


def test_what_was_open_to_others_is_closed_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    (tmp_path / "audit.log").touch(0o644)
    (tmp_path / "pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n"
    )
    done = run(tmp_path, "up", "--once", "--nodes", "1", "--data", "data", "--audit-log", "audit.log", "pod.yaml")
    assert done.returncode == 0, done.stderr
    assert "data was open to others (0755) and is now its owner's alone (0700)" in done.stderr
    assert "audit.log was open to others (0644) and is now its owner's alone (0600)" in done.stderr
    assert open_to_others(tmp_path / "data") == []


def test_tokens_of_accounts_outlive_a_restart_and_a_change_of_the_token_but_not_the_cluster(tmp_path: Path) -> None:
    seeded = (*FEW, "--seed", "7")
    with running(tmp_path, *seeded, "--data", "data", "--token", "one") as up:
        token = new_token(up, "one")
        assert code_for(up, token) == 201
        up.end()
    with running(tmp_path, *seeded, "--data", "data", "--token", "two") as up:
        assert (code_for(up, token), code_for(up, "two"), code_for(up, "one")) == (201, 201, 401)
        up.end()
    with running(tmp_path, *seeded, "--data", "other", "--token", "one") as up:
        up.until(lambda: up.send("GET", ACCOUNT, None, Authorization="Bearer one")[0] == 200)
        assert code_for(up, token) == 401


def test_who_was_not_let_in_is_written_down(tmp_path: Path) -> None:
    with running(tmp_path, *FEW, "--token", "secret", "--audit-log", "audit.log") as up:
        assert up.send("POST", PODS, {"metadata": {"name": "a"}}, Authorization="Bearer guessed")[0] == 401
        text = (tmp_path / "audit.log").read_text(encoding="utf-8")
    event = next(event for event in map(json.loads, text.splitlines()) if event["responseStatus"]["code"] == 401)
    assert [event[key] for key in ("verb", "requestURI", "user", "stage")] == ["create", PODS, {}, "ResponseStarted"]
    assert event["responseStatus"]["message"] == "Authentication failed"
    assert "guessed" not in text
    assert "secret" not in text


def test_asking_as_somebody_else_is_refused_where_names_decide_nothing(tmp_path: Path) -> None:
    with running(tmp_path, *FEW) as up:
        code, answer = up.send("GET", PODS, None, **{"Impersonate-User": "jane"})
        assert (code, "start the cluster with --authorization rbac" in answer) == (403, True)
