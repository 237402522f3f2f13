"""`stowplan bench` from end to end: a small benchmark is read, run through the whole flow, measured and told of."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stowplan.cli import main

POD = """
apiVersion: v1
kind: Pod
metadata: {generateName: pod-, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 0
  priority: %d
  containers: [{name: c, image: i, resources: {requests: {cpu: "%s"}}}]
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: "node-{{.Index}}"%s}
status: {capacity: {cpu: 4, pods: 110}}
"""
DEVICES = "{devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}"
TEMPLATES = {
    "node.yaml": NODE % "",
    "ready.yaml": NODE % ", labels: {ready: 'yes'}",
    "small.yaml": POD % (0, "500m"),
    "large.yaml": POD % (0, "5"),
    "urgent.yaml": POD % (10, "3"),
    "gated.yaml": POD % (0, "1") + "  schedulingGates: [{name: example.com/wait}]\n",
    "named.yaml": """
apiVersion: v1
kind: Pod
metadata: {name: "p-{{.Index}}"}
spec: {containers: [{name: c, image: i}], nodeSelector: {ready: "yes"}}
""",
    "pv.yaml": """
apiVersion: v1
kind: PersistentVolume
spec: {accessModes: [ReadOnlyMany], capacity: {storage: 1Gi}, csi: {driver: disk.example.com}}
""",
    "pvc.yaml": """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {annotations: {pv.kubernetes.io/bind-completed: "true"}}
spec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 1Gi}}}
""",
    "class.yaml": """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
""",
    # A server takes older versions of an API, too.
    "claims.yaml": f"""
apiVersion: resource.k8s.io/v1beta2
kind: ResourceClaimTemplate
metadata: {{name: one}}
spec: {{spec: {DEVICES}}}
""",
    "claim.yaml": f"""
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: "taken-{{{{.Index}}}}"}}
spec: {DEVICES}
""",
    "device-pod.yaml": """
apiVersion: v1
kind: Pod
metadata: {generateName: dev-}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: r}]}}]
  resourceClaims: [{name: r, resourceClaimTemplateName: one}]
""",
}
NODES = "  - {opcode: createNodes, countParam: $nodes, nodeTemplatePath: node.yaml%s}\n"
MEASURED = "  - {opcode: createPods, countParam: $pods, podTemplatePath: %s, collectMetrics: true%s}\n"


def bench(directory: Path, steps: str, params: str, *arguments: str, more: str = "") -> Result:
    """Run one workload of the given steps."""
    for name, text in TEMPLATES.items():
        (directory / name).write_text(text, encoding="utf-8")
    case = f"- name: Case\n  workloadTemplate:\n{steps}  workloads:\n  - name: w\n    params: {params}\n{more}"
    (directory / "performance-config.yaml").write_text(case, encoding="utf-8")
    return CliRunner().invoke(main, ["bench", str(directory), *arguments])


def measured(result: Result) -> dict[str, dict[str, Any]]:
    """Return what was measured by metric, of a run that ended well; of several label values the first."""
    assert result.exit_code == 0, result.stderr
    found: dict[str, dict[str, Any]] = {}
    for item in json.loads(result.stdout)["dataItems"]:
        found.setdefault(item["labels"]["Metric"], item)
    return found


def told(result: Result) -> Any:
    (found,) = json.loads(result.stdout)["stowplan"]["workloads"]
    return found


def test_pods_are_scheduled_by_the_whole_flow_and_measured(tmp_path: Path) -> None:
    steps = (
        NODES % ""
        + "  - {opcode: createPods, countParam: $before, podTemplatePath: small.yaml}\n"
        + MEASURED % ("small.yaml", "")
    )
    result = bench(tmp_path, steps, "{nodes: 10, before: 20, pods: 40}", "-o", "json")
    found = measured(result)
    throughput = found["SchedulingThroughput"]
    assert throughput["labels"]["Name"] == "BenchmarkPerfScheduling/Case/w/namespace-2"
    assert throughput["unit"] == "pods/s"
    assert set(throughput["data"]) == {"Average", "Perc50", "Perc90", "Perc95", "Perc99"}
    assert throughput["data"]["Average"] > 0
    for name in (
        "scheduler_scheduling_attempt_duration_seconds",
        "scheduler_scheduling_algorithm_duration_seconds",
        "scheduler_framework_extension_point_duration_seconds",
        "scheduler_event_handling_duration_seconds",
        "CPUTimePerPod",
        "PeakMemory",
    ):
        assert all(value >= 0 for value in found[name]["data"].values()), name
    # An event was written for each of all pods, and the 40 pods that were measured are 40.
    assert (told(result)["pods"], told(result)["events"]) == ([40], 60)


def test_the_histograms_count_only_what_is_measured(tmp_path: Path) -> None:
    steps = NODES % "" + "  - {opcode: createPods, count: 3, podTemplatePath: large.yaml, skipWaitToCompletion: true}\n"
    steps += "  - {opcode: barrier, stageRequirement: Attempted}\n" + MEASURED % ("small.yaml", "")
    result = bench(tmp_path, steps, "{nodes: 3, pods: 5}", "-o", "json")
    assert result.exit_code == 0, result.stderr
    items = json.loads(result.stdout)["dataItems"]
    attempts = [one for one in items if one["labels"]["Metric"] == "scheduler_scheduling_attempt_duration_seconds"]
    assert [one["labels"]["result"] for one in attempts] == ["scheduled"]


def test_room_is_made_for_urgent_pods(tmp_path: Path) -> None:
    steps = (
        NODES % ""
        + "  - {opcode: createPods, count: 16, podTemplatePath: small.yaml}\n"
        + MEASURED % ("urgent.yaml", "")
    )
    result = bench(tmp_path, steps, "{nodes: 2, pods: 2}", "-o", "json")
    assert result.exit_code == 0, result.stderr
    assert told(result)["pods"] == [2]


def test_pods_with_volumes_get_a_bound_one_each(tmp_path: Path) -> None:
    limits = ", nodeAllocatableStrategy: {csiNodeAllocatable: {disk.example.com: {count: 2}}}"
    volumes = ", persistentVolumeTemplatePath: pv.yaml, persistentVolumeClaimTemplatePath: pvc.yaml"
    steps = NODES % limits + MEASURED % ("small.yaml", volumes)
    assert told(bench(tmp_path, steps, "{nodes: 3, pods: 6}", "-o", "json"))["pods"] == [6]


def test_more_volumes_than_nodes_take_are_not_scheduled(tmp_path: Path) -> None:
    limits = ", nodeAllocatableStrategy: {csiNodeAllocatable: {disk.example.com: {count: 2}}}"
    volumes = ", persistentVolumeTemplatePath: pv.yaml, persistentVolumeClaimTemplatePath: pvc.yaml"
    steps = NODES % limits + MEASURED % ("small.yaml", volumes)
    result = bench(tmp_path, steps, "{nodes: 3, pods: 7}", "--timeout", "0.5")
    assert result.exit_code == 1
    assert re.search(
        r"Case/w: operation 1 \(createPods\): namespace-1: 6 of 7 pods .* exceed max volume count", result.stderr
    )


def test_claims_are_made_from_templates_and_devices_given(tmp_path: Path) -> None:
    steps = (
        NODES % ""
        + """\
  - {opcode: createResourceDriver, driverName: gpu.example.com, nodes: node-*, maxClaimsPerNodeParam: $devices}
  - {opcode: createAny, templatePath: class.yaml}
  - {opcode: createAny, templatePath: claim.yaml, namespace: test, countParam: $taken}
  - {opcode: allocResourceClaims, namespace: test}
  - {opcode: createAny, templatePath: claims.yaml, namespace: test}
  - {opcode: createPods, namespace: test, countParam: $pods, podTemplatePath: device-pod.yaml, collectMetrics: true}
"""
    )
    result = bench(tmp_path, steps, "{nodes: 2, devices: 3, taken: 2, pods: 4}", "-o", "json")
    assert result.exit_code == 0, result.stderr
    assert told(result)["pods"] == [4]
    # With two of six devices taken, a fifth pod finds none.
    short = bench(tmp_path, steps, "{nodes: 2, devices: 3, taken: 2, pods: 5}", "--timeout", "0.5")
    assert re.search(r"4 of 5 pods .*cannot allocate all claims", short.stderr)


def test_nodes_are_updated_until_pods_fit_and_barriers_wait_for_them(tmp_path: Path) -> None:
    steps = (
        NODES % ""
        + """\
  - {opcode: startCollectingMetrics, name: waiting, namespaces: [ns]}
  - {opcode: createPods, countParam: $pods, podTemplatePath: named.yaml, namespace: ns, skipWaitToCompletion: true}
  - {opcode: barrier, stageRequirement: Attempted}
  - {opcode: updateAny, templatePath: ready.yaml, countParam: $nodes}
  - {opcode: barrier, namespaces: [ns]}
  - {opcode: stopCollectingMetrics}
"""
    )
    result = bench(tmp_path, steps, "{nodes: 2, pods: 3}", "-o", "json")
    assert measured(result)["SchedulingDuration"]["labels"]["Name"] == "BenchmarkPerfScheduling/Case/w/waiting"
    assert told(result)["pods"] == [3]


def test_churn_deletions_sets_and_sleep_go_on_beside_the_pods(tmp_path: Path) -> None:
    steps = NODES % "" + """\
  - {opcode: createNamespaces, prefix: ns, count: 2}
  - {opcode: churn, mode: create, number: 2, intervalMilliseconds: 1, templatePaths: [gated.yaml]}
  - {opcode: churn, mode: recreate, number: 1, intervalMilliseconds: 1, templatePaths: [gated.yaml, small.yaml]}
  - {opcode: createPodSets, count: 2, namespacePrefix: ns, createPodsOp: {opcode: createPods, count: 3,
     podTemplatePath: small.yaml}}
  - {opcode: sleep, duration: 20ms}
  - {opcode: deletePods, namespace: ns-0, labelSelector: {app: web}}
  - {opcode: deletePods, namespace: ns-1, deletePodsPerSecond: 1000, skipWaitToCompletion: true}
""" + MEASURED % ("small.yaml", "")  # fmt: skip
    result = bench(tmp_path, steps, "{nodes: 4, pods: 10}", "-o", "json")
    assert result.exit_code == 0, result.stderr
    assert told(result)["pods"] == [10]


def test_a_steady_state_replaces_each_pod_that_is_scheduled(tmp_path: Path) -> None:
    steps = NODES % "" + MEASURED % ("small.yaml", ", steadyState: true, durationParam: $time")
    result = bench(tmp_path, steps, "{nodes: 1, pods: 4, time: 200ms}", "-o", "json")
    assert result.exit_code == 0, result.stderr
    # Eight fit on the node at a time; more were scheduled one after another.
    assert told(result)["pods"][0] > 8


@pytest.mark.parametrize(
    ("threshold", "flags", "exit_code"),
    [
        pytest.param(1, ("--check-thresholds",), 0, id="one that is reached"),
        pytest.param(10_000_000, (), 0, id="one that is not reached, and nobody asks"),
        pytest.param(10_000_000, ("--check-thresholds",), 1, id="one that is not reached"),
    ],
)
def test_thresholds_are_checked_if_asked(
    tmp_path: Path, threshold: int, flags: tuple[str, ...], exit_code: int
) -> None:
    steps = NODES % "" + MEASURED % ("small.yaml", "")
    result = bench(tmp_path, steps, "{nodes: 5, pods: 20}", *flags, more=f"    threshold: {threshold}\n")
    assert result.exit_code == exit_code
    assert ("below its threshold" in result.stderr) == (threshold > 1)
    heading, row = result.stdout.splitlines()
    assert heading.split()[:3] == ["workload", "pods", "pods/s"]
    assert row.split()[:2] == ["Case/w", "20"]


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        pytest.param(
            NODES % "" + MEASURED % ("node.yaml", ""), "the template is a Node, and has to be a Pod", id="no pod"
        ),
        pytest.param(
            NODES % "" + NODES % "" + MEASURED % ("small.yaml", ""),
            'operation 1 .*Node "node-0" already exists',
            id="a node twice",
        ),
        pytest.param(
            NODES % ""
            + "  - {opcode: createAny, templatePath: class.yaml, namespace: ns}\n"
            + MEASURED % ("small.yaml", ""),
            "a DeviceClass is in no namespace, and one is given",
            id="a namespace too many",
        ),
        pytest.param(
            NODES % "" + MEASURED % ("device-pod.yaml", ""),
            "asks for the claim template .*, which is not there",
            id="a claim template that is not there",
        ),
    ],
)
def test_a_workload_that_cannot_be_run_is_named_with_its_reason(tmp_path: Path, steps: str, problem: str) -> None:
    result = bench(tmp_path, steps, "{nodes: 1, pods: 1}")
    assert result.exit_code == 1
    assert re.search(f"not run to its end: Case/w: .*{problem}", result.stderr), result.stderr


BROKEN = {
    "unknown-function.yaml": "metadata: {name: '{{Upper .Index}}'}\n",
    "unknown-value.yaml": "metadata: {name: '{{.size}}'}\n",
    "broken.yaml": "metadata: [\n",
    "two.yaml": "{kind: Pod}\n---\n{kind: Pod}\n",
}


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        pytest.param(
            NODES % "" + MEASURED % ("missing.yaml", ""),
            "createPods: DIRECTORY/missing.yaml: cannot be read: No such file or directory; paths of templates are"
            " meant from the folder of the performance-config.yaml that names them",
            id="a template that is not there",
        ),
        pytest.param(
            NODES % "" + MEASURED % ("unknown-function.yaml", ""),
            "createPods: DIRECTORY/unknown-function.yaml: template: 'Upper' is nothing that is known here; functions",
            id="a function that is not there",
        ),
        pytest.param(
            NODES % "" + MEASURED % ("unknown-value.yaml", ""),
            "createPods: DIRECTORY/unknown-value.yaml: template: {{.size}} has no value; give it in templateParams",
            id="a value that is not given",
        ),
        pytest.param(
            NODES % "" + MEASURED % ("broken.yaml", ""),
            "createPods: DIRECTORY/broken.yaml: not a YAML document: while parsing a flow node did not find expected"
            " node content at line 2, column 1; check indentation and quoting there",
            id="no YAML",
        ),
        pytest.param(
            NODES % "" + MEASURED % ("two.yaml", ""),
            "createPods: DIRECTORY/two.yaml: expected one object, got 2; write one, without a list around it",
            id="two objects",
        ),
        pytest.param(
            NODES % ""
            + "  - {opcode: churn, mode: create, templatePaths: [small.yaml, missing.yaml]}\n"
            + MEASURED % ("small.yaml", ""),
            "churn: DIRECTORY/missing.yaml: cannot be read",
            id="one of several templates",
        ),
        pytest.param(
            NODES % "" + "  - {opcode: createPods, countParam: $pots, collectMetrics: true}\n",
            "workloadTemplate[1]: parameter $pots is not defined; there are: nodes, pods",
            id="a parameter that is not defined",
        ),
        pytest.param(
            "  - {opcode: createNodes, count: -1}\n" + MEASURED % ("small.yaml", ""),
            "workloadTemplate[0]: count: -1 is less than none; write 0 or more",
            id="a number that is negative",
        ),
        pytest.param(
            "  - {opcode: createNodes, count: 1}\n" + MEASURED % ("small.yaml", ""),
            "no operation uses the parameters nodes; take them out, or write them where they belong",
            id="a parameter that nothing uses",
        ),
    ],
)
def test_what_is_wrong_in_a_workload_is_bad_input_and_nothing_is_run(tmp_path: Path, steps: str, problem: str) -> None:
    for name, text in BROKEN.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    result = bench(tmp_path, steps, "{nodes: 1, pods: 1}")
    assert (result.exit_code, result.stdout) == (2, "")
    where = "Error: DIRECTORY/performance-config.yaml: Case/w: "
    assert result.stderr.replace(str(tmp_path), "DIRECTORY").startswith(f"{where}{problem}"), result.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(("--labels", "+"), "--labels '+': a label is empty; write LABEL", id="a sign without a label"),
        pytest.param(("--labels", ",,"), "--labels ',,': a label is empty; write LABEL", id="no label at all"),
        pytest.param(("--timeout", "nan"), "'nan' is no time to wait", id="no time"),
        pytest.param(("--timeout", "inf"), "inf is not in the range", id="a time without an end"),
        pytest.param(
            ("--output-file", "missing/out.json"),
            "--output-file missing/out.json: cannot be written: No such file or directory; name a file in a folder",
            id="a folder that is not there",
        ),
        pytest.param(("--output-file", "/"), "--output-file /: cannot be written: Is a directory", id="a folder"),
        pytest.param(
            ("--kubeconfig", "missing.yaml"), 'kubeconfig "missing.yaml": no such file; check', id="no kubeconfig"
        ),
        pytest.param(("--workload", "("), "--workload '(': no regular expression", id="a pattern that is none"),
        pytest.param(("--workload", "Other"), "--workload Other is found in none", id="nothing is selected"),
        pytest.param(("--config", "missing.yaml"), "missing.yaml: cannot be read", id="no configuration"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, arguments: tuple[str, ...], problem: str) -> None:
    result = bench(tmp_path, NODES % "" + MEASURED % ("small.yaml", ""), "{nodes: 1, pods: 1}", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in result.stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("{}", "FILE: decode: ", id="nothing that says what it is"),
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: -1\n",
            "FILE: validate: parallelism: Invalid value: -1",
            id="a value that is not allowed",
        ),
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
            "profiles: [{plugins: {score: {enabled: [{name: Nobody}]}}}]\n",
            "FILE: construct: ",
            id="a plugin that is not there",
        ),
    ],
)
@pytest.mark.parametrize("is_option", [True, False], ids=["given as an option", "named by the workload"])
def test_a_configuration_that_cannot_be_used_is_named(
    tmp_path: Path, text: str, problem: str, *, is_option: bool
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    arguments = ("--config", str(path)) if is_option else ()
    named = "" if is_option else "  schedulerConfigPath: config.yaml\n"
    result = bench(tmp_path, NODES % "" + MEASURED % ("small.yaml", ""), "{nodes: 1, pods: 1}", *arguments, more=named)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"Error: {problem}" in result.stderr.replace(str(path), "FILE")


def test_looking_whether_a_file_can_be_written_changes_nothing(tmp_path: Path) -> None:
    old, new = tmp_path / "old.svg", tmp_path / "new.svg"
    old.write_text("before", encoding="utf-8")
    for chart in (old, new):
        # Neither run is there, which is found only after that.
        result = CliRunner().invoke(main, ["bench", "compare", "a.json", "b.json", "--chart", str(chart)])
        assert result.exit_code == 2
    assert old.read_text(encoding="utf-8") == "before"
    assert not new.exists()


def test_two_runs_are_compared_and_drawn(tmp_path: Path) -> None:
    def written(name: str, rate: float) -> str:
        labels = {"Name": "BenchmarkPerfScheduling/Case/<w>/ns", "Metric": "SchedulingThroughput"}
        items = [{"data": {"Average": rate}, "unit": "pods/s", "labels": labels}]
        (tmp_path / name).write_text(json.dumps({"version": "v1", "dataItems": items}), encoding="utf-8")
        return str(tmp_path / name)

    chart = tmp_path / "chart.svg"
    arguments = ["bench", "compare", written("a.json", 100), written("b.json", 250), "--chart", str(chart)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.stderr
    assert re.search(r"Case/<w>/ns +100 +250 +2\.50", result.stdout)
    assert "B schedules 2.50 times as fast as A" in result.stdout
    drawn = chart.read_text(encoding="utf-8")
    assert drawn.startswith("<svg ")
    # Names are text, not markup; the longest bar is two and a half times the other.
    assert "Case/&lt;w&gt;/ns" in drawn
    assert re.findall(r'width="([\d.]+)" height="10"', drawn) == ["168.0", "420.0"]


RUN = (
    '{"dataItems": [{"data": {}, "unit": "s", "labels": {"Name": "Case/w", "Metric": "SchedulingDuration"}},'
    ' {"data": %s, "unit": "pods/s", "labels": {"Name": "Case/w", "Metric": "SchedulingThroughput"}}]}'
)
ROW = "FILE: dataItems[1] (Case/w, SchedulingThroughput): data.Average"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("{", "FILE: not JSON: Expecting property name", id="no JSON"),
        pytest.param("{}", "FILE: dataItems is missing or wrong; give what `stowplan bench", id="something else"),
        pytest.param('{"dataItems": []}', "neither says how fast", id="nothing in it"),
        pytest.param(RUN % '{"Average": "fast"}', f'{ROW} is "fast", and has to be a number', id="a text"),
        pytest.param(RUN % '{"Average": NaN}', f"{ROW} is NaN, and has to be a number", id="not a number"),
        pytest.param(RUN % '{"Average": Infinity}', f"{ROW} is Infinity, and has to be a number", id="without an end"),
        pytest.param(RUN % '{"Average": true}', f"{ROW} is true, and has to be a number", id="a truth"),
        pytest.param(RUN % '{"Average": null}', f"{ROW} is null, and has to be a number", id="nothing"),
        pytest.param(RUN % '{"Average": -1}', f"{ROW} is -1, and has to be a number", id="less than nothing"),
        pytest.param(RUN % '{"Perc50": 7}', f"{ROW} is missing; give what `stowplan bench", id="no average"),
        pytest.param(
            (RUN % '{"Average": 1}').replace('"Case/w"', "7"), "FILE: dataItems[1]: labels.Name is 7", id="no name"
        ),
    ],
)
def test_what_is_no_run_cannot_be_compared(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(main, ["bench", "compare", str(path), str(path)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in result.stderr.replace(str(path), "FILE")


def test_a_run_that_is_not_there_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    result = CliRunner().invoke(main, ["bench", "compare", str(path), str(path)])
    assert result.exit_code == 2
    remedy = "give what `stowplan bench --output-file` wrote, or upstream's benchmark"
    assert result.stderr == f"Error: {path}: cannot be read: No such file or directory; {remedy}\n"


@pytest.mark.parametrize(
    ("chart", "problem"),
    [
        pytest.param("c.png", "--chart c.png: charts are drawn as SVG; name a file that ends in .svg", id="no SVG"),
        pytest.param("missing/c.svg", "--chart missing/c.svg: cannot be written: No such file", id="no such folder"),
    ],
)
def test_a_chart_that_cannot_be_drawn_is_refused_before_anything_is_shown(
    tmp_path: Path, chart: str, problem: str
) -> None:
    path = tmp_path / "a.json"
    path.write_text(RUN % '{"Average": 100}', encoding="utf-8")
    result = CliRunner().invoke(main, ["bench", "compare", str(path), str(path), "--chart", chart])
    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in result.stderr


def test_runs_in_which_nothing_was_scheduled_are_compared_and_drawn(tmp_path: Path) -> None:
    path, chart = tmp_path / "a.json", tmp_path / "c.svg"
    path.write_text(RUN % '{"Average": 0}', encoding="utf-8")
    result = CliRunner().invoke(main, ["bench", "compare", str(path), str(path), "--chart", str(chart)])
    assert result.exit_code == 0, result.stderr
    assert re.search(r"Case/w +0 +0 +-", result.stdout)
    assert 'width="0.0"' in chart.read_text(encoding="utf-8")


def test_what_goes_wrong_beside_the_scheduling_is_noted(tmp_path: Path) -> None:
    plugin = tmp_path / "late.py"
    plugin.write_text(
        "from stowplan.framework import PostBind\n\n\n"
        "class Late(PostBind):\n"
        "    async def post_bind(self, pod, node_name):\n"
        "        raise RuntimeError('too late')\n",
        encoding="utf-8",
    )
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: '{plugin}:Late'}}]}}}}}}]\n",
        encoding="utf-8",
    )
    steps = NODES % "" + MEASURED % ("small.yaml", "")
    result = bench(tmp_path, steps, "{nodes: 1, pods: 3}", "--config", str(config))
    assert result.exit_code == 0, result.stderr
    assert re.search(r"note: Case/w: 1 times: .*Late.*too late", result.stderr), result.stderr
