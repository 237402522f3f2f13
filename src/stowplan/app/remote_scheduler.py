"""The way to the scheduler of a live cluster: through its API server to the pod that leads, as the kubeconfig's user.

The API server's proxy to pods would strip what shows who asks. A port-forward carries bytes: TLS is between this
process and the scheduler, which asks the API server about a token, and knows whose client certificates to trust.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from stowplan.app import scheduler_pod
from stowplan.app.clients import USER_AGENT
from stowplan.app.process import now
from stowplan.app.scheduler_pod import QueryError, SchedulerPod
from stowplan.kube import credentials
from stowplan.kube.client import ApiRequest, Client, ClientSettings
from stowplan.kube.errors import FORBIDDEN, NOT_FOUND, ApiError, RequestError
from stowplan.kube.identity import Authorization, Credentials, Fixed, TlsFiles, TokenFile, Trust
from stowplan.kube.port_forward import PortForward

#: For each of the few requests that find a scheduler.
FIND_SECONDS: Final = 15.0
#: The shortest that an API server gives a token.
TOKEN_SECONDS: Final = 600
#: What the certificate is for that a scheduler makes itself.
SERVER_NAME: Final = "localhost"
_UNAUTHORIZED: Final = 401


@dataclass(frozen=True, slots=True)
class Search:
    """Which scheduler is meant, and as whom it is asked; "" leaves it to the kubeconfig and the leases."""

    context: str = ""
    lease: str = ""
    pod: str = ""
    service_account: str = ""
    token_file: str = ""
    authority: str = ""
    server_name: str = ""


@dataclass(frozen=True, slots=True)
class ReachedScheduler:
    """A scheduler in a pod, and how to speak to it."""

    pod: SchedulerPod
    credentials: Credentials
    way: PortForward

    def explain(self, error: RequestError) -> str:
        """Say why a question was not answered, and what to do."""
        if error.path == self.way.path:
            return self._explain_way(error)
        if not isinstance(error, ApiError):
            said = f" ({' '.join(self.way.problem.split())})" if self.way.problem else ""
            remedy = "does it serve on that port?"
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                remedy = "check --certificate-authority and --tls-server-name, or leave both out"
            return f"pod {self.pod}, port {self.pod.port}: {error.describe()}{said}; {remedy}"
        if error.code == NOT_FOUND and not error.reason:
            remedy = "name that of Stowplan with --lease NAMESPACE/NAME, or its pod with --pod NAMESPACE/NAME"
            return f"pod {self.pod}: the scheduler there is no Stowplan, or has no {error.path}; {remedy}"
        if error.code == _UNAUTHORIZED:
            remedy = "is the token still good? Or ask with --as-service-account NAMESPACE/NAME"
            return f"pod {self.pod}: the scheduler does not know who asks ({error.message}); {remedy}"
        if error.code == FORBIDDEN:
            return f"pod {self.pod}: {error.message}; {self._missing(error)}"
        return error.message if error.code == 400 else f"pod {self.pod}: {error.describe()}"

    def _explain_way(self, error: RequestError) -> str:
        if isinstance(error, ApiError):
            right = f"get and create on pods/portforward in namespace {self.pod.namespace}"
            return f"pod {self.pod} cannot be reached: {scheduler_pod.refused(error, right)}"
        return f"pod {self.pod} cannot be reached: {error.describe()}; does `kubectl port-forward` reach it?"

    def _missing(self, error: ApiError) -> str:
        if '"system:anonymous"' in error.message:
            problem = "it takes neither a token nor a client certificate of the kubeconfig"
            return f"{problem}; ask with --as-service-account NAMESPACE/NAME"
        right = f"grant {error.verb.lower()} on nonResourceURLs [{error.path}] in a ClusterRole"
        return right if self.pod.is_labelled else f"{right}, if Stowplan runs there and not kube-scheduler"


@asynccontextmanager
async def reached(kubeconfig: str, search: Search) -> AsyncIterator[ReachedScheduler]:
    """Find the scheduler, and hold the way to it open; raise QueryError or CredentialsError if there is none."""
    if search.service_account and search.token_file:
        raise QueryError("--as-service-account and --token-file: each says who asks; give one of them")
    entry = await credentials.load(kubeconfig, os.environ, now, context=search.context)
    client = Client(entry, ClientSettings(USER_AGENT, qps=-1, timeout_seconds=FIND_SECONDS))
    try:
        pod = await _find(client, search)
        asker = await _asker(client, entry, search)
    finally:
        await client.close()
    way = PortForward(entry, USER_AGENT, (pod.namespace, pod.name), pod.port)
    try:
        yield ReachedScheduler(pod, replace(asker, dial=way.dial), way)
    finally:
        await way.close()


async def _find(client: Client, search: Search) -> SchedulerPod:
    if search.pod and search.lease:
        raise QueryError("--pod and --lease: each says which scheduler is asked; give one of them")
    if search.pod:
        return await scheduler_pod.named(client, search.pod)
    return await scheduler_pod.leading(client, search.lease)


async def _asker(client: Client, entry: Credentials, search: Search) -> Credentials:
    """Return what is shown to the scheduler, and what is expected of it."""
    authorization: Authorization
    shown: Trust | None = None
    if search.service_account:
        authorization = Fixed(f"Bearer {await _token(client, search.service_account)}")
    elif search.token_file:
        authorization = TokenFile(Path(search.token_file))
    elif entry.impersonation:
        raise QueryError(
            "the kubeconfig acts as somebody else (as), which a scheduler does not do; choose another context with"
            " --context, or ask with --as-service-account NAMESPACE/NAME"
        )
    else:
        authorization, shown = entry.authorization, entry.trust
    # What a scheduler shows is signed by itself, unless told otherwise: API server and kubelet vouch for the pod.
    is_insecure = not search.authority
    if shown is not None:
        trust = shown.toward(search.authority, is_insecure=is_insecure)
    else:
        trust = Trust(TlsFiles(authority=search.authority, is_insecure=is_insecure))
    return Credentials(f"https://{SERVER_NAME}", authorization, trust, search.server_name or SERVER_NAME)


async def _token(client: Client, account: str) -> str:
    """Have the API server make a token of a service account that ends soon."""
    namespace, name = scheduler_pod.split(account, "--as-service-account")
    path = f"/api/v1/namespaces/{quote(namespace)}/serviceaccounts/{quote(name)}/token"
    spec = {"expirationSeconds": TOKEN_SECONDS}
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    try:
        answer = json.loads(await client.send(ApiRequest("POST", path, body=json.dumps(asked).encode())))
        return str(answer["status"]["token"])
    except ApiError as error:
        right = f"create on serviceaccounts/token of {name} in namespace {namespace}"
        raise QueryError(f"--as-service-account {account}: {scheduler_pod.refused(error, right)}") from None
    except RequestError as error:
        raise QueryError(f"--as-service-account {account}: {error.describe()}") from None
