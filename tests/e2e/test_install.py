"""What `deploy/` installs: the server takes it, and Stowplan needs exactly the permissions that it gives."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest
import yaml

from tests.e2e import permissions
from tests.e2e.access import fetch, grant_monitoring, token, wait_until_allowed
from tests.e2e.api import Api, ApiError, Object
from tests.e2e.claim_errands import (
    choose_where_a_volume_is_made,
    clear_a_claim_away,
    give_a_device,
    give_a_volume,
    serve_a_resource,
)
from tests.e2e.errands import lose_an_answer, make_room, place_a_pod, repeat_a_refusal, runs
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node, pod
from tests.e2e.permissions import Permission
from tests.e2e.plane import Plane
from tests.e2e.processes import Process, free_port
from tests.e2e.scheduler_process import USER, SchedulerProcess
from tests.e2e.stage import Stage
from tests.e2e.storekeeper import Storekeeper

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
SECOND, REPLACEMENT = DEPLOY / "overlays" / "second-scheduler", DEPLOY / "overlays" / "replace-default"
PROGRAM = (sys.executable, "-m", "stowplan", "run")
ACCOUNT = "system:serviceaccount:kube-system:stowplan"
TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def installed(plane: Plane) -> Iterator[Path]:
    """Install the second scheduler; return a kubeconfig with a token of its service account."""
    plane.kubectl("apply", "--server-side", "--validate=strict", f"--kustomize={SECOND}")
    try:
        for permission in permissions.granted(roles(plane, SECOND)):
            wait_until_allowed(plane.api, ACCOUNT, permission.attributes())
        yield plane.service_account_kubeconfig("kube-system", "stowplan")
    finally:
        plane.kubectl("delete", "--ignore-not-found", f"--kustomize={SECOND}")


@pytest.mark.parametrize("overlay", [SECOND, REPLACEMENT], ids=["second-scheduler", "replace-default"])
def test_the_server_takes_every_object(plane: Plane, overlay: Path) -> None:
    answer = plane.kubectl(
        *("apply", "--server-side", "--validate=strict", "--dry-run=server", "--force-conflicts", "--output=name"),
        f"--kustomize={overlay}",
    )
    config = next(item["metadata"]["name"] for item in rendered(plane, overlay) if item["kind"] == "ConfigMap")
    assert sorted(answer.split()) == [
        "clusterrole.rbac.authorization.k8s.io/stowplan",
        "clusterrolebinding.rbac.authorization.k8s.io/stowplan",
        f"configmap/{config}",
        "deployment.apps/stowplan",
        "poddisruptionbudget.policy/stowplan",
        "role.rbac.authorization.k8s.io/stowplan",
        "rolebinding.rbac.authorization.k8s.io/stowplan",
        "service/stowplan",
        "serviceaccount/stowplan",
    ]


def test_its_pods_keep_to_the_restricted_standard(plane: Plane, namespace: str) -> None:
    enforced = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    plane.api.patch(f"/api/v1/namespaces/{namespace}", enforced)
    template = next(item for item in rendered(plane, SECOND) if item["kind"] == "Deployment")["spec"]["template"]
    spec = {**template["spec"], "serviceAccountName": "default"}
    path = f"/api/v1/namespaces/{namespace}/pods"

    def create(spec: Object) -> Object:
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stowplan"}, "spec": spec}
        return plane.api.run(plane.api.call("POST", path, body, query={"dryRun": "All"}))

    assert create(spec)["spec"]["priority"] == 2_000_000_000
    with pytest.raises(ApiError, match="violates PodSecurity"):
        create({**spec, "securityContext": {}})


def test_it_needs_its_permissions_and_no_others(
    plane: Plane, kubelets: Kubelets, namespace: str, installed: Path
) -> None:
    kubelets.register([node("plain"), node("tainted", taints=[TAINT])])
    with plane.api_server_with("--feature-gates=WatchList=false"), running(replica(plane, installed, "listing")):
        pass
    with running(replica(plane, installed, "first")) as first, running(replica(plane, installed, "second")):
        place_a_pod(plane.api, namespace)
        repeat_a_refusal(plane.api, namespace)
        make_room(plane.api, namespace)
        have_claims_served(plane.api, namespace)
        if plane.calls_webhooks:
            lose_an_answer(plane.api, namespace)
        plane.create_service_account(namespace, "nobody")
        assert fetch(f"{first.url}/metrics", token(plane, namespace, "nobody"))[0] == 403

    events = [event for event in plane.audit_events() if event["user"]["username"] == ACCOUNT]
    found = permissions.compare(permissions.granted(roles(plane, SECOND)), events)
    # Only after a lost answer, which takes a webhook to bring about, does it ask what became of a pod.
    unused = [] if plane.calls_webhooks else [Permission("", "pods", "get")]
    assert (found.denied, found.uncovered, found.unused) == ([], [], unused)


def test_it_starts_from_the_command_line_of_a_static_pod(plane: Plane, kubelets: Kubelets, namespace: str) -> None:
    # Other tests have this user's requests denied: a server that has just come up knows nobody's rights.
    earlier = sum(1 for _ in plane.audit_events())
    kubelets.register([node("only")])
    plane.api.create(pod(namespace, "web"))
    # Certificates are part of the file, as kubeadm writes it.
    flattened = plane.kubectl("config", "view", "--raw", "--flatten", kubeconfig=plane.user_kubeconfig(USER))
    kubeconfig = plane.folder / "static-pod.kubeconfig"
    kubeconfig.write_text(flattened, encoding="utf-8")
    process = Process([*kube_scheduler_command(), *static_pod_flags(kubeconfig)], plane.folder / "static-pod.log")
    process.start()
    try:
        process.wait_until(lambda: runs(plane.api.get(f"/api/v1/namespaces/{namespace}/pods/web")))
        lease = plane.api.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler")
        assert lease["spec"]["holderIdentity"].startswith(f"{socket.gethostname()}_")
    finally:
        code = process.stop()
    assert code == 0
    answers = [
        (permissions.describe(event), event["responseStatus"].get("code"))
        for event in islice(plane.audit_events(), earlier, None)
        if event["user"]["username"] == USER and event.get("userAgent", "").startswith("stowplan/")
    ]
    assert [answer for answer in answers if answer[1] == 403] == []
    assert (f"create /api/v1/namespaces/{namespace}/pods/web/binding", 201) in answers


def test_metrics_are_for_those_who_may_see_them(plane: Plane, namespace: str, installed: Path) -> None:
    for name in ("nobody", "scraper"):
        plane.create_service_account(namespace, name)
    grant_monitoring(plane, namespace, "scraper")
    with running(replica(plane, installed, "watched")) as scheduler:
        assert {path: fetch(scheduler.url + path)[0] for path in ("/healthz", "/livez", "/readyz")} == {
            "/healthz": 200,
            "/livez": 200,
            "/readyz": 200,
        }
        metrics = f"{scheduler.url}/metrics"
        assert fetch(metrics)[0] == 403
        assert fetch(metrics, "no-such-token")[0] == 401
        assert fetch(metrics, token(plane, namespace, "nobody"))[0] == 403
        status, text = fetch(metrics, token(plane, namespace, "scraper"))
    assert status == 200
    assert "\nscheduler_pending_pods{" in text


@pytest.mark.parametrize("resource", ["nodes", "pods"])
def test_without_pods_or_nodes_it_is_not_ready_and_says_why(
    plane: Plane, kubelets: Kubelets, namespace: str, resource: str
) -> None:
    whole = next(item for item in roles(plane, SECOND) if item["kind"] == "ClusterRole")
    plane.create_service_account(namespace, "short")
    plane.create_service_account(namespace, "scraper")
    plane.api.create({**whole, "metadata": {"name": namespace}, "rules": list(without(resource, whole["rules"]))})
    plane.grant(namespace, "short", namespace)
    grant_monitoring(plane, namespace, "scraper")
    account = f"system:serviceaccount:{namespace}:short"
    wait_until_allowed(plane.api, account, {"verb": "watch", "resource": "namespaces"})
    kubelets.register([node("only")])
    plane.api.create(pod(namespace, "web"))

    kubeconfig = plane.service_account_kubeconfig(namespace, "short")
    scheduler = SchedulerProcess(plane, f"without-{resource}", PROGRAM, kubeconfig)
    scheduler.process.start()
    try:
        scheduler.process.wait_until(lambda: f"{resource} cannot be watched" in scheduler.process.last_words())
        status, text = fetch(f"{scheduler.url}/readyz/sched-handler-sync", token(plane, namespace, "scraper"))
        assert (status, text.rstrip()) == (
            500,
            f"internal server error: handlers are not fully synchronized: {resource} cannot be watched: "
            f'GET /api/v1/{resource}: 403 Forbidden: {resource} is forbidden: User "{account}" cannot watch resource '
            f'"{resource}" in API group "" at the cluster scope; grant list and watch on {resource}',
        )
        assert fetch(f"{scheduler.url}/readyz")[0] == 500
        assert "conditions" not in plane.api.get(f"/api/v1/namespaces/{namespace}/pods/web")["status"]

        rules = {"rules": whole["rules"]}
        plane.api.patch(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{namespace}", rules)
        assert plane.api.wait_for(f"/api/v1/namespaces/{namespace}/pods/web", runs)["spec"]["nodeName"] == "only"
        assert fetch(f"{scheduler.url}/readyz") == (200, "ok")
    finally:
        scheduler.stop()


def have_claims_served(api: Api, namespace: str) -> None:
    storekeeper, stage = Storekeeper(api, namespace), Stage(api, namespace)
    storekeeper.start()
    try:
        give_a_volume(api, stage, namespace)
        choose_where_a_volume_is_made(api, stage, namespace)
        give_a_device(api, stage, namespace)
        serve_a_resource(api, stage, namespace)
        clear_a_claim_away(api, namespace)
    finally:
        storekeeper.stop()
        stage.clear()


def kube_scheduler_command() -> list[str | Path]:
    """Return the image's command of that name, run by the Python that has Stowplan here."""
    return [sys.executable, DEPLOY / "kube-scheduler"]


def static_pod_flags(kubeconfig: Path) -> list[str]:
    """Return the flags that kubeadm gives to kube-scheduler, and a port that is free."""
    return [
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=true",
        f"--secure-port={free_port()}",
    ]


def replica(plane: Plane, kubeconfig: Path, name: str) -> SchedulerProcess:
    """Return a replica with the configuration that is installed."""
    configuration = yaml.safe_load((SECOND / "config.yaml").read_text(encoding="utf-8"))
    return SchedulerProcess(plane, f"replica-{name}", PROGRAM, kubeconfig, configuration)


@contextmanager
def running(scheduler: SchedulerProcess) -> Iterator[SchedulerProcess]:
    try:
        scheduler.start()
        yield scheduler
    finally:
        scheduler.stop()


def rendered(plane: Plane, overlay: Path) -> list[Object]:
    """Return what an overlay installs."""
    return list(yaml.safe_load_all(plane.kubectl("kustomize", str(overlay))))


def roles(plane: Plane, overlay: Path) -> list[Object]:
    return [item for item in rendered(plane, overlay) if item["kind"] in ("ClusterRole", "Role")]


def without(resource: str, rules: list[Object]) -> Iterator[Object]:
    """Leave a resource out of rules."""
    for rule in rules:
        left = [one for one in rule["resources"] if one != resource]
        if left:
            yield {**rule, "resources": left}
