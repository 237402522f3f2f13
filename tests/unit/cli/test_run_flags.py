"""`stowplan run` takes kube-scheduler's command line."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import click.testing
import pytest

from stowplan.app.options import FLAGS, RunOptions
from stowplan.cli import main
from stowplan.cli.flag_parser import FlagError, parse, spelled
from stowplan.cli.run import ABOUT, SECTIONS, flag_warnings
from stowplan.config.feature_gates import DEFAULT_GATES
from stowplan.model.duration import of_seconds

UPSTREAM = {
    "Misc": "config master write-config-to",
    "Secure serving": (
        "bind-address cert-dir disable-http2-serving http2-max-streams-per-connection permit-address-sharing"
        " permit-port-sharing secure-port tls-cert-file tls-cipher-suites tls-curve-preferences tls-min-version"
        " tls-private-key-file tls-sni-cert-key"
    ),
    "Authentication": (
        "authentication-kubeconfig authentication-skip-lookup authentication-token-webhook-cache-ttl"
        " authentication-tolerate-lookup-failure client-ca-file requestheader-allowed-names"
        " requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers"
        " requestheader-uid-headers requestheader-username-headers"
    ),
    "Authorization": (
        "authorization-always-allow-paths authorization-kubeconfig authorization-webhook-cache-authorized-ttl"
        " authorization-webhook-cache-unauthorized-ttl"
    ),
    "Deprecated": (
        "contention-profiling kube-api-burst kube-api-content-type kube-api-qps kubeconfig"
        " pod-max-in-unschedulable-pods-duration profiling"
    ),
    "Leader election": (
        "leader-elect leader-elect-lease-duration leader-elect-renew-deadline leader-elect-resource-lock"
        " leader-elect-resource-name leader-elect-resource-namespace leader-elect-retry-period"
    ),
    "Feature gate": "emulated-version feature-gates min-compatibility-version",
    "Metrics": "allow-metric-labels allow-metric-labels-manifest disabled-metrics show-hidden-metrics-for-version",
    "Logs": (
        "log-flush-frequency log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size"
        " log-text-split-stream logging-format v vmodule"
    ),
    "Global": "help version",
}
OURS = {"config-map", "config-text", "legacy-config", "page", "plugin-budget"}

DEFAULTS = {
    "bind-address": "0.0.0.0",
    "secure-port": "10259",
    "authentication-token-webhook-cache-ttl": "10s",
    "authentication-tolerate-lookup-failure": "true",
    "authorization-always-allow-paths": "[/healthz,/readyz,/livez]",
    "kube-api-burst": "100",
    "kube-api-qps": "50",
    "kube-api-content-type": "application/vnd.kubernetes.protobuf",
    "pod-max-in-unschedulable-pods-duration": "5m0s",
    "profiling": "true",
    "leader-elect": "true",
    "leader-elect-lease-duration": "15s",
    "leader-elect-renew-deadline": "10s",
    "leader-elect-retry-period": "2s",
    "leader-elect-resource-lock": "leases",
    "leader-elect-resource-name": "kube-scheduler",
    "leader-elect-resource-namespace": "kube-system",
    "requestheader-username-headers": "[x-remote-user]",
    "logging-format": "text",
    "v": "0",
}


@pytest.mark.parametrize("section", UPSTREAM)
def test_every_flag_of_upstream_is_in_its_section(section: str) -> None:
    titles: list[str] = []
    for name in FLAGS:
        titles.append(SECTIONS.get(name) or titles[-1])
    ours = {name for name, title in zip(FLAGS, titles, strict=True) if title == section}
    assert ours - OURS == set(UPSTREAM[section].split())


def test_sections_stand_in_upstreams_order() -> None:
    assert list(SECTIONS.values()) == list(UPSTREAM)


def test_every_flag_has_its_option_and_the_other_way_round() -> None:
    options = {field.name.replace("_", "-") for field in dataclasses.fields(RunOptions)} - {
        "given",
        "texts",
        "gate-texts",
    }
    assert options == set(FLAGS)


def test_defaults_are_upstreams() -> None:
    texts = dict(parse([]).texts)
    assert {name: texts[name] for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize(
    ("arguments", "field", "expected"),
    [
        pytest.param(["--secure-port=443"], "secure_port", 443, id="a value after an equals sign"),
        pytest.param(["--secure-port", "443"], "secure_port", 443, id="a value as the next word"),
        pytest.param(["--secure_port=443"], "secure_port", 443, id="underscores for dashes"),
        pytest.param(["--leader-elect"], "leader_elect", True, id="a switch"),
        pytest.param(["--leader-elect=false"], "leader_elect", False, id="a switch turned off"),
        pytest.param(["--leader-elect=F"], "leader_elect", False, id="a switch turned off with a letter"),
        pytest.param(["-v=4"], "v", 4, id="a short flag with an equals sign"),
        pytest.param(["-v", "4"], "v", 4, id="a short flag with the next word"),
        pytest.param(["-v4"], "v", 4, id="a short flag with its value glued on"),
        pytest.param(["--v=4"], "v", 4, id="the short flag by its long name"),
        pytest.param(["--v=1", "--v=3"], "v", 3, id="the last of several values"),
        pytest.param(["-h"], "help", True, id="help"),
        pytest.param(
            ["--leader-elect-lease-duration=1m"], "leader_elect_lease_duration", of_seconds(60), id="a duration"
        ),
        pytest.param(["--kube-api-qps=0.5"], "kube_api_qps", 0.5, id="a fraction"),
        pytest.param(["--bind-address=::1"], "bind_address", "::1", id="an address"),
        pytest.param(
            ["--tls-cipher-suites=a,b", "--tls-cipher-suites=c"], "tls_cipher_suites", ("a", "b", "c"), id="list"
        ),
        pytest.param(["--config", ""], "config", "", id="an empty value"),
        pytest.param(["--version"], "version", "true", id="version"),
        pytest.param(["--version=raw"], "version", "raw", id="version, raw"),
        pytest.param(["--version=v1.37.1-mine"], "version", "v1.37.1-mine", id="a version to report"),
        pytest.param(
            ["--allow-metric-labels=m,l='a,b',n,l='c'"], "allow_metric_labels", ("m,l='a,b'", "n,l='c'"), id="labels"
        ),
    ],
)
def test_flags_are_read_as_go_reads_them(arguments: list[str], field: str, expected: object) -> None:
    assert getattr(parse(arguments), field) == expected


def test_it_is_known_which_flags_were_given() -> None:
    assert parse(["--v=0", "--leader-elect=true"]).given == {"v", "leader-elect"}


def test_feature_gates_add_up() -> None:
    options = parse(["--feature-gates=GenericWorkload=true", "--feature-gates", "CoordinatedLeaderElection=true"])
    assert options.feature_gates.on - DEFAULT_GATES.on == {"GenericWorkload", "CoordinatedLeaderElection"}
    assert spelled(options.feature_gates) == "CoordinatedLeaderElection=true,GenericWorkload=true"


@pytest.mark.parametrize(
    ("arguments", "release"),
    [
        pytest.param([], "1.37", id="the newest, until the server is known"),
        pytest.param(["--emulated-version=kube=1.36"], "1.36", id="the one that is named"),
        pytest.param(["--emulated-version", "1.36"], "1.36", id="without the component"),
        pytest.param(
            ["--feature-gates=GenericWorkload=true,GangScheduling=true"], "1.36", id="the newest that has all the gates"
        ),
    ],
)
def test_the_release_is_asked_for(arguments: list[str], release: str) -> None:
    assert parse(arguments).feature_gates.release == release


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            ["--emulated-version=1.35"], "emulation version 1.35 is not between [1.36, 1.37]", id="one that is too old"
        ),
        pytest.param(
            ["--emulated-version=kube=1.36.4"],
            "--emulated-version: patch version not allowed, got: kube=1.36.4",
            id="a patch release",
        ),
        pytest.param(
            ["--emulated-version=etcd=3.6"],
            "--emulated-version: component not registered: etcd; write kube=3.6",
            id="another component",
        ),
        pytest.param(
            ["--emulated-version=new"],
            '--emulated-version: could not parse "new" as version; write such as kube=1.37',
            id="no release",
        ),
        pytest.param(
            ["--emulated-version=1.36", "--min-compatibility-version=1.37"],
            "minCompatibilityVersion version 1.37 is not between [0.0, 1.36]",
            id="others that are newer",
        ),
        pytest.param(
            ["--emulated-version=1.36", "--feature-gates=CompositePodGroup=true"],
            'invalid argument "CompositePodGroup=true" for "--feature-gates" flag: unrecognized feature gate: '
            "CompositePodGroup; it is there from 1.37 on, and this is 1.36",
            id="a gate that the release has not",
        ),
    ],
)
def test_a_release_that_cannot_be_is_refused(arguments: list[str], expected: str) -> None:
    with pytest.raises(FlagError) as caught:
        parse(arguments)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--nope"], "unknown flag: --nope", id="an unknown flag"),
        pytest.param(["--nope=1"], "unknown flag: --nope", id="an unknown flag with a value"),
        pytest.param(["-x"], "unknown shorthand flag: 'x' in -x", id="an unknown letter"),
        pytest.param(["--config"], "flag needs an argument: --config", id="a value missing"),
        pytest.param(["-v"], "flag needs an argument: 'v' in -v", id="a value of a short flag missing"),
        pytest.param(["run"], '"kube-scheduler" does not take any arguments, got ["run"]', id="a stray word"),
        pytest.param(["--", "a", "b"], '"kube-scheduler" does not take any arguments, got ["a" "b"]', id="stray words"),
        pytest.param(
            ["--secure-port=x"],
            'invalid argument "x" for "--secure-port" flag: strconv.ParseInt: parsing "x": invalid syntax',
            id="no number",
        ),
        pytest.param(
            ["-v=x"],
            'invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax',
            id="no number in a short flag",
        ),
        pytest.param(
            ["--v=2147483648"],
            'invalid argument "2147483648" for "-v, --v" flag: strconv.ParseUint: parsing "2147483648":'
            " value out of range",
            id="a verbosity of more than 31 bits",
        ),
        pytest.param(
            ["--kube-api-burst=2147483648"],
            'invalid argument "2147483648" for "--kube-api-burst" flag: strconv.ParseInt: parsing "2147483648":'
            " value out of range",
            id="more than 32 bits",
        ),
        pytest.param(
            ["--kube-api-qps=1e39"],
            'invalid argument "1e39" for "--kube-api-qps" flag: strconv.ParseFloat: parsing "1e39": value out of range',
            id="more than a fraction of 32 bits holds",
        ),
        pytest.param(
            ["--kube-api-qps= 5"],
            'invalid argument " 5" for "--kube-api-qps" flag: strconv.ParseFloat: parsing " 5": invalid syntax',
            id="a space before a number",
        ),
        pytest.param(
            ["--bind-address=::1%eth0"],
            'invalid argument "::1%eth0" for "--bind-address" flag: failed to parse IP: "::1%eth0"',
            id="an address with a zone",
        ),
        pytest.param(
            ["--leader-elect=maybe"],
            'invalid argument "maybe" for "--leader-elect" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
            id="neither true nor false",
        ),
        pytest.param(
            ["--leader-elect-retry-period=2"],
            'invalid argument "2" for "--leader-elect-retry-period" flag: time: missing unit in duration "2"',
            id="a duration without a unit",
        ),
        pytest.param(
            ["--bind-address=here"],
            'invalid argument "here" for "--bind-address" flag: failed to parse IP: "here"',
            id="no address",
        ),
        pytest.param(
            ["--version=v1.30.0"],
            'invalid argument "v1.30.0" for "--version" flag:'
            ' version "v1.30.0" must match major/minor/patch of default version "v1.37.1"',
            id="a version that this is not",
        ),
        pytest.param(
            ["--version=v1.30"],
            'invalid argument "v1.30" for "--version" flag: illegal version string "v1.30"',
            id="no version",
        ),
    ],
)
def test_what_cannot_be_read_is_told_in_upstreams_words(arguments: list[str], message: str) -> None:
    with pytest.raises(FlagError) as raised:
        parse(arguments)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "burst"),
    [
        pytest.param("010", 8, id="octal"),
        pytest.param("0x1F", 31, id="hexadecimal"),
        pytest.param("1_000", 1000, id="grouped"),
        pytest.param("-1", -1, id="negative"),
    ],
)
def test_a_number_may_be_spelled_as_in_go(text: str, burst: int) -> None:
    assert parse([f"--kube-api-burst={text}"]).kube_api_burst == burst


def test_a_comma_in_quotes_is_part_of_a_name() -> None:
    assert parse(['--disabled-metrics="a,b",c']).disabled_metrics == ("a,b", "c")


def test_the_first_patch_release_is_the_release() -> None:
    assert parse(["--emulated-version=1.36.0"]).feature_gates.release == "1.36"


def test_an_unknown_feature_gate_is_refused_by_name() -> None:
    with pytest.raises(FlagError, match='for "--feature-gates" flag: unrecognized feature gate: Nope'):
        parse(["--feature-gates=Nope=true"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            ["--http2-max-streams-per-connection=3"],
            ["--http2-max-streams-per-connection has no effect: only HTTP/1.1 is served"],
            id="a flag without a subject",
        ),
        pytest.param(
            ["--config=c.yaml", "--kube-api-qps=3", "--leader-elect=false"],
            ["--kube-api-qps is ignored: the configuration file decides"],
            id="a deprecated flag beside a file",
        ),
        pytest.param(["--kube-api-qps=3", "-v=2"], [], id="flags that count"),
    ],
)
def test_flags_that_change_nothing_are_warned_about_once(arguments: list[str], expected: list[str]) -> None:
    assert flag_warnings(parse(arguments)) == expected


def run(*arguments: str) -> click.testing.Result:
    return click.testing.CliRunner().invoke(main, ["run", *arguments])


def test_help_has_every_section_and_flag() -> None:
    text = run("--help").output
    assert text.startswith(ABOUT)
    for section, names in UPSTREAM.items():
        assert f"\n{section} flags:\n" in text
        for name in names.split():
            assert f"--{name}" in text
    assert '(default "kube-system")' in text


def test_an_unknown_flag_ends_with_1_after_the_usage() -> None:
    result = run("--nope")
    assert result.exit_code == 1
    assert result.stderr.startswith("Usage:\n  stowplan run [flags]\n")
    assert result.stderr.endswith("Error: unknown flag: --nope\n")


@pytest.mark.parametrize(
    ("flag", "start"),
    [
        pytest.param("--version", "Kubernetes v1.37.1-stowplan.", id="in one line"),
        pytest.param("--version=raw", '{"major": "1", "minor": "37", "gitVersion": "v1.37.1-stowplan.', id="in full"),
    ],
)
def test_the_version_is_printed(flag: str, start: str) -> None:
    result = run(flag)
    assert (result.exit_code, result.output.startswith(start)) == (0, True)


def stowplan(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = "import sys; from stowplan.cli import main; sys.argv[0] = 'stowplan'; main()"
    command = [sys.executable, "-c", program, "run", *arguments]
    environment = {"PYTHONPATH": str(Path(__file__).resolve().parents[3] / "src"), "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_configuration_in_force_is_written_and_that_is_all(tmp_path: Path) -> None:
    target = tmp_path / "config.yaml"
    result = stowplan(f"--write-config-to={target}", "--leader-elect=false", "--kube-api-burst=7")
    assert result.returncode == 0, result.stderr
    text = target.read_text()
    assert "leaderElect: false" in text
    assert "burst: 7" in text


def test_a_start_that_fails_is_logged_and_ends_with_1() -> None:
    result = stowplan("--secure-port=0", "--config=missing.yaml", "--logging-format=json")
    assert result.returncode == 1
    assert '"msg":"command failed","err":"missing.yaml: cannot be read: No such file or directory' in result.stderr


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        pytest.param("aiohttp", ["--help"], id="no HTTP for help"),
        pytest.param("prometheus_client", ["--help"], id="no metrics for help"),
        pytest.param("numpy", ["--version"], id="no arrays for the version"),
    ],
)
def test_what_is_not_needed_is_not_loaded(module: str, arguments: list[str]) -> None:
    program = (
        "import sys; from stowplan.cli import main\n"
        f"try: main({['run', *arguments]!r})\nexcept SystemExit: pass\n"
        f"print({module!r} in sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == "False"
