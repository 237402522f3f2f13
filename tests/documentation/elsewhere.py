"""What the documentation shows and `make test` cannot run as it stands there: who runs it, or why nobody can.

A line of `COMMANDS` is a command as it begins, the file of the test, and words of that file by which the command is
known there. The first line that fits counts; whatever fits none is run by `test_commands.py`.
"""

from __future__ import annotations

from typing import Final

from tests.documentation.blocks import Block

_UP: Final = "tests/integration/up/test_up.py"
_INSTALL: Final = "tests/e2e/test_install.py"

COMMANDS: Final[tuple[tuple[str, str, str], ...]] = (
    # A cluster that stays up, and who asks it.
    ("stowplan up --once", "tests/integration/up/test_once.py", '"--once"'),
    ("stowplan up --authorization rbac", "tests/integration/up/test_every_flag_acts.py", "rbac"),
    ("stowplan up", _UP, "with running("),
    ("stowplan explain pod", _UP, '"explain", "pod"'),
    ("stowplan queue", _UP, '"queue"'),
    ("stowplan nodes", _UP, '"nodes"'),
    ("stowplan whatif drain node-", "tests/integration/up/test_whatif.py", '"whatif"'),
    ("stowplan snapshot", "tests/integration/up/test_snapshot.py", '"snapshot"'),
    ("stowplan run", "tests/e2e/scheduler_process.py", '"run"'),
    ("stowplan bench compare", "tests/integration/test_bench.py", '"compare"'),
    ("stowplan bench", "tests/integration/test_bench.py", "labels"),
    # This repository.
    ("make run", "tests/integration/test_make.py", 'dry_run("run")'),
    ("make ", "tests/documentation/test_commands.py", "def test_a_target_of_make_is_there"),
    (".venv/bin/pytest", "Makefile", "--plane real-1.36 tests/e2e"),
    ("python -m tests.fuzz.embedded", "tests/fuzz/test_short_run.py", "attack"),
    # A real cluster, or the embedded one with the real kubectl and Helm.
    ("kubectl --kubeconfig .stowplan/kubeconfig get pods", "tests/e2e/test_embedded_everyday.py", '"get"'),
    ("kubectl create rolebinding", "tests/e2e/test_embedded_everyday.py", '"rolebinding"'),
    ("kubectl auth can-i", "tests/e2e/test_embedded_everyday.py", '"can-i"'),
    ("kubectl get sc,pvc,pv", "tests/integration/up/test_volumes_and_claims.py", "standard"),
    ("helm install stowplan", "tests/unit/deploy/test_chart.py", "helm install stowplan deploy/chart/stowplan"),
    ("helm upgrade stowplan", "tests/unit/deploy/test_chart.py", "helm"),
    ("kubectl stowplan why", "tests/e2e/test_remote.py", 'kubectl("stowplan", "why"'),
    ("kubectl stowplan queue", "tests/e2e/test_remote.py", 'kubectl("stowplan", "queue")'),
    ("stowplan explain shop/web-0", "tests/e2e/test_remote.py", "explain"),
    ("sha256sum --check", "tests/unit/release/test_release.py", "SHA256SUMS"),
    ("helm --kubeconfig", "tests/e2e/helm/test_shop.py", "install"),
    ("kubectl apply --server-side --kustomize", _INSTALL, '"--server-side"'),
    ("kubectl delete --kustomize", _INSTALL, '"delete"'),
    ("kubectl run hello", "tests/e2e/test_scheduling.py", "schedulerName"),
    ("curl --insecure", "tests/e2e/access.py", '"/metrics"'),
    ("curl -s http://127.0.0.1:10251/api/stowplan/v1", "tests/integration/web/test_page_of_up.py", "/api/stowplan/v1"),
    ("docker build", "tests/unit/deploy/test_image.py", "Dockerfile"),
)

#: What no machine of ours can run, with the reason.
NOT_RUN: Final[dict[str, str]] = {
    "helm history stowplan": "Helm's own; needs a kubelet for a release that is up",
    "helm rollback stowplan": "Helm's own; needs a kubelet for a release that is up",
    "helm uninstall stowplan": "Helm's own; needs a kubelet for a release that is up",
    "tar --extract": "unpacks what `make release` made",
    "cd stowplan-0.1.0": "goes to what was unpacked",
    "diff dist/SHA256SUMS": "tests/unit/release/test_release.py compares two releases",
    "kubectl --as=jane delete pod web-1": "shows a refusal; tests/e2e has others of the same kind",
    "kubectl --namespace kube-system rollout status": "needs a kubelet that pulls our image",
    "kubectl --namespace kube-system port-forward": "needs a kubelet",
    "kubectl -n kube-system port-forward": "needs a kubelet",
    "kubectl --namespace kube-system logs": "needs a kubelet",
    "kubectl --namespace kube-system get lease": "reads what the tests of leader election read by other means",
    "kubectl describe pod hello": "reads the event that tests/e2e/test_scheduling.py looks for",
    "kubectl create clusterrolebinding scrape-stowplan": "grants what tests/e2e/access.py grants by its API",
    "export PATH=": "has the reader's shell find the program",
    "pip install .": "tests/architecture/test_packaging.py looks at what is installed",
    "kubectl --kubeconfig .stowplan/kubeconfig replace --force": "needs kubectl, and changes what others ask",
    "kubectl get pods --all-namespaces": "lists what waits; field selectors are tried by tests/integration/embedded",
    "kubectl --namespace kube-system get pods --selector": "needs a kubelet",
    "kubectl --namespace kube-system exec POD": "needs a kubelet; tests/e2e/test_image.py starts the same Python",
    "kubectl --namespace kube-system wait --for=delete pod": "needs a kubelet that stops our pods",
    "kubectl --namespace kube-system scale deployment stowplan": "needs a kubelet that stops our pods",
    "sudo cp": "copies a manifest that kubeadm has made",
    "stowplan schedule prod.yaml": "asks about the reader's own cluster, as others ask about examples/cluster.yaml",
    "stowplan explain shop/web-1 prod.yaml": "the same",
    "kubectl create token viewer": "makes a token as tests/e2e/credentials.py does by its API",
}

#: Blocks that are neither commands nor data, by how they begin, with the file that says the same, and words of it.
TEXTS: Final[tuple[tuple[str, str, str], ...]] = (
    ("A cluster of 13 nodes", "src/stowplan/cli/up_views.py", "A cluster of"),
    ("held back default/import", "tests/documentation/test_texts.py", "held back default/import"),
    ('Post "http://gpu:8080/filter": dial tcp', "tests/integration/test_extender_process.py", "connection refused"),
    ("page        http://127.0.0.1:10251/", "tests/integration/web/test_page_of_up.py", "page"),
    ("13 nodes; pods: 2 pending", "tests/integration/up/test_screen.py", "q ends it"),
    ("stowplan --TLS and what shows", "docs/decisions/0035-a-laptop-asks-through-a-port-forward.md", "port-forward"),
    (
        "plugin 'ZoneAffinity' failed in Filter",
        "tests/unit/framework/test_plugin_fault_places.py",
        "failed in Filter for pod",
    ),
    ("utilisation(r) =", "tests/unit/app/test_workbench.py", "utilisation"),
    ("fragmentation(r) =", "tests/unit/app/test_workbench.py", "fragmentation"),
    ("# NNNN: What was decided", "docs/decisions/0001-one-table-no-snapshot.md", "**Decision"),
    ("-    image: YOUR-REGISTRY/kube-scheduler", "tests/unit/deploy/test_image.py", "install.md"),
)

#: Pages whose programs or data a test of their own runs, by page and language.
PAGES: Final[dict[tuple[str, str], str]] = {
    ("README.md", "python"): "tests/integration/test_readme.py",
    ("docs/assertions.md", "yaml"): "tests/integration/test_assertions_page.py",
    ("docs/plugin-development.md", "console"): "tests/integration/test_plugin_page.py",
    ("docs/plugin-guide.md", "python"): "tests/integration/test_plugin_guide.py",
    ("docs/plugin-guide.md", "toml"): "tests/integration/test_plugin_guide.py",
    ("docs/plugin-guide.md", "text"): "tests/integration/test_plugin_guide.py",
    ("docs/troubleshooting.md", "text"): "tests/architecture/test_troubleshooting.py",
    ("docs/whatif.md", "json"): "tests/integration/test_whatif.py",
}


def is_told(block: Block) -> bool:
    """Say whether a block is one of `TEXTS`."""
    return any(block.text.lstrip().startswith(beginning) for beginning, *_ in TEXTS)
