"""The Kubernetes releases that Stowplan decides like, and what tells them apart beside feature gates.

Each difference has a name in `CHANGES`, and exactly one place that asks for it, as `gates.changed(name)`: gates and the
release go together everywhere (`feature_gates.py`). `docs/releases.md` has the list as a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

#: Oldest first; what each is compared with is the patch release that the corpus was recorded from.
RELEASES: Final[Mapping[str, str]] = MappingProxyType({"1.36": "1.36.4", "1.37": "1.37.1"})
OLDEST, DEFAULT = next(iter(RELEASES)), list(RELEASES)[-1]
_COMPONENT: Final = "kube"
_NUMBERS: Final = re.compile(r"v?(\d+)\.(\d+)(.*)")


class ReleaseError(ValueError):
    """A release that is not one, or none of ours; the text is upstream's where upstream has wording."""


class ReleaseChange(msgspec.Struct, frozen=True):
    """What a release does in another way than those before it."""

    since: str
    #: For the documentation: what is different, seen by a user.
    what: str


CHANGES: Final[Mapping[str, ReleaseChange]] = MappingProxyType(
    {
        "ImageVolumesCount": ReleaseChange(
            "1.37", "ImageLocality expects as much of a pod's image volumes as of its containers, so it scores lower"
        ),
        "NewPreFilterPoints": ReleaseChange(
            "1.37",
            "NodeName, NodeUnschedulable and TaintToleration take part in PreFilter; a pod that names its node is tried"
            " on no other, and told so as `node(s) didn't satisfy plugin(s) [NodeName]`",
        ),
        "NamespacesByName": ReleaseChange(
            "1.37",
            "affinity to pods of selected namespaces is about these alone; a selector that only says what must not be"
            " there was about pods of every namespace",
        ),
        "NodeNameFirst": ReleaseChange("1.37", "NodeName comes before NodeUnschedulable in the default profile"),
        "PodGroupPostFilter": ReleaseChange("1.37", "profiles have the extension point `podGroupPostFilter`"),
        "SumsOfResizedPods": ReleaseChange(
            "1.37",
            "a pod that is resized holds the most of what its containers ask for, were promised and have in force, each"
            " summed over the pod; it was the sum of every container's most",
        ),
        # Devices
        "AllDevicesWithTooLittleLeft": ReleaseChange(
            "1.37", "a request for all devices fails if too little is left of one, and does not go without that one"
        ),
        "AllocatedConfigurationOnce": ReleaseChange(
            "1.37", "a configuration is written into an allocation once, and without requests if it is for all of them"
        ),
        "ClaimLimitByRequest": ReleaseChange(
            "1.37", "a claim for more than 32 devices is refused at the request that exceeds the limit, in other words"
        ),
        "DeletedClaims": ReleaseChange("1.37", "a claim that is deleted with devices helps pods that wait for some"),
        "DeviceTaintRulesOfV1": ReleaseChange(
            "1.37", "DeviceTaintRules are read from resource.k8s.io/v1, where one without a selector selects no device"
        ),
        "DistinctAttributeOfEveryDevice": ReleaseChange(
            "1.37", "`distinctAttribute` tells all devices apart, not just the last ones of each request"
        ),
        "InFlightUntilPrepared": ReleaseChange(
            "1.37", "devices count as being given until all that comes before the binding of their pod is done"
        ),
        "ListAttributesInConstraints": ReleaseChange(
            "1.37", "constraints see lists with DRAListTypeAttributes, and selectors see them without it, too"
        ),
        "NodeAllocatableOverhead": ReleaseChange(
            "1.37",
            "with DRANodeAllocatableResources, devices say what they take of their node in `nodeAllocatableResources`,"
            " where parts of the node are told from what using a device costs",
        ),
        "SelectorErrorsNameDevices": ReleaseChange(
            "1.37", "an error of a selector names the device, and says what may help"
        ),
        "SharedCountersOfNodes": ReleaseChange(
            "1.37", "a slice with shared counters concerns the nodes it is for, not every node"
        ),
        "SharesWithoutCapacity": ReleaseChange(
            "1.37", "a device that is shared without any capacity has drawn on its counters, and does so only once"
        ),
        "SilentDeallocation": ReleaseChange(
            "1.37", "a message about a pod that fits nowhere mentions the devices of claims only if some are given back"
        ),
        "UnrepresentableCapacityRequests": ReleaseChange(
            "1.37", "a request for capacity that cannot be reckoned with is an error, as is a negative capacity"
        ),
        # Preemption
        "PreemptionTellsPlacement": ReleaseChange(
            "1.37", "condition and event of a pod that preempts name the node and the number of victims"
        ),
        "FirstViolatedBudgetEndsTheCount": ReleaseChange(
            "1.37", "a victim that violates a disruption budget is not charged to the budgets after that one"
        ),
        "TurnedBackVictimActivates": ReleaseChange(
            "1.37", "a pod whose last victim was still on its way to its node is tried again at once"
        ),
        # Queue
        "TaintsConcernTheirPlugins": ReleaseChange(
            "1.37", "changed taints of a node bring back only pods that were rejected by a plugin that awaits them"
        ),
        "TargetPodEvents": ReleaseChange(
            "1.37",
            "plugins await changes of placed pods (AssignedPod) and of the rejected pod itself (TargetPod) apart",
        ),
        "AnyAntiAffinityTermRequeues": ReleaseChange(
            "1.37", "InterPodAffinity: one term of anti-affinity that is about a pod is enough for its end to help"
        ),
        "GatedPodsAreNominated": ReleaseChange(
            "1.37", "a pod that is gated when it comes counts on the node it is nominated to all the same"
        ),
        "UnknownUpdateIsAnAddition": ReleaseChange(
            "1.37", "metrics: a pod that is first heard of by an update counts as added to the queue"
        ),
        # Writes
        "BindingIsRetried": ReleaseChange(
            "1.37", "a binding is posted up to four times if the API server fails or is not available"
        ),
        "DumpNamesEntities": ReleaseChange(
            "1.37", "what SIGUSR2 writes counts unschedulableEntities, not unschedulablePods"
        ),
        # Metrics
        "MetricsOf137": ReleaseChange("1.37", "metrics: new ones, other names, labels, texts and stability levels"),
        "PodEventLabels": ReleaseChange(
            "1.37",
            "metrics: events of pending pods are called UnscheduledPod... and TargetPod..., not UnschedulablePod...",
        ),
        # Groups
        "PodGroupsOfV1Beta1": ReleaseChange("1.37", "pod groups are read from scheduling.k8s.io/v1beta1, not v1alpha2"),
        "PodGroupInitiallyScheduled": ReleaseChange(
            "1.37", "the condition of a pod group that tells how its attempts went is PodGroupInitiallyScheduled"
        ),
    }
)


def number(release: str) -> tuple[int, int]:
    """Return a release as numbers, which have an order."""
    major, _, minor = release.partition(".")
    return int(major), int(minor)


def previous(release: str) -> str:
    """Return the release before, which a component is taken to be compatible with."""
    major, minor = number(release)
    return f"{major}.{minor - 1}"


def check(release: str) -> str:
    """Return a release if it is one of ours; raise ReleaseError otherwise."""
    if release not in RELEASES:
        raise ReleaseError(f"emulation version {release} is not between [{OLDEST}, {DEFAULT}]")
    return release


def parse(texts: Iterable[str], flag: str) -> str | None:
    """Read values of a flag such as `kube=1.36`, or just `1.36`; None if there are none."""
    found = None
    for text in texts:
        component, equals, version = text.strip().rpartition("=")
        if equals and component != _COMPONENT:
            raise ReleaseError(f"--{flag}: component not registered: {component}; write {_COMPONENT}={version}")
        match = _NUMBERS.fullmatch(version)
        if match is None:
            raise ReleaseError(
                f'--{flag}: could not parse "{version}" as version; write such as {_COMPONENT}={DEFAULT}'
            )
        if match[3] and match[3] != ".0":
            raise ReleaseError(f"--{flag}: patch version not allowed, got: {_COMPONENT}={version}")
        if found is not None:
            raise ReleaseError(f"--{flag}: duplicate version flag, {_COMPONENT}={found} and {_COMPONENT}={version}")
        found = f"{match[1]}.{match[2]}"
    return found


def following(server_version: str) -> tuple[str, str]:
    """Return the release to decide like beside an API server of a version such as `v1.36.4`, and why."""
    match = _NUMBERS.fullmatch(server_version)
    if match is None:
        return DEFAULT, f"the API server does not say which release it is ({server_version!r})"
    release = f"{match[1]}.{match[2]}"
    if release in RELEASES:
        return release, f"the API server is {server_version}"
    if number(release) < number(OLDEST):
        return OLDEST, f"the API server is {server_version}, older than any release that is supported"
    return DEFAULT, f"the API server is {server_version}, newer than any release that is supported"
