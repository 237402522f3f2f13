"""Finds the pod of the scheduler that leads: by the lease that it holds, or by name.

The holder of a lease is called after the host where it runs, which is the pod; with the network of the node it is the
node. `remote_scheduler.py` makes the way there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from stowplan.kube.client import ApiRequest, Client
from stowplan.kube.errors import ApiError, RequestError

T = TypeVar("T")

#: Where a Stowplan beside kube-scheduler leads, then one in its place.
LEASES: Final = ("kube-system/stowplan", "kube-system/kube-scheduler")
DEFAULT_PORT: Final = 10259
_LABEL: Final = ("app.kubernetes.io/name", "stowplan")
_UPSTREAM: Final = "kube-scheduler"
#: What kubelets cut the name of a host to.
_LONGEST_HOST: Final = 63
_UNAUTHORIZED: Final = 401


class QueryError(Exception):
    """A scheduler could not be found or asked; the text says which and what to do."""


class _Renamed(msgspec.Struct, frozen=True, rename="camel"):
    """Objects of the API, as far as they are looked at here."""


class _LeaseSpec(_Renamed, frozen=True):
    holder_identity: str | None = None


class _Lease(_Renamed, frozen=True):
    spec: _LeaseSpec = _LeaseSpec()


class _Port(_Renamed, frozen=True):
    name: str = ""
    container_port: int = 0


class _Container(_Renamed, frozen=True):
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    ports: tuple[_Port, ...] = ()


class _Spec(_Renamed, frozen=True):
    containers: tuple[_Container, ...] = ()
    hostname: str = ""
    host_network: bool = False
    node_name: str = ""


class _Meta(_Renamed, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}
    deletion_timestamp: str | None = None


class _Status(_Renamed, frozen=True):
    phase: str = ""


class _Pod(_Renamed, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Pods(_Renamed, frozen=True):
    items: tuple[_Pod, ...] = ()


@dataclass(frozen=True, slots=True)
class SchedulerPod:
    """Where a scheduler runs."""

    namespace: str
    name: str
    port: int
    #: Whether it carries Stowplan's label; in the static pod of kube-scheduler it need not.
    is_labelled: bool

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


async def named(client: Client, key: str) -> SchedulerPod:
    """Return the pod of a name; raise QueryError if there is none that runs."""
    namespace, name = split(key, "--pod")
    path = _path(namespace, name)
    pod = await _get(client, _Pod, path, f"get on pods in namespace {namespace}")
    if pod is None:
        raise QueryError(f"pod {key}: there is none; `kubectl --namespace {namespace} get pods` shows those that are")
    if problem := _why_not_running(pod):
        raise QueryError(f"pod {key} {problem}; name one that runs")
    return _found(pod)


async def leading(client: Client, lease: str) -> SchedulerPod:
    """Return the pod that holds a lease, by default one of `LEASES`; raise QueryError if none does."""
    problems = []
    for key in (lease,) if lease else LEASES:
        namespace, name = split(key, "--lease")
        try:
            return await _holder(client, namespace, name)
        except _NotThisError as problem:
            problems.append(f"lease {key}: {problem}")
    other = "" if lease else "; name another lease with --lease NAMESPACE/NAME"
    remedy = "or the pod with --pod NAMESPACE/NAME, or the address of a scheduler outside of pods with --server"
    raise QueryError(f"no scheduler to ask: {'; '.join(problems)}{other or '; name another one'}, {remedy}")


def split(key: str, option: str) -> tuple[str, str]:
    """Take NAMESPACE/NAME apart; raise QueryError if it is not written so."""
    namespace, slash, name = key.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise QueryError(f"{option} {key}: write NAMESPACE/NAME")
    return namespace, name


class _NotThisError(Exception):
    """A lease does not lead to a scheduler; the text says why."""


async def _holder(client: Client, namespace: str, name: str) -> SchedulerPod:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{quote(namespace)}/leases/{quote(name)}"
    right = f"get on leases (coordination.k8s.io) in namespace {namespace}"
    lease = await _get(client, _Lease, path, right)
    if lease is None:
        raise _NotThisError("there is none")
    identity = lease.spec.holder_identity or ""
    if not identity:
        raise _NotThisError("nobody holds it, so nobody leads at the moment")
    host = identity.rpartition("_")[0] or identity
    pod = await _pod_of(client, namespace, host)
    if pod is None:
        raise _NotThisError(f"{identity} holds it, but no pod in namespace {namespace} is called so")
    if problem := _why_not_running(pod):
        raise _NotThisError(f"pod {namespace}/{pod.metadata.name} holds it and {problem}")
    if not _is_labelled(pod) and (image := _upstream_image(pod)):
        who = f"pod {namespace}/{pod.metadata.name}"
        raise _NotThisError(f"{who} holds it, which runs {image}: kube-scheduler itself, which cannot be asked")
    return _found(pod)


async def _pod_of(client: Client, namespace: str, host: str) -> _Pod | None:
    """Return the pod of a host's name: called so, in the static pod of a node, or any with the label."""
    right = f"get and list on pods in namespace {namespace}"
    for name, is_node in ((host, False), (f"{_UPSTREAM}-{host}", True)):
        pod = await _get(client, _Pod, _path(namespace, name), right)
        if pod is not None and pod.spec.host_network is is_node:
            return pod
    query = {"labelSelector": "=".join(_LABEL)}
    pods = await _get(client, _Pods, _path(namespace), right, query)
    return next((pod for pod in pods.items if host in _hosts(pod)), None) if pods is not None else None


def _hosts(pod: _Pod) -> Sequence[str]:
    """Return what the host of a pod may be called, from within."""
    if pod.spec.host_network:
        return (pod.spec.node_name,)
    return (pod.spec.hostname or pod.metadata.name[:_LONGEST_HOST].rstrip("-."),)


def _why_not_running(pod: _Pod) -> str:
    if pod.metadata.deletion_timestamp:
        return "is being deleted"
    return "" if pod.status.phase == "Running" else f"is {pod.status.phase or 'not started'}, not Running"


def _found(pod: _Pod) -> SchedulerPod:
    port = next(_ports(pod), DEFAULT_PORT)
    return SchedulerPod(pod.metadata.namespace, pod.metadata.name, port, _is_labelled(pod))


def _ports(pod: _Pod) -> Iterator[int]:
    """Yield where a scheduler serves its pages: as its flags say, then as the pod does."""
    for container in pod.spec.containers:
        for word in (*container.command, *container.args):
            name, _, value = word.partition("=")
            if name == "--secure-port" and value.isdigit():
                yield int(value)
    for container in pod.spec.containers:
        yield from (port.container_port for port in container.ports if port.name == "https")


def _is_labelled(pod: _Pod) -> bool:
    name, value = _LABEL
    return pod.metadata.labels.get(name) == value


def _upstream_image(pod: _Pod) -> str:
    """Return the image if it is that of kube-scheduler by its name."""
    images = (container.image for container in pod.spec.containers)
    return next((image for image in images if image.rpartition("/")[2].startswith(_UPSTREAM)), "")


def _path(namespace: str, name: str = "") -> str:
    pods = f"/api/v1/namespaces/{quote(namespace)}/pods"
    return f"{pods}/{quote(name)}" if name else pods


async def _get(
    client: Client, kind: type[T], path: str, right: str, parameters: dict[str, str] | None = None
) -> T | None:
    """Return an object, None if there is none; raise QueryError if the API server does not say."""
    try:
        return msgspec.json.decode(await client.send(ApiRequest("GET", path, parameters or {})), type=kind)
    except ApiError as error:
        if error.is_not_found:
            return None
        raise QueryError(refused(error, right)) from None
    except RequestError as error:
        raise QueryError(f"{error.describe()}; does the kubeconfig lead to the API server of a cluster?") from None
    except msgspec.DecodeError as error:
        raise QueryError(f"GET {path}: {error}; does the kubeconfig lead to the API server of a cluster?") from None


def refused(error: ApiError, right: str) -> str:
    """Say what an API server refused, and which right is missing."""
    if error.is_forbidden:
        return f"{error.message}; grant {right}"
    if error.code == _UNAUTHORIZED:
        return f"{error.describe()}; the API server does not know who asks: renew what the kubeconfig shows"
    return error.describe()
