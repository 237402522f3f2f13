"""Rules of jobs and of what makes them, and of what may change about them later."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from zoneinfo import ZoneInfo

from stowplan.embedded.admission.defaults.workloads import CONTROLLER_UID
from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import Field
from stowplan.embedded.admission.validation.metadata import check_label_selector
from stowplan.embedded.admission.validation.workloads import MISMATCH, check_counts, check_template, selects
from stowplan.embedded.objects.cron_schedule import ScheduleError, parse
from stowplan.embedded.objects.resource import Object

_COUNTS: Final = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)
#: Of a cron job: its jobs have eleven characters more.
_LONGEST_CRON_JOB_NAME: Final = 52
#: Of a job that waits, these parts of its pods may still be set, by whoever queues it.
_CHANGEABLE_WHILE_SUSPENDED: Final = ("nodeSelector", "affinity", "tolerations", "schedulingGates")
_LONGEST_MANAGER_BYTES: Final = 63
_IS_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_PATH_RULE: Final = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')"
#: Indexes that may run side by side, or fail, and as much of a job of very many of which each has tries of its own.
_MOST_INDEXES: Final = 100_000
_MOST_OF_VERY_MANY: Final = 10_000
_MOST_RULES: Final = 20
_MOST_PATTERNS: Final = 20
_MOST_EXIT_CODES: Final = 255
_LONGEST_INDEXES_BYTES: Final = 64 * 1024
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")


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
        labels.invalid(MISMATCH)


def check_cron_job(cron_job: Field) -> None:
    """Check a cron job and what its jobs will be made from."""
    spec, name = cron_job["spec"], cron_job["metadata"]["name"]
    if len(name.value or "") > _LONGEST_CRON_JOB_NAME:
        name.invalid(f"must be no more than {_LONGEST_CRON_JOB_NAME} characters")
    spec["schedule"].check_needed(_schedule)
    spec["timeZone"].check_set(_time_zone)
    spec["concurrencyPolicy"].check_one_of(("Allow", "Forbid", "Replace"))
    check_counts(spec, "startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    made = spec["jobTemplate"]["spec"]
    _check_job_spec(made)
    if "selector" in made:
        made["selector"].invalid("`selector` will be auto-generated")
    if made.get("manualSelector"):
        made["manualSelector"].unsupported(("nil", "false"))


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


def _check_job_spec(spec: Field) -> None:
    check_counts(spec, *_COUNTS)
    spec["completionMode"].check_one_of(("NonIndexed", "Indexed"))
    if "managedBy" in spec:
        _check_manager(spec["managedBy"])
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        spec["backoffLimitPerIndex"].required("when maxFailedIndexes is specified")
    if spec.get("completionMode") == "Indexed":
        _check_indexed(spec)
    else:
        _check_not_indexed(spec)
    check_template(spec["template"])
    policy = spec["template"]["spec"]["restartPolicy"]
    if policy.value in (None, "", "Always"):
        policy.required('valid values: "OnFailure", "Never"')
    else:
        policy.check_one_of(("OnFailure", "Never"))
    is_failure_told = "podFailurePolicy" in spec
    if is_failure_told:
        _check_failure_policy(spec)
    spec["podReplacementPolicy"].check_one_of(("Failed",) if is_failure_told else ("Failed", "TerminatingOrFailed"))


def _check_manager(manager: Field) -> None:
    """Check who looks after a job in place of the controller: a path within somebody's domain."""
    if not manager.check_needed():
        return
    host, _, path = manager.value.partition("/")
    if not host or not path:
        manager.invalid('must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        manager.check_other(host, names.subdomain)
        manager.check_other(path, lambda text: () if _IS_PATH.fullmatch(text) else (_PATH_RULE,))
    if len(manager.value.encode()) > _LONGEST_MANAGER_BYTES:
        manager.too_long(_LONGEST_MANAGER_BYTES)


def _check_indexed(spec: Field) -> None:
    """Check what only jobs have whose pods are numbered."""
    completions, parallelism, failed = spec["completions"], spec["parallelism"], spec["maxFailedIndexes"]
    if completions.value is None:
        completions.required("when completion mode is Indexed")
        return
    parallelism.check_at_most(
        _MOST_INDEXES, f"must be less than or equal to {_MOST_INDEXES} when completion mode is Indexed"
    )
    failed.check_at_most(completions.value, "must be less than or equal to completions")
    failed.check_at_most(_MOST_INDEXES, f"must be less than or equal to {_MOST_INDEXES}")
    if completions.value > _MOST_INDEXES and "backoffLimitPerIndex" in spec:
        if failed.value is None:
            failed.required(f"must be specified when completions is above {_MOST_INDEXES}")
        detail = (
            f"must be less than or equal to {_MOST_OF_VERY_MANY} when completions are above {_MOST_INDEXES} and used "
            "with backoff limit per index"
        )
        for field in (parallelism, failed):
            field.check_at_most(_MOST_OF_VERY_MANY, detail)
    if "successPolicy" in spec:
        _check_success_policy(spec["successPolicy"]["rules"], completions.value)


def _check_not_indexed(spec: Field) -> None:
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if name in spec:
            spec[name].invalid("requires indexed completion mode")
    if "successPolicy" in spec:
        rules = spec["successPolicy"].get("rules")
        # The fields as Go has them, as upstream shows them.
        shown = rules and [
            {"SucceededIndexes": rule.get("succeededIndexes"), "SucceededCount": rule.get("succeededCount")}
            for rule in rules
        ]
        spec["successPolicy"].invalid("requires indexed completion mode", {"Rules": shown})


def _check_success_policy(rules: Field, completions: int) -> None:
    rules.check_needed(detail="at least one rules must be specified when the successPolicy is specified")
    rules.check_number_of_items(_MOST_RULES)
    for rule in rules:
        indexes, count = rule["succeededIndexes"], rule["succeededCount"]
        if indexes.value is None and count.value is None:
            rule.required("at least one of succeededCount or succeededIndexes must be specified")
        named = None if indexes.value is None else _check_indexes(indexes, completions)
        count.check_not_negative()
        count.check_at_most(
            completions, f"must be less than or equal to {completions} (the number of specified completions)"
        )
        if named is not None:
            whose = "the number of indexes in the specified succeededIndexes field"
            count.check_at_most(named, f"must be less than or equal to {named} ({whose})")


def _check_indexes(indexes: Field, completions: int) -> int:
    """Refuse indexes that are none of a job, such as `1,3-5`; return how many they are, none if they are refused."""
    if len(indexes.value) > _LONGEST_INDEXES_BYTES:
        indexes.too_long(_LONGEST_INDEXES_BYTES)
    try:
        return sum(last - first + 1 for first, last in _intervals(indexes.value, completions))
    except ValueError as wrong:
        indexes.invalid(f"error parsing succeededIndexes: {wrong}")
        return 0


def _intervals(text: str, completions: int) -> Iterator[tuple[int, int]]:
    before: int | None = None
    for fragment in text.split(",") if text else ():
        ends = fragment.split("-")
        if len(ends) > 2:
            rule = "violates the requirement that an index interval can have at most two parts separated by '-'"
            raise ValueError(f'the fragment "{fragment}" {rule}')
        for index in [_index(end, completions) for end in ends]:
            if before is not None and before >= index:
                raise ValueError(f"non-increasing order, previous: {before}, current: {index}")
            before = index
        yield int(ends[0]), int(ends[-1])


def _index(text: str, completions: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ValueError(f'cannot convert string to integer for index: "{text}"')
    if int(text) >= completions:
        raise ValueError(f'too large index: "{text}"')
    return int(text)


def _check_failure_policy(spec: Field) -> None:
    """Check what is to become of a job when a pod of it fails."""
    policy = spec["template"]["spec"]["restartPolicy"]
    if policy.value != "Never":
        policy.invalid('only "Never" is supported when podFailurePolicy is specified', policy.value or "")
    rules = spec["podFailurePolicy"]["rules"]
    rules.check_number_of_items(_MOST_RULES)
    pods = spec["template"]["spec"]
    containers = {each.get("name") for field in ("containers", "initContainers") for each in pods.get(field) or ()}
    for rule in rules:
        _check_action(rule["action"], has_tries_per_index="backoffLimitPerIndex" in spec)
        codes, patterns = rule["onExitCodes"], rule["onPodConditions"]
        if codes.value is not None:
            _check_exit_codes(codes, containers)
        patterns.check_number_of_items(_MOST_PATTERNS)
        for pattern in patterns:
            pattern["type"].check(names.qualified)
            pattern["status"].check_is_one_of(("False", "True", "Unknown"))
        if codes.value is not None and patterns:
            rule.refuse("specifying both OnExitCodes and OnPodConditions is not supported")
        elif codes.value is None and not patterns:
            rule.refuse("specifying one of OnExitCodes and OnPodConditions is required")


def _check_action(action: Field, *, has_tries_per_index: bool) -> None:
    if not action.check_needed(detail=_valid(_ACTIONS)):
        return
    if action.value == "FailIndex" and not has_tries_per_index:
        action.invalid("requires the backoffLimitPerIndex to be set")
    action.check_one_of(_ACTIONS)


def _check_exit_codes(codes: Field, containers: set[Any]) -> None:
    operator, values, container = codes["operator"], codes["values"], codes["containerName"]
    if operator.check_needed(detail=_valid(("In", "NotIn"))):
        operator.check_one_of(("In", "NotIn"))
    if container.value is not None and container.value not in containers:
        container.invalid("must be one of the container or initContainer names in the pod template")
    if not values:
        values.invalid("at least one value is required", [])
    elif values.check_number_of_items(_MOST_EXIT_CODES):
        taken: set[int] = set()
        for value in values:
            if value.value == 0 and operator.value == "In":
                value.invalid("must not be 0 for the In operator")
            value.check_unique(taken)
        if values.value != sorted(values.value):
            values.invalid("must be ordered")


def _valid(choices: Iterable[str]) -> str:
    """The choices as upstream lists them where there is none."""
    listed = " ".join(f'"{choice}"' for choice in choices)
    return f"valid values: [{listed}]"


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
