"""What pods ask for is published by pod and resource."""

from msgspec.structs import replace

from stowplan.model.pod import Pod
from stowplan.observe.pod_resources import PodResources
from stowplan.testing import make_pod


def lines(*pods: Pod) -> set[str]:
    text = PodResources(lambda: pods).text().decode()
    return {line for line in text.splitlines() if not line.startswith("#")}


def test_every_resource_has_its_amount_and_unit() -> None:
    pod = make_pod("web").requests({"cpu": "250m", "memory": "64Mi", "nvidia.com/gpu": "2"}).build()
    whose = 'namespace="default",node="",pod="web",priority="0"'
    assert lines(pod) == {
        f'kube_pod_resource_request{{{whose},resource="cpu",scheduler="default-scheduler",unit="cores"}} 0.25',
        f'kube_pod_resource_request{{{whose},resource="memory",scheduler="default-scheduler",unit="bytes"}} '
        "6.7108864e+07",
        f'kube_pod_resource_request{{{whose},resource="nvidia.com/gpu",scheduler="default-scheduler",unit=""}} 2.0',
    }


def test_a_pod_that_has_ended_on_its_node_is_left_out() -> None:
    pod = make_pod("done").requests(cpu="1").build()
    ended = replace(pod, spec=replace(pod.spec, node_name="n1"), status=replace(pod.status, phase="Succeeded"))
    assert lines(ended) == set()


def test_nothing_asked_for_is_nothing_to_show() -> None:
    assert lines(make_pod("idle").build()) == set()
