"""Requests for certificates: who asks is known from how he came in, and each condition has its times."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from stowplan.embedded.identity.users import ADMIN, User
from stowplan.embedded.objects.resource import Object
from stowplan.model.timestamps import format_time

REQUESTS: Final = "certificatesigningrequests.certificates.k8s.io"
_OF_THE_USER: Final = ("username", "uid", "groups", "extra")


def credit(request: Object, requester: User | None) -> None:
    """Write down who asks; what the request says of it is not believed."""
    spec = request.setdefault("spec", {})
    for field in _OF_THE_USER:
        spec.pop(field, None)
    # What this process itself puts in comes from whoever started it.
    spec.update((requester or ADMIN).described())


def date(request: Object, before: Object, now: datetime) -> None:
    """Say of each condition when it was written, and since when it holds."""
    known = {_kind(each): each for each in (before.get("status") or {}).get("conditions", ())}
    for condition in (request.get("status") or {}).get("conditions", ()):
        moment = format_time(now)
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or moment
        since = known.get(_kind(condition), {}).get("lastTransitionTime") or moment
        condition["lastTransitionTime"] = condition.get("lastTransitionTime") or since


def _kind(condition: Object) -> tuple[str, str]:
    return condition.get("type", ""), condition.get("status", "")
