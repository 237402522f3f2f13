"""Where credentials come from: the pod we run in, a kubeconfig file, the environment."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from stowplan.kube import credentials
from stowplan.kube.credentials import proxy_from_environment
from stowplan.kube.identity import Credentials, CredentialsError, TlsFiles, TokenFile, Trust
from stowplan.simulate import virtual_time

IN_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
NOW = datetime(2026, 5, 4, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


# In a pod


@pytest.fixture
def account(tmp_path: Path, authority: trustme.CA) -> Path:
    """A service account as the kubelet mounts it."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    (tmp_path / "token").write_text("secret\n")
    return tmp_path


@pytest.mark.parametrize(
    ("address", "server"),
    [
        pytest.param("10.96.0.1", "https://10.96.0.1:443", id="IPv4"),
        pytest.param("fd00::1", "https://[fd00::1]:443", id="IPv6"),
    ],
)
def test_a_pod_finds_the_server_and_its_token(account: Path, address: str, server: str) -> None:
    found = credentials.in_cluster({**IN_POD, "KUBERNETES_SERVICE_HOST": address}, account)
    assert found.server == server
    assert found.trust is not None
    assert header(found) == "Bearer secret"


def test_outside_a_pod_the_remedy_is_named() -> None:
    with pytest.raises(CredentialsError, match="name a file with --kubeconfig"):
        credentials.in_cluster({})


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        pytest.param("token", "token file .*token: .*; mount a service account token there", id="token"),
        pytest.param("ca.crt", "certificates .*ca.crt: ", id="authority"),
    ],
)
def test_a_pod_without_its_files_is_told_which(account: Path, missing: str, message: str) -> None:
    (account / missing).unlink()
    with pytest.raises(CredentialsError, match=message):
        credentials.in_cluster(IN_POD, account)


def test_a_rotated_token_is_used_within_a_minute(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    async def work() -> list[str]:
        source = TokenFile(token)
        seen = [await source.header()]
        token.write_text("new")
        seen.append(await source.header())
        await asyncio.sleep(60)
        seen.append(await source.header())
        # Gone for a moment, as when a volume is remounted.
        token.unlink()
        await asyncio.sleep(60)
        seen.append(await source.header())
        token.write_text("newest")
        await source.renew()
        return [*seen, await source.header()]

    assert virtual_time.run(work()) == ["Bearer old", "Bearer old", "Bearer new", "Bearer new", "Bearer newest"]


def test_an_empty_token_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    with pytest.raises(CredentialsError, match="is empty"):
        TokenFile(tmp_path / "token")


def test_replaced_certificates_are_used_within_a_minute(tmp_path: Path, authority: trustme.CA) -> None:
    path = tmp_path / "ca.crt"
    authority.cert_pem.write_to_path(str(path))

    async def work() -> list[bool]:
        trust = Trust(TlsFiles(authority=str(path)))
        first = trust.context()
        path.write_text("half a certi")
        await asyncio.sleep(61)
        broken = trust.context()
        trustme.CA().cert_pem.write_to_path(str(path))
        await asyncio.sleep(61)
        replaced = trust.context()
        return [broken is first, replaced is first]

    assert virtual_time.run(work()) == [True, False]


# Kubeconfig


def kubeconfig(folder: Path, user: Mapping[str, Any] | None, **cluster: Any) -> str:
    """Write a kubeconfig file and name it."""
    users = [{"name": "me", "user": dict(user)}] if user is not None else []
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [
            {"name": "one", "cluster": {"server": "https://one:6443", **cluster}},
            {"name": "two", "cluster": {"server": "https://two:6443/"}},
        ],
        "contexts": [
            {"name": "here", "context": {"cluster": "one"} | ({"user": "me"} if user is not None else {})},
            {"name": "there", "context": {"cluster": "two"}},
        ],
        "users": users,
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(content))
    return str(path)


def load(
    path: str, *, master: str = "", context: str = "", environment: Mapping[str, str] | None = None
) -> Credentials:
    async def work() -> Credentials:
        return await credentials.load(path, environment or {}, lambda: NOW, master, context)

    return asyncio.run(work())


def header(found: Credentials) -> str:
    async def work() -> str:
        return await found.authorization.header()

    return asyncio.run(work())


def test_a_token_is_read(tmp_path: Path) -> None:
    found = load(kubeconfig(tmp_path, {"token": "abc"}))
    assert (found.server, header(found)) == ("https://one:6443", "Bearer abc")


def test_a_token_file_is_relative_to_the_kubeconfig_and_wins(tmp_path: Path) -> None:
    (tmp_path / "tok").write_text("from file\n".replace(" ", "-"))
    found = load(kubeconfig(tmp_path, {"token": "abc", "tokenFile": "tok"}))
    assert isinstance(found.authorization, TokenFile)
    assert header(found) == "Bearer from-file"


def test_a_name_and_a_password_are_read(tmp_path: Path) -> None:
    found = load(kubeconfig(tmp_path, {"username": "ann", "password": "pw"}))
    assert header(found) == "Basic " + base64.b64encode(b"ann:pw").decode()


@pytest.mark.parametrize("user", [None, {}])
def test_a_context_may_do_without_a_user(tmp_path: Path, user: dict[str, Any] | None) -> None:
    found = load(kubeconfig(tmp_path, user))
    assert header(found) == ""


def test_another_context_can_be_chosen(tmp_path: Path) -> None:
    found = load(kubeconfig(tmp_path, {"token": "abc"}), context="there")
    assert (found.server, header(found)) == ("https://two:6443", "")


def test_a_master_overrides_the_server(tmp_path: Path) -> None:
    assert load(kubeconfig(tmp_path, {}), master="http://localhost:8080").server == "http://localhost:8080"


def test_a_master_alone_is_spoken_to_without_credentials() -> None:
    found = load("", master="http://10.0.0.1:8080/")
    assert (found.server, found.trust, header(found)) == ("http://10.0.0.1:8080", None, "")


def test_name_proxy_and_impersonation_are_read(tmp_path: Path) -> None:
    user = {
        "token": "abc",
        "as": "ann",
        "as-uid": "7",
        "as-groups": ["a", "b"],
        "as-user-extra": {"scopes": ["x", "y"]},
    }
    path = kubeconfig(tmp_path, user, **{"tls-server-name": "api.test", "proxy-url": "http://proxy:3128"})
    found = load(path, environment={"HTTPS_PROXY": "http://other:1"})
    assert (found.server_name, found.proxy) == ("api.test", "http://proxy:3128")
    assert found.impersonation == (
        ("Impersonate-User", "ann"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-scopes", "x"),
        ("Impersonate-Extra-scopes", "y"),
    )


def test_a_proxy_of_the_environment_is_used_if_the_file_names_none(tmp_path: Path) -> None:
    found = load(kubeconfig(tmp_path, {}), environment={"HTTPS_PROXY": "http://other:1"})
    assert found.proxy == "http://other:1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"proxy-url": "socks5://p:1"}, 'proxy-url "socks5://p:1" is not supported', id="proxy"),
        pytest.param({"server": "one:6443"}, 'server: "one:6443" is no URL', id="server"),
        pytest.param({"certificate-authority": "nowhere.pem"}, "nowhere.pem", id="authority"),
        pytest.param({"certificate-authority-data": "bm8="}, "give PEM files", id="authority that is none"),
    ],
)
def test_what_cannot_be_used_is_named_with_the_file(tmp_path: Path, change: dict[str, str], message: str) -> None:
    path = kubeconfig(tmp_path, {}, **change)
    with pytest.raises(CredentialsError) as caught:
        load(path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("[1, 2", "while parsing", id="no YAML"),
        pytest.param("[]", "correct the file", id="no mapping"),
        pytest.param("current-context: x\ncontexts: []\n", "name x", id="no such context"),
        pytest.param("contexts: []\n", "current-context", id="no current context"),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(CredentialsError, match=f'kubeconfig "{path}": ') as caught:
        load(str(path))
    assert message in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="no such file"):
        load(str(tmp_path / "nowhere"))


def test_an_unknown_context_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="choose another context"):
        load(kubeconfig(tmp_path, {}), context="nowhere")


# Plugins


def plugin(folder: Path, status: dict[str, Any]) -> dict[str, Any]:
    """A user whose credentials a program prints; it counts its runs in a file and in the token."""
    program = folder / "plugin.py"
    program.write_text(
        "import json, os, pathlib\n"
        f"count = pathlib.Path({str(folder / 'count')!r})\n"
        "runs = int(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text(str(runs))\n"
        f"status = json.loads({json.dumps(json.dumps(status))})\n"
        "if 'token' in status:\n"
        "    status['token'] += str(runs) + os.environ['SALT']\n"
        "if 'expirationTimestamp' in status and runs > 1:\n"
        "    status['expirationTimestamp'] = '2026-05-04T02:00:00Z'\n"
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential',"
        " 'status': status}))\n"
    )
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(program)],
            "env": [{"name": "SALT", "value": "!"}],
        }
    }


def test_a_plugin_is_run_once_and_again_when_its_token_is_not_accepted(tmp_path: Path) -> None:
    async def work() -> list[str]:
        path = kubeconfig(tmp_path, plugin(tmp_path, {"token": "t"}))
        found = await credentials.load(path, {}, lambda: NOW)
        seen = [await found.authorization.header(), await found.authorization.header()]
        await found.authorization.renew()
        return [*seen, await found.authorization.header()]

    assert asyncio.run(work()) == ["Bearer t1!", "Bearer t1!", "Bearer t2!"]


def test_a_plugin_is_run_again_when_its_token_ends(tmp_path: Path) -> None:
    moment = NOW

    async def work() -> list[str]:
        nonlocal moment
        status = {"token": "t", "expirationTimestamp": "2026-05-04T01:00:00Z"}
        found = await credentials.load(kubeconfig(tmp_path, plugin(tmp_path, status)), {}, lambda: moment)
        seen = [await found.authorization.header()]
        moment += timedelta(minutes=59)
        seen.append(await found.authorization.header())
        moment += timedelta(minutes=1)
        # All who ask at that moment wait for one run.
        seen += await asyncio.gather(found.authorization.header(), found.authorization.header())
        return seen

    assert asyncio.run(work()) == ["Bearer t1!", "Bearer t1!", "Bearer t2!", "Bearer t2!"]


def test_a_plugin_that_fails_is_named(tmp_path: Path) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "false"}}
    with pytest.raises(CredentialsError, match="exec: process returned 1"):
        load(kubeconfig(tmp_path, user))


# Proxies

PROXY = {"HTTPS_PROXY": "http://proxy:3128"}


@pytest.mark.parametrize(
    ("server", "environment", "expected"),
    [
        pytest.param("https://api:6443", {}, "", id="none"),
        pytest.param("https://api:6443", PROXY, "http://proxy:3128", id="for HTTPS"),
        pytest.param("http://api:8080", PROXY, "", id="not for HTTP"),
        pytest.param("https://api:6443", {"https_proxy": "proxy:1"}, "http://proxy:1", id="lower case, no scheme"),
        pytest.param("https://127.0.0.1:6443", PROXY, "", id="never for loopback"),
        pytest.param("https://[::1]:6443", PROXY, "", id="never for IPv6 loopback"),
        pytest.param("https://localhost:6443", PROXY, "", id="never for localhost"),
        pytest.param("https://api:6443", PROXY | {"NO_PROXY": "*"}, "", id="everything excepted"),
        pytest.param("https://api.x.test", PROXY | {"NO_PROXY": "a.test, x.test"}, "", id="a domain excepted"),
        pytest.param("https://x.test", PROXY | {"NO_PROXY": ".x.test"}, "http://proxy:3128", id="only what is below"),
        pytest.param("https://a.x.test", PROXY | {"NO_PROXY": "*.x.test"}, "", id="a star for what is below"),
        pytest.param("https://max.test", PROXY | {"NO_PROXY": "x.test"}, "http://proxy:3128", id="not half a word"),
        pytest.param("https://10.96.0.1:443", PROXY | {"NO_PROXY": "10.96.0.0/12"}, "", id="a range excepted"),
        pytest.param("https://10.1.0.1", PROXY | {"NO_PROXY": "10.96.0.0/12"}, "http://proxy:3128", id="outside it"),
        pytest.param("https://10.1.0.1", PROXY | {"NO_PROXY": "10.1.0.1"}, "", id="an address excepted"),
        pytest.param("https://api:6443", PROXY | {"no_proxy": "api:6443"}, "", id="a port excepted"),
        pytest.param("https://api:6443", PROXY | {"NO_PROXY": "api:443"}, "http://proxy:3128", id="another port"),
        pytest.param("https://[fd00::1]:6443", PROXY | {"NO_PROXY": "[fd00::1]:6443"}, "", id="IPv6 and a port"),
        pytest.param("https://[fd00::1]:6443", PROXY | {"NO_PROXY": "fd00::/8"}, "", id="an IPv6 range"),
    ],
)
def test_which_proxy_is_used(server: str, environment: dict[str, str], expected: str) -> None:
    assert proxy_from_environment(server, environment) == expected
