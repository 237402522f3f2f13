"""What somebody wants to do, a verb on objects or on a path that is none of objects, and the rules that allow it.

A request is read as upstream reads it, before anybody looks whether there is such a resource: who may not ask is not
told that either.
"""

from __future__ import annotations

from typing import Final

import msgspec

from stowplan.embedded.objects.resource import Object
from stowplan.embedded.requests.incoming import Incoming
from stowplan.embedded.requests.request import split_path

_VERBS: Final = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
#: What follows the name of a namespace and is a part of it, and no resource within.
_PARTS_OF_NAMESPACES: Final = ("status", "finalize")
_NAME_FIELD: Final = "metadata.name"
ALL: Final = "*"


class Question(msgspec.Struct, frozen=True):
    """One verb on one object, one collection or one path."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    #: "" for the whole cluster.
    namespace: str = ""
    #: "" for a collection.
    name: str = ""
    #: Set if the question is not about objects.
    path: str = ""

    @property
    def combined(self) -> str:
        """The resource as rules name it, such as `pods/binding`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def of_request(request: Incoming) -> Question:
    """What a request wants to do. Raise StatusError 400 if it says so in a way that is not understood."""
    segments = split_path(request.path)
    match segments:
        case ["api", _, first, *rest]:
            return _on_objects(request, "", [first, *rest])
        case ["apis", group, _, first, *rest]:
            return _on_objects(request, group, [first, *rest])
    return Question(request.method.lower(), path=request.path)


def of_attributes(spec: Object) -> Question:
    """What an access review asks about."""
    other = spec.get("nonResourceAttributes")
    if other is not None:
        return Question(other.get("verb") or "", path=other.get("path") or "/")
    asked = spec.get("resourceAttributes") or {}
    fields = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Question(*(asked.get(field) or "" for field in fields))


def _on_objects(request: Incoming, group: str, rest: list[str]) -> Question:
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _PARTS_OF_NAMESPACES:
            rest = rest[2:]
    resource, name, part = (*rest[:3], "", "")[:3]
    verb = _VERBS.get(request.method, "")
    if verb == "get" and not part and request.flag("watch"):
        # Also one object can be watched here, by its name.
        verb, name = "watch", name or _selected_name(request)
    elif not name and verb == "get":
        verb, name = "list", _selected_name(request)
    elif not name and verb == "delete":
        verb = "deletecollection"
    return Question(verb, group, resource, part, namespace, name)


def _selected_name(request: Incoming) -> str:
    """The one name that a list or a watch is about; "" if it is about several."""
    for term in request.text("fieldSelector").split(","):
        field, equals, name = term.partition("=")
        if field.strip() == _NAME_FIELD and equals:
            return name.removeprefix("=").strip()
    return ""


class Rule(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a role allows; objects or paths, whichever is named."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    #: Empty for all names.
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")

    def allows(self, question: Question) -> bool:
        """Whether the rule allows what is asked."""
        if question.path:
            return self._has_verb(question) and self._has_path(question.path)
        return self.allows_some(question) and self.has_name(question.name)

    def allows_some(self, question: Question) -> bool:
        """Whether the rule allows what is asked for at least one name."""
        return (
            self._has_verb(question)
            and (question.group in self.api_groups or ALL in self.api_groups)
            and self._has_resource(question)
        )

    def has_name(self, name: str) -> bool:
        return not self.resource_names or name in self.resource_names

    def _has_verb(self, question: Question) -> bool:
        return question.verb in self.verbs or ALL in self.verbs

    def _has_resource(self, question: Question) -> bool:
        if ALL in self.resources or question.combined in self.resources:
            return True
        return bool(question.subresource) and f"{ALL}/{question.subresource}" in self.resources

    def _has_path(self, path: str) -> bool:
        return any(
            url in (ALL, path) or (url.endswith(ALL) and path.startswith(url.rstrip(ALL)))
            for url in self.non_resource_urls
        )


def read_rules(role: Object) -> tuple[Rule, ...]:
    """The rules of a Role or ClusterRole."""
    return tuple(msgspec.convert(rule, Rule) for rule in role.get("rules") or ())
