"""Every pod runs as a service account of its namespace; without a word, as the one called default.

No token is mounted: nothing runs in the pods of this cluster.
"""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.surroundings import Surroundings, served
from stowplan.embedded.objects.errors import forbidden
from stowplan.embedded.objects.resource import Object, Resource

_USUAL: Final = "default"
_PULL_SECRETS: Final = "imagePullSecrets"


def assign(resource: Resource, pod: Object, api: Surroundings) -> None:
    """Give a new pod its service account. Raise StatusError if there is none of that name."""
    spec, metadata = pod["spec"], pod["metadata"]
    name = spec.get("serviceAccountName") or _USUAL
    account = api.store.get(served("", "serviceaccounts"), metadata["namespace"], name)
    if account is None:
        where = f"{metadata['namespace']}/{name}"
        problem = f'error looking up service account {where}: serviceaccount "{name}" not found'
        raise forbidden(resource, metadata["name"], problem)
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    # Few accounts have secrets; the text is looked at first, because this is on the way of every pod.
    if _PULL_SECRETS not in spec and _PULL_SECRETS.encode() in account.body:
        secrets = account.object.get(_PULL_SECRETS)
        if secrets:
            spec[_PULL_SECRETS] = secrets
