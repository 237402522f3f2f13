"""Which pods belong to a set: those it controls and selects; orphans are adopted, pods that no longer match let go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stowplan.embedded.following import resources
from stowplan.embedded.following.owners import controller_of, controller_reference
from stowplan.embedded.following.pods import KnownPod, matching
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.model import decode
from stowplan.model.meta import LabelSelector
from stowplan.model.selectors import NOTHING, Selector, SelectorError, compile_label_selector


@dataclass(frozen=True, slots=True)
class Claimant:
    """An object that controls pods by a selector."""

    resource: Resource
    obj: Object
    selector: Selector

    @property
    def uid(self) -> str:
        uid: str = self.obj["metadata"]["uid"]
        return uid

    @property
    def namespace(self) -> str:
        namespace: str = self.obj["metadata"]["namespace"]
        return namespace

    @property
    def reference(self) -> Object:
        return controller_reference(self.resource, self.obj)


def save(api: Api, claimant: Claimant, subresource: str = "") -> None:
    """Write the object; what comes after works on what the API made of it."""
    key = claimant.namespace, claimant.obj["metadata"]["name"]
    saved = api.update(claimant.resource, *key, claimant.obj, subresource=subresource)
    claimant.obj.clear()
    claimant.obj.update(saved)


def selector_of(written: Any) -> Selector:
    """Compile a label selector as written; one that is missing or broken selects nothing."""
    if not isinstance(written, dict):
        return NOTHING
    try:
        return compile_label_selector(decode.convert(LabelSelector, written))
    except (SelectorError, decode.MalformedObject):
        return NOTHING


def claim(setting: Setting, claimant: Claimant, may_adopt: Callable[[KnownPod], bool] | None = None) -> list[KnownPod]:
    """Adopt and release pods, and list those that the claimant has then."""
    owned = setting.pods.owned_by(claimant.uid)
    own = matching(claimant.selector, owned)
    if "deletionTimestamp" in claimant.obj["metadata"]:
        return own
    orphans = setting.pods.orphans(claimant.namespace, claimant.selector)
    adopted = [pod for pod in orphans if pod.is_active and (may_adopt is None or may_adopt(pod))]
    for pod in adopted:
        _adopt(setting, claimant, pod)
    if len(own) < len(owned):
        kept = {pod.key for pod in own}
        for pod in owned:
            if pod.key not in kept and not pod.is_terminating:
                _release(setting, claimant, pod)
    if not adopted:
        return own
    setting.pods.follower.catch_up()
    return matching(claimant.selector, setting.pods.owned_by(claimant.uid))


def _adopt(setting: Setting, claimant: Claimant, pod: KnownPod) -> None:
    def add(obj: Object) -> None:
        if controller_of(obj) is None:
            obj["metadata"].setdefault("ownerReferences", []).append(claimant.reference)

    _change(setting, pod, add)


def _release(setting: Setting, claimant: Claimant, pod: KnownPod) -> None:
    def remove(obj: Object) -> None:
        references = obj["metadata"].get("ownerReferences", [])
        obj["metadata"]["ownerReferences"] = [each for each in references if each.get("uid") != claimant.uid]

    _change(setting, pod, remove)


def _change(setting: Setting, pod: KnownPod, edit: Callable[[Object], None]) -> None:
    resource = resources.pods(setting.api)
    try:
        obj = setting.api.get(resource, *pod.key)
        if obj["metadata"]["uid"] == pod.uid:
            edit(obj)
            setting.api.update(resource, *pod.key, obj)
    except StatusError as error:
        # Gone, or changed meanwhile: the next look decides anew.
        if error.code not in (404, 409):
            raise
