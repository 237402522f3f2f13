"""What pods ask for is published by pod and resource."""

from msgspec.structs import replace

from stowplan.model.pod import Pod
from stowplan.observe import resource_usage
from stowplan.testing import make_pod


def lines(*pods: Pod) -> set[str]:
    text = resource_usage.pod_resources_text(pods).decode()
    return {line for line in text.splitlines() if not line.startswith("#")}


def test_every_resource_has_its_amount_and_unit() -> None:
    pod = make_pod("web").requests({"cpu": "250m", "memory": "64Mi", "nvidia.com/gpu": "2"}).build()
    whose = 'namespace="default",pod="web",node="",scheduler="default-scheduler",priority="0"'
    assert lines(pod) == {
        f'kube_pod_resource_request{{{whose},resource="cpu",unit="cores"}} 0.25',
        f'kube_pod_resource_request{{{whose},resource="memory",unit="bytes"}} 67108864.0',
        f'kube_pod_resource_request{{{whose},resource="nvidia.com/gpu",unit=""}} 2.0',
    }


def test_a_pod_that_has_ended_on_its_node_is_left_out() -> None:
    pod = make_pod("done").requests(cpu="1").build()
    ended = replace(pod, spec=replace(pod.spec, node_name="n1"), status=replace(pod.status, phase="Succeeded"))
    assert lines(ended) == set()


def test_nothing_asked_for_is_nothing_to_show() -> None:
    assert lines(make_pod("idle").build()) == set()


def test_each_metric_says_what_it_is() -> None:
    found = resource_usage.pod_resources_text([make_pod("web").requests(cpu="1").build()]).decode().splitlines()
    assert found[0].startswith(
        "# HELP kube_pod_resource_request [STABLE] Resources requested by workloads on the cluster,"
    )
    assert found[1] == "# TYPE kube_pod_resource_request gauge"
