"""What a configuration says without effect, though kube-scheduler takes it: told, so that nobody counts on it.

What cannot be taken at all is refused by `validate.py` and `construct.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stowplan.config import legacy
from stowplan.config.declarations import POINTS, Declarations, PluginArgs, camel, class_name, is_reference
from stowplan.config.defaults import ALL
from stowplan.config.errors import suggestion
from stowplan.config.types import Configuration, ExtenderConfig, ExtenderTLSConfig, KubeSchedulerProfile

JSON: Final = "application/json"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"

_WEIGHING: Final = frozenset({"score", "placement_score"})
_NOBODY_PARALLEL: Final = "one thread decides; only 1 makes a difference, by taking the first of equally good nodes"


def notes(fields: dict[str, Any], config: Configuration, known: Declarations) -> list[str]:
    """Say what of a configuration changes nothing; `fields` are those that the file has."""
    found = [*_top_level(fields, config), *_client(fields)]
    # One that the file does not have is the default one.
    for written, profile in zip(fields.get("profiles") or [{}], config.profiles, strict=True):
        found += [f"profile {profile.scheduler_name!r}: {note}" for note in _profile(written, profile, known)]
    for index, extender in enumerate(config.extenders):
        which = f"extenders[{index}] ({extender.url_prefix})" if extender.url_prefix else f"extenders[{index}]"
        found += [f"{which}: {note}" for note in (*_address(extender), *_extender(extender))]
    return found


def _top_level(fields: dict[str, Any], config: Configuration) -> Iterator[str]:
    if "parallelism" in fields and config.parallelism not in (1, Configuration().parallelism):
        yield f"parallelism: {config.parallelism} has no effect: {_NOBODY_PARALLEL}"
    if "enableContentionProfiling" in fields:
        yield "enableContentionProfiling has no effect: Python has no such profile"
    if config.delay_cache_until_active and not config.leader_election.leader_elect:
        yield "delayCacheUntilActive has no effect without leaderElection.leaderElect: the scheduler is always active"


def _client(fields: dict[str, Any]) -> Iterator[str]:
    given = fields.get("clientConnection", {})
    content, accepted = given.get("contentType", ""), given.get("acceptContentTypes", "")
    if content not in ("", JSON, PROTOBUF):
        yield f"clientConnection.contentType {content!r} has no effect: write {JSON} or {PROTOBUF}; {JSON} is used"
    if accepted not in ("", JSON):
        yield f"clientConnection.acceptContentTypes {accepted!r} has no effect: answers are asked for as {JSON}"


def _profile(written: dict[str, Any], profile: KubeSchedulerProfile, known: Declarations) -> Iterator[str]:
    enabled = profile.plugins.names()
    for index, given in enumerate(written.get("pluginConfig", [])):
        name = given.get("name", "")
        if not _is_named(name, enabled):
            yield f"pluginConfig[{index}]: arguments of {name!r} have no effect: {_not_enabled(name, enabled, known)}"
        elif isinstance(args := profile.arguments[index].args, PluginArgs):
            yield from (f"pluginConfig[{index}]: {note}" for note in args.notes())
    for point in (*POINTS, "multi_point"):
        yield from _set(point, written.get("plugins", {}).get(camel(point), {}), enabled, known)


def _set(point: str, written: dict[str, Any], enabled: frozenset[str], known: Declarations) -> Iterator[str]:
    path = f"plugins.{camel(point)}"
    for index, plugin in enumerate(written.get("enabled", [])):
        note = _enabled(point, plugin.get("name", ""), plugin.get("weight"), known)
        if note:
            yield f"{path}.enabled[{index}]: {note}"
    for index, plugin in enumerate(written.get("disabled", [])):
        name = plugin.get("name", "")
        note = _disabled(point, name, enabled, known)
        if note:
            yield f"{path}.disabled[{index}]: {note}"
        if plugin.get("weight"):
            yield f"{path}.disabled[{index}]: the weight of {name!r} has no effect: it is disabled"


def _disabled(point: str, name: str, enabled: frozenset[str], known: Declarations) -> str:
    if name != ALL and not is_reference(name) and name not in known and not _is_named(name, enabled):
        return f"there is no plugin {name!r} to disable; {legacy.remedy_for(name) or suggestion(name, known)}"
    if point != "multi_point" and name in known and point not in known[name].points:
        points = ", ".join(camel(each) for each in POINTS if each in known[name].points)
        return f"{name!r} does nothing there anyway: it takes part in {points}"
    return ""


def _enabled(point: str, name: str, weight: int | None, known: Declarations) -> str:
    if weight and not _weighs(point, name, known):
        return f"the weight of {name!r} has no effect: it does not score"
    return ""


def _weighs(point: str, name: str, known: Declarations) -> bool:
    if point != "multi_point":
        return point in _WEIGHING
    # One that does not exist is refused when the profile is built.
    return is_reference(name) or name not in known or bool(_WEIGHING & known[name].points)


def _is_named(name: str, enabled: frozenset[str]) -> bool:
    return name in enabled or any(is_reference(each) and class_name(each) == name for each in enabled)


def _not_enabled(name: str, enabled: frozenset[str], known: Declarations) -> str:
    if is_reference(name) or name in known:
        return "the profile does not enable that plugin; enable it, or remove them"
    return f"there is no such plugin; {legacy.remedy_for(name) or suggestion(name, enabled)}"


def _address(extender: ExtenderConfig) -> Iterator[str]:
    scheme, _, rest = extender.url_prefix.partition("://")
    if not rest or scheme.lower() not in ("http", "https"):
        what = "does not begin with http:// or https://" if extender.url_prefix else "is empty"
        yield f"it cannot be reached: urlPrefix {what}; write one like https://HOST:PORT/PATH"
    elif extender.enable_https and scheme.lower() == "http":
        yield "enableHTTPS has no effect: urlPrefix decides, and begins with http://; write https:// there"


def _extender(extender: ExtenderConfig) -> Iterator[str]:
    verbs = (extender.filter_verb, extender.prioritize_verb, extender.preempt_verb, extender.bind_verb)
    if not any(verbs):
        yield "it is never asked: give it a filterVerb, prioritizeVerb, preemptVerb or bindVerb"
    elif extender.weight and not extender.prioritize_verb:
        yield "its weight has no effect without a prioritizeVerb"
    tls = extender.tls_config or ExtenderTLSConfig()
    has_certificate, has_key = bool(tls.cert_data or tls.cert_file), bool(tls.key_data or tls.key_file)
    if has_certificate is not has_key:
        missing = "keyFile or keyData" if has_certificate else "certFile or certData"
        yield f"no certificate is shown: tlsConfig has no {missing}"
