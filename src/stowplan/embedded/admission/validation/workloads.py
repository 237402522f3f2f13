"""Rules of what keeps pods running (deployments, sets; `jobs` are apart), and of what may change about it later."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from stowplan.embedded.admission.validation import names, pods, storage
from stowplan.embedded.admission.validation.field import NOT_NEGATIVE, Field
from stowplan.embedded.admission.validation.metadata import check_annotations, check_label_selector, check_labels
from stowplan.embedded.objects.releases import changed
from stowplan.embedded.objects.resource import Object
from stowplan.model.meta import LabelSelector
from stowplan.model.selectors import SelectorError, compile_label_selector

_PERCENT: Final = re.compile(r"[0-9]+%")
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
MISMATCH: Final = "`selector` does not match template `labels`"
_CHANGEABLE_OF_STATEFUL_SET: Final = (
    *("replicas", "ordinals", "template", "updateStrategy"),
    *("revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
)


def check_deployment(deployment: Field) -> None:
    spec = deployment["spec"]
    _check_set(spec, "deployment", "ReplicaSet")
    check_counts(spec, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec["progressDeadlineSeconds"]
    if deadline.value is not None and deadline.value <= spec.get("minReadySeconds", 0):
        deadline.invalid("must be greater than minReadySeconds")
    _check_strategy(spec["strategy"])


def check_replica_set(replica_set: Field) -> None:
    _check_set(replica_set["spec"], "deployment", "ReplicaSet")
    check_counts(replica_set["spec"], "minReadySeconds")


def check_stateful_set(stateful_set: Field) -> None:
    spec = stateful_set["spec"]
    policy, strategy = spec["podManagementPolicy"], spec["updateStrategy"]
    if policy.value not in ("OrderedReady", "Parallel"):
        policy.invalid("must be 'OrderedReady' or 'Parallel'")
    if strategy.get("type") not in ("RollingUpdate", "OnDelete"):
        strategy.invalid("must be 'RollingUpdate' or 'OnDelete'", _go_strategy(strategy))
    _check_set(Field(spec.problems, spec.path, _with_claims(spec.value)), "statefulset", "StatefulSet")
    check_counts(spec, "minReadySeconds")
    check_counts(spec["ordinals"], "start")
    for when in ("whenDeleted", "whenScaled"):
        spec["persistentVolumeClaimRetentionPolicy"][when].check_one_of(("Retain", "Delete"))
    _check_rolling_update(strategy["rollingUpdate"], strategy.get("type", ""))


def check_new_stateful_set(stateful_set: Field) -> None:
    """Check what cannot be changed later, and may be wrong in what an older release has taken."""
    spec = stateful_set["spec"]
    spec["serviceName"].check_given(names.label)
    for template in spec["volumeClaimTemplates"]:
        storage.check_claim(template)


def check_daemon_set(daemon_set: Field) -> None:
    spec = daemon_set["spec"]
    selector = spec["selector"]
    is_fine = check_label_selector(selector) and selector.value != {}
    if selector.value == {}:
        selector.invalid("empty selector is invalid for daemonset")
    if is_fine:
        _check_selected_template(spec, "DaemonSet")
    else:
        check_template(spec["template"])
    check_counts(spec, "minReadySeconds", "revisionHistoryLimit")
    strategy, rolling = spec["updateStrategy"], spec["updateStrategy"]["rollingUpdate"]
    match strategy.get("type"):
        case "OnDelete":
            pass
        case "RollingUpdate":
            # Filled in for this type only.
            surge, unavailable = rolling["maxSurge"], rolling["maxUnavailable"]
            surge.check_set(share)
            unavailable.check_set(share)
            if _is_some(surge.value) and _is_some(unavailable.value):
                surge.invalid("may not be set when maxUnavailable is non-zero")
            elif not _is_some(surge.value) and not _is_some(unavailable.value):
                unavailable.required("cannot be 0 when maxSurge is 0")
        case _:
            strategy.unsupported(("RollingUpdate", "OnDelete"), _go_strategy(strategy))


def check_replication_controller(controller: Field) -> None:
    spec = controller["spec"]
    selector, template = spec["selector"], spec["template"]
    selector.check_needed()
    check_labels(selector)
    check_counts(spec, "replicas", "minReadySeconds")
    labels = template["metadata"].get("labels", {})
    if any(labels.get(key) != value for key, value in (selector.value or {}).items()):
        template["metadata"]["labels"].invalid(MISMATCH, labels or None)
    check_template(template)
    _check_always(template["spec"], "ReplicationController")


def check_stateful_set_update(stateful_set: Field, before: Object) -> None:
    spec, old = stateful_set["spec"], before["spec"]
    fixed = (spec.value.keys() | old.keys()).difference(_CHANGEABLE_OF_STATEFUL_SET)
    if any(spec.get(field) != old.get(field) for field in fixed):
        *most, last = (f"'{field}'" for field in _CHANGEABLE_OF_STATEFUL_SET)
        others = f"{', '.join(most)} and {last}"
        spec.forbidden(f"updates to statefulset spec for fields other than {others} are forbidden")


def selects(selector: Object | None, labels: Mapping[str, str]) -> bool:
    """Whether a selector finds these labels; one that is not there or not valid finds none."""
    if selector is None:
        return False
    try:
        return compile_label_selector(msgspec.convert(selector, LabelSelector)).matches(labels)
    except SelectorError:
        return False


def share(amount: Any) -> Iterable[str]:
    """The rule of a number of pods, or of a part of all: at most all of them."""
    if isinstance(amount, str) and _PERCENT.fullmatch(amount) and (len(amount) > 8 or int(amount[:-1]) > 100):
        return ("must not be greater than 100%",)
    return _unbounded_share(amount)


def _unbounded_share(amount: Any) -> Iterable[str]:
    if isinstance(amount, int):
        return (NOT_NEGATIVE,) if amount < 0 else ()
    return () if _PERCENT.fullmatch(amount) else (_PERCENT_RULE,)


def _is_nothing(amount: Any) -> bool:
    """Whether a share is none at all."""
    return amount == 0 or (isinstance(amount, str) and bool(_PERCENT.fullmatch(amount)) and not amount[:-1].strip("0"))


def _is_some(amount: Any) -> bool:
    """Whether a share is a number of pods at all, and not nothing."""
    is_number = isinstance(amount, int) or (isinstance(amount, str) and bool(_PERCENT.fullmatch(amount)))
    return is_number and not _is_nothing(amount)


def _check_set(spec: Field, kind: str, template_kind: str) -> None:
    """Check what deployments, replica sets and stateful sets have in common."""
    check_counts(spec, "replicas")
    selector = spec["selector"]
    if selector.value is None:
        selector.required()
    elif not selector.value:
        selector.invalid(f"empty selector is invalid for {kind}")
    elif not check_label_selector(selector):
        selector.invalid("" if kind == "statefulset" else "invalid label selector")
        pods.check_spec(spec["template"]["spec"])
        return
    _check_selected_template(spec, template_kind)


def _check_selected_template(spec: Field, kind: str) -> None:
    template = spec["template"]
    labels = template["metadata"]["labels"]
    if not selects(spec.get("selector"), labels.value or {}):
        labels.invalid(MISMATCH)
    check_template(template)
    _check_always(template["spec"], kind)


def check_template(template: Field) -> None:
    """Check a template of pods, whatever it belongs to. Upstream leaves `metadata` out of the paths."""
    metadata = template.get("metadata") or {}
    for field, check in (("labels", check_labels), ("annotations", check_annotations)):
        if field in metadata:
            check(Field(template.problems, field, metadata[field], template))
    pods.check_spec(template["spec"])


def _check_always(spec: Field, kind: str) -> None:
    """Pods that are replaced when they end must not end by themselves."""
    policy = spec["restartPolicy"]
    if policy.value in pods.RESTART_POLICIES:
        policy.check_one_of(("Always",))
    if "activeDeadlineSeconds" in spec:
        spec["activeDeadlineSeconds"].forbidden(f"activeDeadlineSeconds in {kind} is not Supported")


def _check_rolling_update(rolling: Field, kind: str) -> None:
    unavailable = rolling["maxUnavailable"]
    if kind == "OnDelete" and rolling.value is not None:
        shown = {"Partition": rolling.get("partition", 0), "MaxUnavailable": unavailable.value}
        rolling.invalid("only allowed for updateStrategy 'RollingUpdate'", shown)
    elif kind == "RollingUpdate":
        check_counts(rolling, "partition")
        if not changed("UnavailableOfSets", rolling.problems.release):
            return
        unavailable.check_set(share)
        if unavailable.value is not None and not _is_some(unavailable.value):
            unavailable.invalid("cannot be 0")


def _with_claims(spec: Object) -> Object:
    """The spec of a stateful set as its pods will have it: each claim is a volume, in place of one of that name."""
    templates = spec.get("volumeClaimTemplates", ())
    claims = list(dict.fromkeys(claim.get("metadata", {}).get("name", "") for claim in templates))
    if not claims:
        return spec
    template = spec["template"]
    kept = [volume for volume in template["spec"].get("volumes", ()) if volume.get("name") not in claims]
    made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    return {**spec, "template": {**template, "spec": {**template["spec"], "volumes": [*made, *kept]}}}


def _check_strategy(strategy: Field) -> None:
    rolling = strategy["rollingUpdate"]
    match strategy.get("type"):
        case "Recreate":
            if rolling.value is not None:
                rolling.forbidden("may not be specified when strategy `type` is 'Recreate'")
        case "RollingUpdate":
            surge, unavailable = rolling["maxSurge"], rolling["maxUnavailable"]
            surge.check(_unbounded_share, 0)
            unavailable.check(share, 0)
            least = rolling.get("maxUnavailable", 0)
            if _is_nothing(rolling.get("maxSurge", 0)) and _is_nothing(least):
                unavailable.invalid("may not be 0 when `maxSurge` is 0", least)
        case _:
            strategy.unsupported(("Recreate", "RollingUpdate"), _go_strategy(strategy))


def _go_strategy(strategy: Field) -> Object:
    return {"Type": strategy.get("type", ""), "RollingUpdate": strategy.get("rollingUpdate")}


def check_counts(spec: Field, *fields: str) -> None:
    for field in fields:
        if (spec.get(field) or 0) < 0:
            spec[field].check_not_negative()
