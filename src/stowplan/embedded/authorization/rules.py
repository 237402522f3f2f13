"""One rule of a role: which verbs on what it allows."""

from __future__ import annotations

from typing import Final

import msgspec

from stowplan.embedded.authorization.question import Question
from stowplan.embedded.objects.resource import Object

ALL: Final = "*"


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
