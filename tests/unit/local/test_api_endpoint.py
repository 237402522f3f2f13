"""What clients are told of the entrance to a cluster, and the kubeconfig that leads there."""

from __future__ import annotations

import asyncio
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme

from stowplan.embedded.http.server import ServerOptions
from stowplan.kube import credentials, local_kubeconfig
from stowplan.kube.local_kubeconfig import DEFAULT_PATH, Access
from stowplan.local import api_endpoint
from stowplan.local.api_endpoint import ApiEndpoint, KubeconfigError, notes_on
from stowplan.serving.certificates import self_signed


def endpoint(folder: Path, *pems: bytes) -> ApiEndpoint:
    (folder / "pair.pem").write_bytes(b"".join(pems))
    return ApiEndpoint(certificate=str(folder / "pair.pem"))


def test_a_certificate_without_its_issuer_is_noted(tmp_path: Path) -> None:
    issued = trustme.CA(organization_name="Acme", organization_unit_name="Lab").issue_cert("localhost")
    asked = endpoint(tmp_path, issued.private_key_and_cert_chain_pem.bytes())
    assert notes_on(asked) == [
        f"--cert {tmp_path}/pair.pem: the certificate of OU=Lab,O=Acme is not in it;"
        " add its issuer to --cert, or clients may not trust it"
    ]


def test_with_its_issuer_all_is_well(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost").private_key_and_cert_chain_pem.bytes()
    assert notes_on(endpoint(tmp_path, issued, authority.cert_pem.bytes())) == []


def test_one_that_signed_itself_is_its_own_issuer(tmp_path: Path) -> None:
    assert notes_on(endpoint(tmp_path, *self_signed())) == []


def test_without_tls_there_is_nothing_to_note() -> None:
    assert notes_on(ApiEndpoint()) == []


@pytest.mark.parametrize(
    "access",
    [
        pytest.param(Access("http://127.0.0.1:6443"), id="without credentials"),
        pytest.param(
            Access("https://192.0.2.1:6443", "secret", "pem\n", "a.example", "https://192.0.2.1:10251"),
            id="token and TLS",
        ),
    ],
)
def test_what_is_written_is_read_again(tmp_path: Path, access: Access) -> None:
    path = tmp_path / "deep" / "kubeconfig"
    os.close(api_endpoint.publish_kubeconfig(path, access))
    assert local_kubeconfig.read(path) == access


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    os.close(api_endpoint.publish_kubeconfig(path, Access("http://127.0.0.1:1", "secret")))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["kubeconfig"]


def test_any_client_understands_it(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    os.close(api_endpoint.publish_kubeconfig(path, Access("http://127.0.0.1:6443", "secret")))
    found = asyncio.run(credentials.load(str(path), {}, lambda: datetime.now(UTC)))
    assert found.server == "http://127.0.0.1:6443"
    assert asyncio.run(found.authorization.header()) == "Bearer secret"


def test_the_folder_of_the_default_stays_out_of_repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.close(api_endpoint.publish_kubeconfig(DEFAULT_PATH, Access("http://127.0.0.1:1")))
    assert (tmp_path / ".stowplan" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(None, id="not there"),
        pytest.param("a: b: c", id="no YAML"),
        pytest.param("{}", id="empty"),
        pytest.param(
            "{current-context: kind, clusters: [{name: kind, cluster: {}}], users: [{name: kind}]}", id="another's"
        ),
    ],
)
def test_another_file_is_not_taken_for_ours(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    assert local_kubeconfig.read(path) is None


def test_what_is_published_is_held_until_it_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    held = api_endpoint.publish_kubeconfig(path, Access("http://127.0.0.1:1"))
    with pytest.raises(KubeconfigError, match="leads to a cluster that runs, at http:"):
        api_endpoint.publish_kubeconfig(path, Access("http://127.0.0.1:2"))
    assert local_kubeconfig.read(path) == Access("http://127.0.0.1:1")
    os.close(held)
    os.close(api_endpoint.publish_kubeconfig(path, Access("http://127.0.0.1:2")))
    assert local_kubeconfig.read(path) == Access("http://127.0.0.1:2")
    assert os.listdir(tmp_path) == ["kubeconfig"]


def test_what_cannot_be_written_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    problem = "file/kubeconfig: cannot be written: File exists; name a file that can be with --kubeconfig"
    with pytest.raises(KubeconfigError, match=problem):
        api_endpoint.publish_kubeconfig(tmp_path / "file" / "kubeconfig", Access("http://127.0.0.1:1"))


def test_a_token_is_in_no_description_of_what_holds_it() -> None:
    shown = [
        repr(Access("http://x", "hush")),
        repr(ApiEndpoint(token="hush", admin_token="hush")),
        repr(ServerOptions(token="hush", admin_token="hush")),
    ]
    assert [text for text in shown if "hush" in text or "signing_key" in text] == []


def test_a_new_folder_of_ours_is_closed_from_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    os.close(api_endpoint.publish_kubeconfig(DEFAULT_PATH, Access("http://127.0.0.1:6443")))
    assert (stat.S_IMODE(DEFAULT_PATH.parent.stat().st_mode), caplog.messages) == (0o700, [])
