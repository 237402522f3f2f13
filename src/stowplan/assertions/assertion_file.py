"""Assertions without Python: a YAML list of named assertions, in the words of `expectation.py` and `steps.py`.

    - name: the shop survives the loss of a zone
      after:
        - lose_zone: eu-1a
      all_placed: shop/*

Everything is read before anything is asked; a word that there is not ends in an `AssertionFileError` that names the
file, the assertion and the words there are. `docs/assertions.md` has all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from stowplan.app.configuration import STDIN, SourceError, read_text
from stowplan.assertions import steps
from stowplan.assertions.expectation import AllPlaced, Claim, FilesFit, NeverOn, SurvivesDrain
from stowplan.assertions.steps import SupposedStep
from stowplan.model import manifests
from stowplan.model.json_values import MalformedObject
from stowplan.whatif.world import QuestionError

#: What an assertion has, beside the word for what has to hold.
_BESIDE: Final = ("name", "after")


class AssertionFileError(SourceError):
    """A file of assertions that cannot be used; the text names the file, the assertion and what to do."""


@dataclass(frozen=True, slots=True)
class NamedAssertion:
    """One assertion of a file. Those with the same `key` suppose the same."""

    file: str
    name: str
    key: str
    steps: tuple[SupposedStep, ...]
    claim: Claim


def read(paths: Iterable[str]) -> list[NamedAssertion]:
    """Read files of assertions. Raise SourceError if one cannot be used."""
    return [found for path in paths for found in _read(path)]


def _read(path: str) -> Iterator[NamedAssertion]:
    try:
        documents = list(manifests.read(read_text(path)))
    except MalformedObject as error:
        raise AssertionFileError(f"{path}: {error}") from None
    if len(documents) != 1 or not isinstance(documents[0], list) or not documents[0]:
        raise AssertionFileError(f"{path}: expected a list of assertions; write `- name: ...` for each")
    seen: set[str] = set()
    problems: list[str] = []
    for number, content in enumerate(documents[0], 1):
        try:
            name = _name(content, f"{path}: assertion {number}")
            if name in seen:
                raise AssertionFileError(f"{path}: two assertions are called {name!r}; give each a name of its own")
            seen.add(name)
            yield _Reader(path, f"{path}: assertion {number} ({name!r})").read(name, content)
        except AssertionFileError as error:
            problems.append(str(error))
    if problems:
        raise AssertionFileError("\n".join(problems))


def _name(content: Any, where: str) -> str:
    if not isinstance(content, Mapping):
        raise AssertionFileError(f"{where}: expected name, after and one of: {', '.join(_CLAIMS)}")
    name = content.get("name")
    if name is None or name == "":
        raise AssertionFileError(f"{where}: name: Required value: say what has to hold")
    if not isinstance(name, str) or not name.strip():
        raise AssertionFileError(f"{where}: name: Invalid value: {name!r}: write a text that says what has to hold")
    return name


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one assertion; `where` is how messages call it."""

    path: str
    where: str

    def read(self, name: str, content: Mapping[str, Any]) -> NamedAssertion:
        rest = {word: given for word, given in content.items() if word not in _BESIDE}
        after = self._after(content) if "after" in content else []
        taken = tuple(self._step(one, f"after[{number}]") for number, one in enumerate(after))
        word = self._only(rest, _CLAIMS, "")
        claim = self._build(word, rest[word], _CLAIMS, word)
        return NamedAssertion(self.path, name, json.dumps(after, sort_keys=True, default=str), taken, claim)

    def _after(self, content: Mapping[str, Any]) -> list[Any]:
        after = content["after"]
        if isinstance(after, Mapping):
            return [after]
        if isinstance(after, list) and after:
            return after
        # A step that is not supposed is not to pass for one that does no harm.
        problem = f"expected steps, such as `- lose_zone: eu-1a`, got {json.dumps(after, default=str)}"
        raise self._error("after", f"{problem}; leave it out for none")

    def _step(self, content: Any, place: str) -> SupposedStep:
        if not isinstance(content, Mapping):
            raise self._error(place, f"expected one of: {', '.join(_STEPS)}, such as `- lose_zone: eu-1a`")
        word = self._only(content, _STEPS, place)
        found: SupposedStep = self._build(word, content[word], _STEPS, f"{place}.{word}")
        return found

    def _only(self, content: Mapping[str, Any], words: Mapping[str, _Word], place: str) -> str:
        """Return the one word that is written, one of those there are."""
        for word in content:
            if word not in words:
                raise self._error(place, f"unknown word {word!r}", words if place else (*words, *_BESIDE))
        if len(content) != 1:
            raise self._error(place, f"{len(content)} words are written; write exactly one", words)
        return next(iter(content))

    def _build(self, word: str, given: Any, words: Mapping[str, _Word], place: str) -> Any:
        found = words[word]
        try:
            return found.make(msgspec.convert(found.whole(given), found.arguments), self.path)
        except msgspec.ValidationError as error:
            known = ", ".join(field.name for field in msgspec.structs.fields(found.arguments))
            if isinstance(given, Mapping):
                raise self._error(place, f"{error}; there are: {known}") from None
            problem = str(error).removesuffix(f" - at `$.{found.short}`")
            raise self._error(place, f"{problem}; write {found.short} alone, or a mapping of: {known}") from None
        except QuestionError as error:
            raise self._error(place, str(error)) from None

    def _error(self, place: str, problem: str, words: Iterable[str] | None = None) -> AssertionFileError:
        known = f"; the words are: {', '.join(words)}" if words is not None else ""
        return AssertionFileError(f"{self.where}: {f'{place}: ' if place else ''}{problem}{known}")


# The words


class _Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class _Zone(_Arguments, frozen=True):
    zone: str


class _Nodes(_Arguments, frozen=True):
    names: tuple[str, ...] = ()
    selector: str = ""
    zone: str = ""


class _DrainedNodes(_Nodes, frozen=True):
    batches: int = 1


class _LikeNodes(_Arguments, frozen=True):
    like: str = ""
    shape: dict[str, Any] | None = None
    count: int = 1


class _File(_Arguments, frozen=True):
    file: str
    replicas: int | None = None


class _Pods(_Arguments, frozen=True):
    pods: str


class _NodesAndPods(_Arguments, frozen=True):
    nodes: str
    pods: str = "*/*"


@dataclass(frozen=True, slots=True)
class _Word:
    """What is written behind a word, what a text or a list alone stands for, and what is made of it."""

    arguments: type[_Arguments]
    short: str
    make: Callable[[Any, str], Any]

    def whole(self, given: Any) -> Any:
        if isinstance(given, Mapping):
            return given
        is_several = self.short == "names" and not isinstance(given, list)
        return {self.short: [given] if is_several else given}


def _beside(path: str, file: str) -> str:
    """Return the path of a file that is named in another one: from the folder of that one."""
    file = steps.path_of(file)
    return file if path == STDIN else str(Path(path).parent / file)


def _lose_nodes(given: _Nodes, path: str) -> SupposedStep:
    if given.zone:
        raise QuestionError("zone: write lose_zone instead")
    return steps.lose_nodes(*given.names, selector=given.selector)


_STEPS: Final[Mapping[str, _Word]] = {
    "lose_zone": _Word(_Zone, "zone", lambda given, path: steps.lose_zone(given.zone)),
    "lose_nodes": _Word(_Nodes, "names", _lose_nodes),
    "add_nodes": _Word(
        _LikeNodes, "like", lambda given, path: steps.add_nodes(like=given.like, shape=given.shape, count=given.count)
    ),
    "cordon": _Word(
        _Nodes, "names", lambda given, path: steps.cordon(*given.names, selector=given.selector, zone=given.zone)
    ),
    "remove_pods": _Word(_Pods, "pods", lambda given, path: steps.remove_pods(given.pods)),
    "add_pods": _Word(
        _File, "file", lambda given, path: steps.add_pods(_beside(path, given.file), replicas=given.replicas)
    ),
}


def _never_on(given: _NodesAndPods, path: str) -> Claim:
    return NeverOn(steps.label(given.nodes), steps.check_pattern(given.pods))


def _not_on(given: _NodesAndPods, path: str) -> Claim:
    return NeverOn(steps.label(given.nodes), steps.check_pattern(given.pods), is_by_rule=False)


def _survives_drain(given: _DrainedNodes, path: str) -> Claim:
    return SurvivesDrain(steps.wanted(given.names, given.selector, given.zone), given.batches)


_CLAIMS: Final[Mapping[str, _Word]] = {
    "all_placed": _Word(_Pods, "pods", lambda given, path: AllPlaced(steps.check_pattern(given.pods))),
    "never_on": _Word(_NodesAndPods, "nodes", _never_on),
    "not_on": _Word(_NodesAndPods, "nodes", _not_on),
    "fits": _Word(_File, "file", lambda given, path: FilesFit(_beside(path, given.file), given.replicas)),
    "survives_drain": _Word(_DrainedNodes, "names", _survives_drain),
}
WORDS: Final[Sequence[str]] = (*_STEPS, *_CLAIMS)
