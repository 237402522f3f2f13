"""Bad input ends in one sentence that names the file, the object and the remedy, and in exit code 2.

Only `config check` exits with 1 where the file could be read: that it is refused is what was asked for.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stowplan.cli import main

ROOT = Path(__file__).resolve().parents[3]
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]%s}\n"


def refusal(directory: Path, arguments: list[str], content: str | bytes, exit_code: int = 2) -> str:
    """Run a command on a file and return its error; any other exit code fails."""
    path = directory / "given.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = CliRunner().invoke(main, [argument.replace("FILE", str(path)) for argument in arguments])
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == exit_code
    assert result.stdout == ""
    return result.stderr.replace(str(path), "FILE").replace(str(directory), "DIRECTORY").removeprefix("Error: ").strip()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            POD % ", priority: high",
            'FILE: Pod p: Pod in version "v1" cannot be handled as a Pod: '
            "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32",
            id="a field of the wrong type",
        ),
        pytest.param(
            POD % ", nodeSelektor: {a: b}",
            'FILE: Pod p: Pod in version "v1" cannot be handled as a Pod: '
            'strict decoding error: unknown field "spec.nodeSelektor"',
            id="a misspelt field",
        ),
        pytest.param(
            POD % ", priority: 7",
            'FILE: Pod p: pods "p" is forbidden: the integer value of priority (7) must not be provided in pod spec; '
            "priority admission controller computed 0 from the given PriorityClass name",
            id="what only the server may say",
        ),
        pytest.param(
            "apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: b}\n",
            "FILE: Boat b: this cluster does not serve Boat of example.com/v1; give its CustomResourceDefinition first",
            id="a kind that nobody knows",
        ),
        pytest.param("", "FILE: no object is written there; name a file that has some", id="nothing"),
        pytest.param("# later\n---\n", "FILE: no object is written there; name a file that has some", id="a comment"),
        pytest.param(
            NODE,
            "nothing to schedule: no pod is in the files, nor a workload that makes some",
            id="nobody to place",
        ),
        pytest.param(
            NODE + "---\n" + POD % ", nodeName: n",
            "nothing to schedule: 1 pod in the files, none of them pending",
            id="nobody who still waits",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Node\nmetadata: {}\n",
            'FILE: Node : Node "" is invalid: metadata.name: Required value: name or generateName is required',
            id="a nameless object",
        ),
        pytest.param(
            f"{NODE}---\n{NODE}", "FILE: Node n: is there twice; give each a name of its own", id="a node twice"
        ),
        pytest.param(
            f"{POD % ''}---\n{POD % ''}", "FILE: Pod p: is there twice; give each a name of its own", id="a pod twice"
        ),
        pytest.param(
            b"\xff\xfe", "FILE: not a text file in UTF-8: invalid start byte at byte 0", id="not a text at all"
        ),
        pytest.param(
            "- 1",
            "FILE: expected objects, got list; write apiVersion, kind, metadata",
            id="not an object",
        ),
    ],
)
def test_objects_that_cannot_be_used(tmp_path: Path, content: str | bytes, expected: str) -> None:
    assert refusal(tmp_path, ["schedule", "FILE"], content) == expected


def test_yaml_that_cannot_be_read_is_located(tmp_path: Path) -> None:
    error = refusal(tmp_path, ["schedule", "FILE"], "a: [\n")
    assert error.startswith("FILE: not a YAML document:")
    assert "line 2, column 1" in error


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            ["schedule", "FILE.gone"],
            "FILE.gone: cannot be read: No such file or directory; check the path",
            id="no file",
        ),
        pytest.param(
            ["schedule", "FILE", "--explain", "shop/x"],
            "pod 'shop/x' is in none of the files; write NAMESPACE/NAME of one of: default/p",
            id="a pod to explain that is not there",
        ),
        pytest.param(
            ["explain", "x", "FILE"],
            "pod 'default/x' is in none of the files; write NAMESPACE/NAME of one of: default/p",
            id="an unknown pod",
        ),
        pytest.param(
            ["explain", "p", "FILE", "--node", "gone"],
            "node 'gone' is in none of the files; name one of the 1 that are",
            id="an unknown node",
        ),
    ],
)
def test_names_that_are_not_there(tmp_path: Path, arguments: list[str], expected: str) -> None:
    assert refusal(tmp_path, arguments, f"{NODE}---\n{POD % ''}") == expected


def test_a_pod_of_another_scheduler_cannot_be_explained(tmp_path: Path) -> None:
    expected = "pod 'default/p': spec.schedulerName: no profile 'other'; the profiles are: default-scheduler"
    assert refusal(tmp_path, ["explain", "p", "FILE"], POD % ", schedulerName: other") == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            HEAD + "parallelism: -1",
            "FILE: validate: parallelism: Invalid value: -1: should be an integer value greater than zero",
            id="a value that is not allowed",
        ),
        pytest.param(
            HEAD + "profiles: [{plugins: {score: {enabled: [{name: 'gone.py:X'}]}}}]",
            "FILE: construct: plugin 'gone.py:X': cannot load 'gone.py': no such file: gone.py",
            id="a plugin file that is not there",
        ),
        pytest.param(
            HEAD + "profiles: [{plugins: {score: {enabled: [{name: NodeResourceFit}]}}}]",
            "FILE: construct: initializing profiles: creating profile for scheduler name default-scheduler: "
            'ScorePlugin "NodeResourceFit" does not exist; did you mean NodeResourcesFit?',
            id="a plugin that does not exist",
        ),
        pytest.param(
            HEAD + "profiles: [{plugins: {score: {enabled: [{name: 'examples/plugins/cool.py:Cool'}]}},"
            " pluginConfig: [{name: 'examples/plugins/cool.py:Cool', args: {warmth: 3}}]}]",
            "FILE: construct: plugin 'Cool': unknown argument 'warmth'; it takes: none",
            id="an argument that its plugin does not take",
        ),
        pytest.param(
            HEAD + "paralelism: 1",
            'FILE: decode: strict decoding error: unknown field "paralelism"; did you mean parallelism?',
            id="a misspelling",
        ),
    ],
)
@pytest.mark.parametrize(
    ("command", "exit_code"),
    [
        pytest.param(["config", "check", "FILE"], 1, id="checked"),
        pytest.param(["config", "show", "FILE"], 2, id="shown"),
        pytest.param(["schedule", "FILE", "--config", "FILE"], 2, id="used"),
        pytest.param(["up", "--once", "--port", "0", "--config", "FILE"], 2, id="used in a cluster"),
    ],
)
def test_configurations_that_cannot_be_used(
    tmp_path: Path, command: list[str], exit_code: int, content: str, expected: str
) -> None:
    content = content.replace("examples/", f"{ROOT}/examples/")
    assert refusal(tmp_path, command, content, exit_code) == expected


@pytest.mark.parametrize(
    "command", [["config", "check", "FILE"], ["config", "show", "FILE"], ["schedule", "FILE"], ["explain", "p", "FILE"]]
)
def test_a_gate_that_cannot_be_set_is_misuse(tmp_path: Path, command: list[str]) -> None:
    error = refusal(tmp_path, [*command, "--feature-gates", "DRAAdminAccess=false"], "")
    assert error.endswith(
        'Error: invalid argument "DRAAdminAccess=false" for "--feature-gates" flag: '
        "cannot set feature gate DRAAdminAccess to false, feature is locked to true"
    )


def test_a_configuration_comes_from_a_file_or_from_the_command_line(tmp_path: Path) -> None:
    error = refusal(tmp_path, ["schedule", "FILE", "--config", "FILE", "--config-text", HEAD], NODE)
    assert error.endswith("Error: --config and --config-text exclude each other; give one of them")


def test_a_text_on_the_command_line_is_refused_like_a_file(tmp_path: Path) -> None:
    error = refusal(tmp_path, ["schedule", "FILE", "--config-text", HEAD + "percentageOfNodesToScore: 101"], NODE)
    expected = "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"
    assert error == f"--config-text: validate: {expected}"
