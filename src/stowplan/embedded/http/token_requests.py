"""TokenRequests: a service account is given a token, for so long, for whom, and bound to what is asked for.

`service_tokens` signs it, `authentication` believes it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from stowplan.embedded.identity.service_tokens import ISSUER, Account, Bound, Claims, Place, Signer
from stowplan.embedded.identity.users import account_name
from stowplan.embedded.objects.errors import Cause, StatusError, bad_request, invalid, not_found
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored
from stowplan.model.timestamps import format_time

#: What is sent to ask for the token of a service account.
TOKEN_REQUEST: Final = Resource("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests", "tokenrequest")

_USUAL_SECONDS: Final = 3600
_FEWEST_SECONDS: Final = 600
_MOST_SECONDS: Final = 2**32
#: What a token may be bound to, and the claim that says so.
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


def grant(api: Api, signer: Signer, obj: Object, account: Stored) -> Object:
    """Give out a token for a service account. Raise StatusError if it is not to be had as asked."""
    _check_metadata(obj.get("metadata") or {}, account)
    spec = obj.get("spec") or {}
    seconds = _seconds(spec)
    place = _place(api, spec.get("boundObjectRef"), account)
    audiences = spec.get("audiences") or [ISSUER]
    now = api.now()
    begin = int(now.timestamp())
    name = account_name(account.namespace, account.name)
    claims = Claims(name, tuple(audiences), begin, begin + seconds, place)
    return {
        **obj,
        "apiVersion": TOKEN_REQUEST.api_version,
        "kind": TOKEN_REQUEST.kind,
        "metadata": {
            "name": account.name,
            "namespace": account.namespace,
            "uid": account.uid,
            "creationTimestamp": format_time(now),
        },
        "spec": {"boundObjectRef": None, **spec, "audiences": audiences, "expirationSeconds": seconds},
        "status": {
            "token": signer.sign(claims),
            "expirationTimestamp": format_time(now + timedelta(seconds=seconds)),
        },
    }


def _check_metadata(meta: Object, account: Stored) -> None:
    """What a request says of the account has to be true, if it says anything."""
    for field, given, own in (
        ("name", meta.get("name"), account.name),
        ("namespace", meta.get("namespace"), account.namespace),
    ):
        if given and given != own:
            problem = f'Invalid value: "{given}": must match the service account {field} if specified'
            raise invalid(TOKEN_REQUEST, account.name, [Cause("FieldValueInvalid", f"metadata.{field}", problem)])
    uid = meta.get("uid")
    if uid and uid != account.uid:
        problem = f"the UID in the token request ({uid}) does not match the UID of the service account ({account.uid})"
        raise _conflict("authentication.k8s.io", "TokenRequest", account.name, problem)


def _seconds(spec: Object) -> int:
    seconds: int | None = spec.get("expirationSeconds")
    if seconds is None:
        return _USUAL_SECONDS
    if _FEWEST_SECONDS <= seconds <= _MOST_SECONDS:
        return seconds
    bound = "less than 10 minutes" if seconds < _FEWEST_SECONDS else "larger than 2^32 seconds"
    problem = f"Invalid value: {seconds}: may not specify a duration {bound}"
    raise invalid(TOKEN_REQUEST, "", [Cause("FieldValueInvalid", "spec.expirationSeconds", problem)])


def _place(api: Api, reference: Object | None, account: Stored) -> Place:
    """What a token says of its account, and of the object that it is bound to."""
    owner = Account(account.name, account.uid)
    if reference is None:
        return Place(account.namespace, owner)
    kind, version, name = (reference.get(field) or "" for field in ("kind", "apiVersion", "name"))
    if kind not in _BINDABLE or "/" in version:
        group, _, short = version.rpartition("/")
        raise bad_request(f"cannot bind token to object of type {group}/{short}, Kind={kind}")
    resource = api.catalogue.find("", "v1", _BINDABLE[kind])
    assert resource is not None
    stored = api.store.get(resource, account.namespace if resource.is_namespaced else "", name)
    if stored is None:
        raise not_found(resource, name)
    _check_bound(kind, stored, account, reference.get("uid") or "")
    return Place(account.namespace, owner, **{kind.lower(): Bound(stored.name, stored.uid)})


def _check_bound(kind: str, stored: Stored, account: Stored, uid: str) -> None:
    if kind == "Pod" and (stored.object.get("spec") or {}).get("serviceAccountName") != account.name:
        problem = f'cannot bind token for serviceaccount "{account.name}" to pod running with different serviceaccount'
        raise bad_request(f"{problem} name.")
    if uid and uid != stored.uid:
        problem = f"the UID in the bound object reference ({uid}) does not match the UID in record. The object might"
        raise _conflict("", kind, stored.name, f"{problem} have been deleted and then recreated")


def _conflict(group: str, kind: str, name: str, problem: str) -> StatusError:
    qualified = f"{kind}.{group}" if group else kind
    details = {"name": name, "kind": kind, **({"group": group} if group else {})}
    return StatusError(409, "Conflict", f'Operation cannot be fulfilled on {qualified} "{name}": {problem}', details)
