"""Rules of what keeps pods running (deployments, sets, jobs), and of what may change about it later."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from stowplan.embedded.admission.defaults.workloads import CONTROLLER_UID
from stowplan.embedded.admission.validation import pods
from stowplan.embedded.admission.validation.field import NOT_NEGATIVE, Field
from stowplan.embedded.admission.validation.metadata import check_annotations, check_label_selector, check_labels
from stowplan.embedded.objects.cron_schedule import ScheduleError, parse
from stowplan.embedded.objects.resource import Object
from stowplan.model.meta import LabelSelector
from stowplan.model.selectors import SelectorError, compile_label_selector

_PERCENT: Final = re.compile(r"[0-9]+%")
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_MISMATCH: Final = "`selector` does not match template `labels`"
_JOB_COUNTS: Final = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
#: Of a cron job: its jobs have eleven characters more.
_LONGEST_CRON_JOB_NAME: Final = 52
_CHANGEABLE_OF_STATEFUL_SET: Final = (
    *("replicas", "ordinals", "template", "updateStrategy"),
    *("revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
)
#: Of a job that waits, these parts of its pods may still be set, by whoever queues it.
_CHANGEABLE_WHILE_SUSPENDED: Final = ("nodeSelector", "affinity", "tolerations", "schedulingGates")


def check_deployment(deployment: Field) -> None:
    spec = deployment["spec"]
    _check_set(spec, "deployment", "ReplicaSet")
    _check_counts(spec, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec["progressDeadlineSeconds"]
    if deadline.value is not None and deadline.value <= spec.get("minReadySeconds", 0):
        deadline.invalid("must be greater than minReadySeconds")
    _check_strategy(spec["strategy"])


def check_replica_set(replica_set: Field) -> None:
    _check_set(replica_set["spec"], "deployment", "ReplicaSet")
    _check_counts(replica_set["spec"], "minReadySeconds")


def check_stateful_set(stateful_set: Field) -> None:
    spec = stateful_set["spec"]
    policy, strategy = spec["podManagementPolicy"], spec["updateStrategy"]
    if policy.value not in ("OrderedReady", "Parallel"):
        policy.invalid("must be 'OrderedReady' or 'Parallel'")
    if strategy.get("type") not in ("RollingUpdate", "OnDelete"):
        strategy.invalid("must be 'RollingUpdate' or 'OnDelete'", _go_strategy(strategy))
    _check_set(Field(spec.problems, spec.path, _with_claims(spec.value)), "statefulset", "StatefulSet")
    _check_counts(spec, "minReadySeconds")


def check_daemon_set(daemon_set: Field) -> None:
    spec = daemon_set["spec"]
    selector = spec["selector"]
    is_fine = check_label_selector(selector) and selector.value != {}
    if selector.value == {}:
        selector.invalid("empty selector is invalid for daemonset")
    if is_fine:
        _check_selected_template(spec, "DaemonSet")
    else:
        _check_template(spec["template"])
    _check_counts(spec, "minReadySeconds", "revisionHistoryLimit")
    strategy, rolling = spec["updateStrategy"], spec["updateStrategy"]["rollingUpdate"]
    match strategy.get("type"):
        case "OnDelete":
            pass
        case "RollingUpdate":
            # Filled in for this type only.
            if _is_nothing(rolling.get("maxUnavailable")) and _is_nothing(rolling.get("maxSurge")):
                rolling["maxUnavailable"].required("cannot be 0 when maxSurge is 0")
        case _:
            strategy.unsupported(("RollingUpdate", "OnDelete"), _go_strategy(strategy))


def check_replication_controller(controller: Field) -> None:
    spec = controller["spec"]
    selector, template = spec["selector"], spec["template"]
    selector.check_needed()
    check_labels(selector)
    _check_counts(spec, "replicas", "minReadySeconds")
    labels = template["metadata"].get("labels", {})
    if any(labels.get(key) != value for key, value in (selector.value or {}).items()):
        template["metadata"]["labels"].invalid(_MISMATCH, labels or None)
    _check_template(template)
    _check_always(template["spec"], "ReplicationController")


def check_job(job: Field) -> None:
    """Check a job."""
    spec = job["spec"]
    _check_job_spec(spec)
    selector, labels = spec["selector"], spec["template"]["metadata"]["labels"]
    if selector.value is None:
        selector.required()
    else:
        check_label_selector(selector)
        # A job that makes its own selector must have nothing else in it.
        own = {"matchLabels": {CONTROLLER_UID: job["metadata"].get("uid")}}
        if not spec.get("manualSelector") and selector.value != own:
            selector.invalid("`selector` not auto-generated")
    if not selects(selector.value, labels.value or {}):
        labels.invalid(_MISMATCH)


def check_cron_job(cron_job: Field) -> None:
    """Check a cron job and what its jobs will be made from."""
    spec, name = cron_job["spec"], cron_job["metadata"]["name"]
    if len(name.value or "") > _LONGEST_CRON_JOB_NAME:
        name.invalid(f"must be no more than {_LONGEST_CRON_JOB_NAME} characters")
    spec["schedule"].check_needed(_schedule)
    spec["timeZone"].check_set(_time_zone)
    spec["concurrencyPolicy"].check_one_of(("Allow", "Forbid", "Replace"))
    _check_counts(spec, "startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    _check_job_spec(spec["jobTemplate"]["spec"])


def check_stateful_set_update(stateful_set: Field, before: Object) -> None:
    spec, old = stateful_set["spec"], before["spec"]
    fixed = (spec.value.keys() | old.keys()).difference(_CHANGEABLE_OF_STATEFUL_SET)
    if any(spec.get(field) != old.get(field) for field in fixed):
        *most, last = (f"'{field}'" for field in _CHANGEABLE_OF_STATEFUL_SET)
        others = f"{', '.join(most)} and {last}"
        spec.forbidden(f"updates to statefulset spec for fields other than {others} are forbidden")


def check_job_update(job: Field, before: Object) -> None:
    spec, old = job["spec"], before["spec"]
    is_elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if not is_elastic:
        spec["completions"].check_unchanged(old.get("completions"))
    spec["selector"].check_unchanged(old.get("selector"))
    if _fixed_template(spec.value, old) != old["template"]:
        spec["template"].check_unchanged(old["template"])
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy"):
        spec[field].check_unchanged(old.get(field))


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


def _check_set(spec: Field, kind: str, template_kind: str) -> None:
    """Check what deployments, replica sets and stateful sets have in common."""
    _check_counts(spec, "replicas")
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
        labels.invalid(_MISMATCH)
    _check_template(template)
    _check_always(template["spec"], kind)


def _check_template(template: Field) -> None:
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


def _with_claims(spec: Object) -> Object:
    """The spec of a stateful set as its pods will have it: each claim is a volume, in place of one of that name."""
    claims = [claim.get("metadata", {}).get("name", "") for claim in spec.get("volumeClaimTemplates", ())]
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


def _check_counts(spec: Field, *fields: str) -> None:
    for field in fields:
        if (spec.get(field) or 0) < 0:
            spec[field].check_not_negative()


def _check_job_spec(spec: Field) -> None:
    _check_counts(spec, *_JOB_COUNTS)
    spec["completionMode"].check_one_of(("NonIndexed", "Indexed"))
    if spec.get("completionMode") == "Indexed" and "completions" not in spec:
        spec["completions"].required("when completion mode is Indexed")
    _check_template(spec["template"])
    policy = spec["template"]["spec"]["restartPolicy"]
    if policy.value in (None, "", "Always"):
        policy.required('valid values: "OnFailure", "Never"')
    else:
        policy.check_one_of(("OnFailure", "Never"))


def _schedule(text: str) -> Iterable[str]:
    try:
        parse(text)
    except ScheduleError as wrong:
        yield str(wrong)


def _time_zone(zone: str) -> Iterable[str]:
    if not zone:
        return ("timeZone must be nil or non-empty string",)
    if zone.lower() == "local":
        return ("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",)
    try:
        ZoneInfo(zone)
    except (KeyError, OSError, ValueError):
        return (f"unknown time zone {zone}",)
    return ()


def _fixed_template(spec: Object, old: Object) -> Object:
    """The new template of a job, with what may change put back."""
    template: Object = spec["template"]
    if not (old.get("suspend") and template != old["template"]):
        return template
    pod_spec, kept = dict(template.get("spec", {})), old["template"].get("spec", {})
    for field in _CHANGEABLE_WHILE_SUSPENDED:
        pod_spec.pop(field, None)
        if field in kept:
            pod_spec[field] = kept[field]
    # Its labels and annotations are changeable too.
    return {**template, "metadata": old["template"].get("metadata", {}), "spec": pod_spec}
