"""What of the workloads of a run can be seen to be wrong before the first of them begins: bad input, not a bad result.

Parameters, templates and configurations are looked at as far as that takes no cluster. What only shows in a run is told
with the workload, by `running.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from stowplan.app.cluster import Cluster
from stowplan.app.configuration import read_configuration
from stowplan.app.process import now, run
from stowplan.bench.creating import DECLARED_FEATURES
from stowplan.bench.objects import ObjectTemplate
from stowplan.bench.operations import CountedOperation, CreateNodes, CreatePods, Operation
from stowplan.bench.parameters import WorkloadError
from stowplan.bench.running import ConfigurationText, RunSettings, configuration_of, gates_of, naming
from stowplan.bench.workloads import Selected
from stowplan.config.feature_gates import FeatureGateError, FeatureGates
from stowplan.kube import credentials
from stowplan.kube.credentials import CredentialsError


def check_workloads(selected: Iterable[Selected]) -> None:
    """Raise WorkloadError if the parameters of a workload do not fit, or a template cannot be used."""
    for one in selected:
        steps, parameters = one.operations()
        unused = set(parameters.unused)
        if any(isinstance(step, CreateNodes) for step in steps):
            unused.discard(DECLARED_FEATURES)
        if unused:
            raise WorkloadError(
                f"{one.path}: {one.name}: no operation uses the parameters {', '.join(sorted(unused))};"
                " take them out, or write them where they belong"
            )
        for number, step in enumerate(steps):
            for path in _templates(one, step):
                _check_template(one, (number, step), path)


def _templates(selected: Selected, step: Operation) -> list[str]:
    default = selected.case.default_pod_template_path
    takes_default = isinstance(step, CreatePods) and not step.pod_template_path
    return [*step.template_files, default] if takes_default and default else step.template_files


def _check_template(selected: Selected, numbered: tuple[int, Operation], path: str) -> None:
    number, step = numbered
    try:
        template = ObjectTemplate.read(selected.file(path), {})
        count = step.number if isinstance(step, CountedOperation) else 1
        if count:
            # More than some steps give, so that nothing is refused here that would do.
            given = getattr(step, "template_params", {})
            template.check({**given, "Index": 0, "Count": count, "Operation": number})
    except WorkloadError as error:
        raise WorkloadError(f"{selected.path}: {selected.name}: {step.opcode}: {error}") from None


def check_configurations(selected: Iterable[Selected], settings: RunSettings) -> None:
    """Raise WorkloadError if a configuration cannot be used with the gates of a workload that is run with it."""
    checked: set[tuple[ConfigurationText | None, FeatureGates]] = set()
    for one in selected:
        try:
            found, gates = configuration_of(one, settings), gates_of(one, settings.gates, [])
        except FeatureGateError as error:
            raise WorkloadError(f"{one.path}: {one.name}: featureGates: {error}") from None
        if (found, gates) not in checked:
            with naming(found):
                # Building the profiles, too: some plugins look at their arguments only then.
                Cluster(read_configuration(None if found is None else found.text, gates), feature_gates=gates)
            checked.add((found, gates))


def check_kubeconfig(name: str) -> None:
    """Raise WorkloadError if there are no credentials in a kubeconfig."""
    try:
        run(credentials.load(name, os.environ, now))
    except CredentialsError as error:
        raise WorkloadError(str(error)) from None
