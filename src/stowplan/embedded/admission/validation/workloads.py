"""Checks what keeps pods running, and what may change about it later."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from stowplan.embedded.admission.validation import pods
from stowplan.embedded.admission.validation.metadata import check_annotations, check_labels
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.selectors import check_label_selector
from stowplan.embedded.objects.resource import Object
from stowplan.model.meta import LabelSelector
from stowplan.model.selectors import SelectorError, compile_label_selector

_PERCENT: Final = re.compile(r"[0-9]+%")
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_MISMATCH: Final = "`selector` does not match template `labels`"
_TEMPLATE: Final = "spec.template"


def check_deployment(problems: Problems, deployment: Object) -> None:
    spec = deployment["spec"]
    _check_set(problems, spec, "deployment", "ReplicaSet")
    _check_counts(problems, spec, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        problems.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
    _check_strategy(problems, spec.get("strategy", {}))


def check_replica_set(problems: Problems, replica_set: Object) -> None:
    _check_set(problems, replica_set["spec"], "deployment", "ReplicaSet")
    _check_counts(problems, replica_set["spec"], "minReadySeconds")


def check_stateful_set(problems: Problems, stateful_set: Object) -> None:
    spec = stateful_set["spec"]
    policy, strategy = spec["podManagementPolicy"], spec["updateStrategy"]
    if policy not in ("OrderedReady", "Parallel"):
        problems.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    if strategy["type"] not in ("RollingUpdate", "OnDelete"):
        problems.invalid("spec.updateStrategy", _go_strategy(strategy), "must be 'RollingUpdate' or 'OnDelete'")
    _check_set(problems, _with_claims(spec), "statefulset", "StatefulSet")
    _check_counts(problems, spec, "minReadySeconds")


def _with_claims(spec: Object) -> Object:
    """The spec of a stateful set as its pods will have it: each claim is a volume, in place of one of that name."""
    claims = [claim.get("metadata", {}).get("name", "") for claim in spec.get("volumeClaimTemplates", ())]
    if not claims:
        return spec
    template = spec["template"]
    kept = [volume for volume in template["spec"].get("volumes", ()) if volume.get("name") not in claims]
    made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    return {**spec, "template": {**template, "spec": {**template["spec"], "volumes": [*made, *kept]}}}


def check_daemon_set(problems: Problems, daemon_set: Object) -> None:
    spec = daemon_set["spec"]
    known = len(problems.causes)
    check_label_selector(problems, spec.get("selector"), "spec.selector")
    if spec.get("selector") == {}:
        problems.invalid("spec.selector", {}, "empty selector is invalid for daemonset")
    if len(problems.causes) == known:
        _check_template(problems, spec, "DaemonSet")
    else:
        check_template(problems, spec["template"], _TEMPLATE)
    _check_counts(problems, spec, "minReadySeconds", "revisionHistoryLimit")
    _check_daemon_strategy(problems, spec["updateStrategy"])


def _check_daemon_strategy(problems: Problems, strategy: Object) -> None:
    match strategy["type"]:
        case "OnDelete":
            pass
        case "RollingUpdate":
            # Filled in for this type only.
            rolling = strategy["rollingUpdate"]
            if is_nothing(rolling["maxUnavailable"]) and is_nothing(rolling["maxSurge"]):
                path = "spec.updateStrategy.rollingUpdate.maxUnavailable"
                problems.required(path, "cannot be 0 when maxSurge is 0")
        case _:
            problems.unsupported("spec.updateStrategy", _go_strategy(strategy), ("RollingUpdate", "OnDelete"))


def check_replication_controller(problems: Problems, controller: Object) -> None:
    spec = controller["spec"]
    selector = spec.get("selector", {})
    if not selector:
        problems.required("spec.selector")
    check_labels(problems, selector, "spec.selector")
    _check_counts(problems, spec, "replicas", "minReadySeconds")
    labels = spec["template"]["metadata"].get("labels", {})
    if any(labels.get(key) != value for key, value in selector.items()):
        problems.invalid(f"{_TEMPLATE}.metadata.labels", labels or None, _MISMATCH)
    check_template(problems, spec["template"], _TEMPLATE)
    _check_always(problems, spec["template"]["spec"], "ReplicationController")


def check_template(problems: Problems, template: Object, path: str) -> None:
    """Check a template of pods, whatever it belongs to."""
    metadata = template.get("metadata", {})
    check_labels(problems, metadata.get("labels", {}), f"{path}.labels")
    check_annotations(problems, metadata.get("annotations", {}), f"{path}.annotations")
    pods.check_spec(problems, template.get("spec", {}), f"{path}.spec")


def selects(selector: Object | None, labels: Mapping[str, str]) -> bool:
    """Whether a selector finds these labels; one that is not there or not valid finds none."""
    if selector is None:
        return False
    try:
        return compile_label_selector(msgspec.convert(selector, LabelSelector)).matches(labels)
    except SelectorError:
        return False


def check_share(problems: Problems, amount: Any, path: str, *, is_bounded: bool = True) -> None:
    """Check a number of pods, or a part of all; at most all of them where that is the bound."""
    if isinstance(amount, int):
        problems.check_not_negative(path, amount)
    elif not _PERCENT.fullmatch(amount):
        problems.invalid(path, amount, _PERCENT_RULE)
    elif is_bounded and (len(amount) > 8 or int(amount[:-1]) > 100):
        problems.invalid(path, amount, "must not be greater than 100%")


def is_nothing(amount: Any) -> bool:
    """Whether a share is none at all."""
    return amount == 0 or (isinstance(amount, str) and bool(_PERCENT.fullmatch(amount)) and not amount[:-1].strip("0"))


def _check_set(problems: Problems, spec: Object, kind: str, template_kind: str) -> None:
    """Check what deployments, replica sets and stateful sets have in common."""
    _check_counts(problems, spec, "replicas")
    selector = spec.get("selector")
    if selector is None:
        problems.required("spec.selector")
    elif not selector:
        problems.invalid("spec.selector", {}, f"empty selector is invalid for {kind}")
    else:
        known = len(problems.causes)
        check_label_selector(problems, selector, "spec.selector")
        if len(problems.causes) > known:
            problems.invalid("spec.selector", selector, "" if kind == "statefulset" else "invalid label selector")
            pods.check_spec(problems, spec["template"]["spec"], f"{_TEMPLATE}.spec")
            return
    _check_template(problems, spec, template_kind)


def _check_template(problems: Problems, spec: Object, kind: str) -> None:
    template = spec["template"]
    labels = template["metadata"].get("labels")
    if not selects(spec.get("selector"), labels or {}):
        problems.invalid(f"{_TEMPLATE}.metadata.labels", labels, _MISMATCH)
    check_template(problems, template, _TEMPLATE)
    _check_always(problems, template["spec"], kind)


def _check_always(problems: Problems, spec: Object, kind: str) -> None:
    """Pods that are replaced when they end must not end by themselves."""
    policy = spec.get("restartPolicy", "")
    if policy in pods.RESTART_POLICIES and policy != "Always":
        problems.unsupported(f"{_TEMPLATE}.spec.restartPolicy", policy, ("Always",))
    if "activeDeadlineSeconds" in spec:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        problems.forbidden(f"{_TEMPLATE}.spec.activeDeadlineSeconds", detail)


def _check_strategy(problems: Problems, strategy: Object) -> None:
    path, rolling = "spec.strategy", strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                detail = "may not be specified when strategy `type` is 'Recreate'"
                problems.forbidden(f"{path}.rollingUpdate", detail)
        case "RollingUpdate":
            path = f"{path}.rollingUpdate"
            surge, unavailable = (rolling or {}).get("maxSurge", 0), (rolling or {}).get("maxUnavailable", 0)
            check_share(problems, surge, f"{path}.maxSurge", is_bounded=False)
            check_share(problems, unavailable, f"{path}.maxUnavailable")
            if is_nothing(surge) and is_nothing(unavailable):
                problems.invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
        case _:
            problems.unsupported(path, _go_strategy(strategy), ("Recreate", "RollingUpdate"))


def _check_counts(problems: Problems, spec: Object, *fields: str) -> None:
    for field in fields:
        problems.check_not_negative(f"spec.{field}", spec.get(field))


def _go_strategy(strategy: Object) -> Object:
    return {"Type": strategy.get("type", ""), "RollingUpdate": strategy.get("rollingUpdate")}
