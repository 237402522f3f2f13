"""Whether a class can be a plugin: what is wrong with it that shows before anybody asks it anything.

A method under a wrong name would never be called, one that is async where nobody waits would never run: both would pass
for a plugin that has no objection. `registry` refuses such a class when it loads it, `stowplan.testing` when it checks.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import FunctionType
from typing import Any, Final

from stowplan.config.declarations import PluginDeclaration
from stowplan.config.feature_gates import FeatureGates
from stowplan.framework import contract
from stowplan.framework.contract import POINTS, Plugin

#: The methods of the contract with the class that a plugin inherits to have each called.
METHODS: Final[dict[str, type[Plugin]]] = {
    name: cls
    for cls in vars(contract).values()
    if isinstance(cls, type) and issubclass(cls, Plugin) and cls is not Plugin
    for name, found in vars(cls).items()
    if inspect.isfunction(found) and not name.startswith("_")
}
#: What methods of the contract are called elsewhere.
_ALIASES: Final = {"normalizescore": "normalize", "normalisescore": "normalize", "eventstoregister": "events"}
#: What methods may return, in words for whoever writes one that returns something else.
ANSWERS: Final = {
    "pre_enqueue": "None or refuse(reason)",
    "filter_node": "None, a reason, or refuse(reason)",
    "reserve": "None or refuse(reason)",
    "permit": "None to let the pod be bound, refuse(reason), or Wait(seconds)",
    "pre_bind_pre_flight": "None, SKIP or refuse(reason)",
    "pre_bind": "None or refuse(reason)",
    "bind": "None, SKIP or refuse(reason)",
}


def faults(cls: type[Plugin]) -> list[str]:
    """Say what is wrong with a class, and what to do; nothing if it can be a plugin."""
    found = list(_misnamed(cls))
    if cls.args_type is not None and "args" not in inspect.signature(cls).parameters:
        found.append(
            f"it declares args_type, but its constructor takes no 'args'; add `args: {cls.args_type.__name__}`"
        )
    for name, point in METHODS.items():
        if issubclass(cls, point):
            found += _method_faults(cls, name)
    return found


def _own_methods(cls: type[Plugin]) -> Iterator[str]:
    """Yield the public methods that the author wrote: those of no class of the contract."""
    for owner in cls.__mro__:
        if owner is not object and owner.__module__ != contract.__name__:
            yield from (
                name
                for name, found in vars(owner).items()
                if not name.startswith("_") and isinstance(found, staticmethod | classmethod | FunctionType)
            )


# Names


def _misnamed(cls: type[Plugin]) -> Iterator[str]:
    wanted = [name for name, point in METHODS.items() if issubclass(cls, point) and _is_missing(cls, name)]
    absent = [name for name, point in METHODS.items() if not issubclass(cls, point)]
    taken: set[str] = set()
    for own in dict.fromkeys(_own_methods(cls)):
        meant = next((name for name in (*wanted, *absent) if _is_like(own, name)), None)
        if meant is None or (own in METHODS and own != meant):
            continue
        taken.add(meant)
        yield _misnaming(own, meant, is_inherited=meant in wanted)
    points = {name: METHODS[name].__name__ for name in wanted if name not in taken}
    yield from (f"it inherits {point} but has no method {name!r}; write it" for name, point in points.items())


def _misnaming(own: str, meant: str, is_inherited: bool) -> str:
    point = METHODS[meant].__name__
    if own == meant:
        return f"method {own!r} would never be called: the class does not inherit {point}; inherit it"
    if is_inherited:
        return f"method {own!r} would never be called; did you mean {meant!r}, the method of {point}?"
    remedy = f"inherit {point} and rename it, or begin its name with _ if it is your own"
    return f"method {own!r} would never be called; did you mean {meant!r}? {remedy}"


def _is_missing(cls: type[Plugin], name: str) -> bool:
    return bool(getattr(getattr(cls, name), "__isabstractmethod__", False))


def _is_like(own: str, name: str) -> bool:
    """Tell whether a name is one of the contract's, or what is easily written for it."""
    ours, theirs = own.replace("_", "").lower(), name.replace("_", "")
    if own == name or _ALIASES.get(ours) == name or ours == theirs:
        return True
    return ours not in {known.replace("_", "") for known in METHODS} and _differ_by_one(ours, theirs)


def _differ_by_one(one: str, other: str) -> bool:
    """Tell whether one letter too many or too few is all that differs; in longer words also one another letter."""
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) == 1:
        return any(long[:place] + long[place + 1 :] == short for place in range(len(long)))
    # Shorter words are too often words of their own: bind and find.
    is_long = len(short) > 5 and len(short) == len(long)
    return is_long and sum(a != b for a, b in zip(short, long, strict=True)) == 1


# The methods themselves


def _method_faults(cls: type[Plugin], name: str) -> Iterator[str]:
    if _is_missing(cls, name):
        return
    method, theirs = inspect.unwrap(getattr(cls, name)), getattr(METHODS[name], name)
    is_async = inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)
    if inspect.iscoroutinefunction(theirs) and not is_async:
        yield f"method {name!r} is awaited: write `async def {name}`"
    elif is_async and not inspect.iscoroutinefunction(theirs):
        yield f"method {name!r} is not awaited: write `def {name}`, without async"
    if not _can_be_called(cls, name, theirs):
        called_with = ", ".join(list(inspect.signature(theirs).parameters)[1:])
        yield f"method {name!r} cannot be called as {name}({called_with}); give it these parameters"
    if name in ANSWERS and inspect.get_annotations(method).get("return") in (bool, "bool"):
        yield f"method {name!r} answers with a bool; return {ANSWERS[name]}"


def _can_be_called(cls: type[Plugin], name: str, theirs: Any) -> bool:
    """Tell whether a method takes what it will be given, whatever it calls it."""
    raw = inspect.getattr_static(cls, name)
    given = list(inspect.signature(theirs).parameters)
    try:
        signature = inspect.signature(getattr(cls, name))
        signature.bind(*(given if isinstance(raw, FunctionType) else given[1:]))
    except TypeError:
        return False
    except ValueError:
        # Not written in Python: nobody knows.
        return True
    return True


def points_of(cls: type[Plugin]) -> frozenset[str]:
    """Name the extension points that a class takes part in."""
    return frozenset(point for point, classes in POINTS.items() if issubclass(cls, classes))


def declaration(cls: type[Plugin], gates: FeatureGates, *, is_in_tree: bool) -> PluginDeclaration:
    """Return what a class declares to configurations; the arguments of one from elsewhere are read when it is made.

    Of one that is in-tree it is what upstream's declares in the release.
    """
    points = points_of(cls) | cls.idle_points
    if not is_in_tree:
        return PluginDeclaration(cls.__name__, points)
    return PluginDeclaration(
        cls.__name__,
        points if gates.changed("NewPreFilterPoints") else points - cls.late_points,
        is_default=not cls.is_optional,
        weight=cls.default_weight,
        gate=cls.feature_gate,
        args_type=cls.args_type,
        before="" if gates.changed("NodeNameFirst") else cls.formerly_before,
    )
