"""What the two Pod Security Standards refuse, in the words of kube-apiserver 1.36."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.admission.chain import warnings
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api
from tests.unit.embedded.admission.doorstep import change, create, new_api, refusal_of_change, refusal_of_new
from tests.unit.embedded.given import CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, PODS, resource

HARDENED: Object = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
UNCONFINED = {"type": "Unconfined"}
LABEL = "pod-security.kubernetes.io"
EMPTY_BROKEN = (
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), '
    'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), '
    'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), '
    'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" '
    'or "Localhost")'
)


def container(name: str = "c", context: Object | None = None, **fields: Any) -> Object:
    """A container; hardened unless it says something else."""
    return {"name": name, "image": "i", "securityContext": HARDENED if context is None else context, **fields}


def hardened(**context: Any) -> Object:
    return container(context={**HARDENED, **context})


def pod(*containers: Object, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    metadata = {"name": "x", **({"annotations": annotations} if annotations else {})}
    return {"metadata": metadata, "spec": {"containers": list(containers or (container(),)), **spec}}


def held_to(level: str, **labels: str) -> Api:
    """An API whose default namespace enforces a standard."""
    api = new_api()
    given = {"enforce": level, **{name.replace("_", "-"): value for name, value in labels.items()}}
    change(api, NAMESPACES, "default", {"metadata": {"labels": {f"{LABEL}/{key}": v for key, v in given.items()}}})
    return api


BASELINE = [
    pytest.param(
        pod(hostNetwork=True, hostPID=True, hostIPC=True),
        "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
        id="namespaces of the node",
    ),
    pytest.param(
        pod(
            container("a", ports=[{"containerPort": 80, "hostPort": 80}, {"containerPort": 8, "hostPort": 9}]),
            container("b", ports=[{"containerPort": 80, "hostPort": 8080}]),
        ),
        'hostPort (containers "a", "b" use hostPorts 80, 8080, 9)',
        id="ports of the node",
    ),
    pytest.param(
        pod(container("a", ports=[{"containerPort": 80, "hostPort": 80}])),
        'hostPort (container "a" uses hostPort 80)',
        id="one port of the node",
    ),
    pytest.param(
        pod(hardened(seccompProfile=UNCONFINED)),
        'seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
        id="no seccomp",
    ),
    pytest.param(
        pod(
            container("a", {**HARDENED, "seccompProfile": UNCONFINED}),
            container("b", {**HARDENED, "seccompProfile": {"type": "Localhost", "localhostProfile": "p"}}),
            securityContext={"seccompProfile": UNCONFINED},
        ),
        'seccompProfile (pod and container "a" must not set securityContext.seccompProfile.type to "Unconfined")',
        id="no seccomp for a pod and a container",
    ),
    pytest.param(
        pod(
            container("a", {**HARDENED, "seLinuxOptions": {"type": "t2", "user": "u", "role": "r"}}),
            container("b", {**HARDENED, "seLinuxOptions": {"type": "t2"}}),
            securityContext={"seLinuxOptions": {"type": "t1"}},
        ),
        'seLinuxOptions (pod and containers "a", "b" set forbidden securityContext.seLinuxOptions: types "t1", "t2"; '
        "user may not be set; role may not be set)",
        id="selinux of another kind",
    ),
    pytest.param(
        pod(hardened(seLinuxOptions={"user": "u"})),
        'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: user may not be set)',
        id="a selinux user",
    ),
    pytest.param(
        pod(
            securityContext={
                "sysctls": [
                    {"name": "kernel.msgmax", "value": "1"},
                    {"name": "net.ipv4.tcp_rmem", "value": "1"},
                    {"name": "net.core.somaxconn", "value": "1"},
                ]
            }
        ),
        "forbidden sysctls (kernel.msgmax, net.core.somaxconn)",
        id="sysctls that reach further than the pod",
    ),
    pytest.param(
        pod(hardened(appArmorProfile=UNCONFINED), securityContext={"appArmorProfile": UNCONFINED}),
        'forbidden AppArmor profile (pod and container "c" must not set AppArmor profile type to "Unconfined")',
        id="no apparmor",
    ),
    pytest.param(
        pod(
            hardened(appArmorProfile=UNCONFINED),
            annotations={"container.apparmor.security.beta.kubernetes.io/c": "unconfined"},
        ),
        'forbidden AppArmor profiles (container "c" and annotation must not set AppArmor profile type to "Unconfined", '
        '"container.apparmor.security.beta.kubernetes.io/c="unconfined"")',
        id="no apparmor by an annotation, too",
    ),
    pytest.param(
        pod(
            container("b", lifecycle={"preStop": {"httpGet": {"port": 1, "host": "h"}}}),
            container("a", startupProbe={"tcpSocket": {"port": 1, "host": "h"}}),
        ),
        'probe or lifecycle host (containers "a", "b" use probe or lifecycle host "h")',
        id="probes of others",
    ),
]
RESTRICTED = [
    pytest.param(pod(container(context={})), EMPTY_BROKEN, id="a pod that says nothing"),
    pytest.param(
        pod(volumes=[{"name": "v", "nfs": {"path": "/", "server": "s"}}, {"name": "h", "hostPath": {"path": "/"}}]),
        'restricted volume types (volumes "v", "h" use restricted volume types "hostPath", "nfs")',
        id="volumes of the node and the network",
    ),
    pytest.param(
        pod(hardened(capabilities={"add": ["KILL"]})),
        'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]; '
        'container "c" must not include "KILL" in securityContext.capabilities.add)',
        id="capabilities",
    ),
    pytest.param(
        pod(
            container("a", {**HARDENED, "runAsNonRoot": False}),
            container("b", {**HARDENED, "runAsNonRoot": False}),
            securityContext={"runAsNonRoot": False},
        ),
        'runAsNonRoot != true (pod and containers "a", "b" must not set securityContext.runAsNonRoot=false)',
        id="root is allowed",
    ),
    pytest.param(
        pod(hardened(runAsUser=0), securityContext={"runAsUser": 0}),
        'runAsUser=0 (pod and container "c" must not set runAsUser=0)',
        id="root",
    ),
    pytest.param(
        pod(hardened(procMount="Unmasked"), hostUsers=False),
        'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
        id="an unmasked proc, even with users of its own",
    ),
    pytest.param(
        pod(container("c", {}), os={"name": "windows"}),
        'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
        id="windows has less to say",
    ),
    pytest.param(
        pod(initContainers=[container("i", {**HARDENED, "allowPrivilegeEscalation": True})]),
        'allowPrivilegeEscalation != false (container "i" must set securityContext.allowPrivilegeEscalation=false)',
        id="an init container counts",
    ),
    pytest.param(
        pod(hardened(privileged=True, allowPrivilegeEscalation=None)),
        'privileged (container "c" must not set securityContext.privileged=true), '
        'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)',
        id="a privileged container, which always may become more",
    ),
]
ONLY_BASELINE = [
    pytest.param(
        pod(hardened(privileged=True, allowPrivilegeEscalation=None)),
        'privileged (container "c" must not set securityContext.privileged=true)',
        id="a privileged container",
    ),
    pytest.param(
        pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}, {"name": "w", "hostPath": {"path": "/x"}}]),
        'hostPath volumes (volumes "v", "w")',
        id="volumes of the node",
    ),
    pytest.param(
        pod(hardened(capabilities={"add": ["NET_RAW", "CHOWN"]})),
        'non-default capabilities (container "c" must not include "NET_RAW" in securityContext.capabilities.add)',
        id="further capabilities",
    ),
]


def refusal(level: str, body: Object, **labels: str) -> str:
    error = refusal_of_new(held_to(level, **labels), PODS, body)
    assert (error.code, error.reason) == (403, "Forbidden")
    return error.message


@pytest.mark.parametrize(("body", "broken"), [*BASELINE, *ONLY_BASELINE])
def test_the_baseline_standard_refuses(body: Object, broken: str) -> None:
    assert refusal("baseline", body) == f'pods "x" is forbidden: violates PodSecurity "baseline:latest": {broken}'


@pytest.mark.parametrize(("body", "broken"), [*BASELINE, *RESTRICTED])
def test_the_restricted_standard_refuses(body: Object, broken: str) -> None:
    assert refusal("restricted", body) == f'pods "x" is forbidden: violates PodSecurity "restricted:latest": {broken}'


@pytest.mark.parametrize(
    ("level", "body"),
    [
        pytest.param("restricted", pod(), id="a hardened pod"),
        pytest.param(
            "restricted",
            pod(
                container("c", {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}),
                securityContext={"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            ),
            id="what the pod says counts for its containers",
        ),
        pytest.param(
            "restricted", pod(hardened(runAsUser=0, runAsNonRoot=False), hostUsers=False), id="root among its own users"
        ),
        pytest.param(
            "restricted",
            pod(hardened(capabilities={"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]})),
            id="a low port",
        ),
        pytest.param("baseline", pod(container(context={})), id="a pod that says nothing, to the baseline"),
        pytest.param("baseline", pod(hardened(procMount="Unmasked"), hostUsers=False), id="its own users, unmasked"),
        pytest.param(
            "privileged",
            pod(hardened(privileged=True, allowPrivilegeEscalation=None), hostNetwork=True),
            id="everything, to the privileged",
        ),
    ],
)
def test_a_pod_that_keeps_to_the_standard_comes_in(level: str, body: Object) -> None:
    assert create(held_to(level), PODS, body)["metadata"]["name"] == "x"


def test_a_namespace_without_labels_is_held_to_nothing() -> None:
    assert (
        create(new_api(), PODS, pod(hardened(privileged=True, allowPrivilegeEscalation=None), hostNetwork=True))[
            "metadata"
        ]["name"]
        == "x"
    )


def test_the_version_is_shown() -> None:
    message = refusal("baseline", pod(hostPID=True), enforce_version="v1.36")
    assert message == 'pods "x" is forbidden: violates PodSecurity "baseline:v1.36": host namespaces (hostPID=true)'


@pytest.mark.parametrize(
    ("label", "value", "problem"),
    [
        pytest.param("enforce", "strict", "must be one of privileged, baseline, restricted", id="a level"),
        pytest.param("audit", "", "must be one of privileged, baseline, restricted", id="no level"),
        pytest.param("warn-version", "1.36", 'must be "latest" or "v1.x"', id="a version"),
    ],
)
def test_labels_that_nobody_understands_are_refused(label: str, value: str, problem: str) -> None:
    labels = {"metadata": {"labels": {f"{LABEL}/{label}": value}}}
    error = refusal_of_change(new_api(), NAMESPACES, "default", labels)
    detail = f'metadata.labels[{LABEL}/{label}]: Invalid value: "{value}": {problem}'
    assert (error.code, error.message) == (422, f'Namespace "default" is invalid: {detail}')


def deployment(*containers: Object) -> Object:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod(*containers)["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}


def cron_job(*containers: Object) -> Object:
    job = {"template": {"spec": {**pod(*containers)["spec"], "restartPolicy": "Never"}}}
    return {"metadata": {"name": "web", "namespace": "default"}, "spec": {"jobTemplate": {"spec": job}}}


def test_whoever_makes_a_workload_is_warned() -> None:
    warned = f'would violate PodSecurity "restricted:latest": {EMPTY_BROKEN}'
    jobs = resource("cronjobs.batch")
    only_warned = held_to("privileged", warn="restricted")
    in_place = {**pod(container(context={})), "metadata": {"name": "x", "namespace": "default"}}

    assert list(warnings(DEPLOYMENTS, deployment(container(context={})), None, only_warned)) == [warned]
    assert list(warnings(DEPLOYMENTS, deployment(container(context={})), None, held_to("restricted"))) == [warned]
    assert list(warnings(jobs, cron_job(container(context={})), None, only_warned)) == [warned]
    assert list(warnings(PODS, in_place, None, only_warned)) == [warned]
    assert list(warnings(DEPLOYMENTS, deployment(), None, only_warned)) == []
    assert list(warnings(DEPLOYMENTS, deployment(container(context={})), None, new_api())) == []
    assert list(warnings(CONFIG_MAPS, {"metadata": {"name": "m", "namespace": "default"}}, None, only_warned)) == []


def test_whoever_tightens_a_namespace_hears_of_pods_that_are_there() -> None:
    api = new_api()
    for name in ("b", "a"):
        create(api, PODS, {**pod(container(context={})), "metadata": {"name": name}})
    create(api, PODS, {**pod(hostPID=True), "metadata": {"name": "c"}})
    before = api.get(NAMESPACES, "", "default")
    after = {**before, "metadata": {**before["metadata"], "labels": {f"{LABEL}/enforce": "restricted"}}}

    reasons = "allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile"
    assert list(warnings(NAMESPACES, after, before, api)) == [
        'existing pods in namespace "default" violate the new PodSecurity enforce level "restricted:latest"',
        f"a (and 1 other pod): {reasons}",
        "c: host namespaces",
    ]
    assert list(warnings(NAMESPACES, after, after, api)) == []
