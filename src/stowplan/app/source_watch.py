"""Whether files that a scheduler was made from have been saved since: its configuration, and plugins from elsewhere.

Texts are compared, not times: two saves within a tick of a file system's clock have the same. Two looks must agree, for
a file may be half written at the first; how often to look is up to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from stowplan.framework import plugin_source
from stowplan.framework.registry import Registry

POLL_SECONDS: Final = 0.25

#: Files with what is in them; None of those that cannot be read.
Texts = dict[Path, bytes | None]


class SourceWatch:
    """Looks at the configuration and at the files of the plugins of a registry, which may be another each time."""

    def __init__(self, config: Path, registry: Callable[[], Registry]) -> None:
        self._config, self._registry = config, registry
        self._known: Texts = {}
        self._last: Texts = {}
        # What there was beside them when they had changed, and were about to be tried.
        self._beside: Texts = {}
        # Where to look for what is not there yet.
        self._homes: tuple[plugin_source.Home, ...] = ()
        self.settle(is_good=True)

    def look(self) -> tuple[Path, ...]:
        """Return the files that have changed: once, and not before they were the same at two looks."""
        found = _read({**self._known, **dict.fromkeys(_modules(self._homes))})
        is_settled, self._last = found == self._last, found
        changed = tuple(path for path, text in found.items() if text != self._known.get(path))
        if not (changed and is_settled):
            return ()
        self._known = found
        self._beside = _read(_modules(plugin_source.homes_of(self._registry().foreign)))
        return changed

    def settle(self, *, is_good: bool) -> None:
        """Look at what is in use now; if what is written is no good, also at whatever may mend it."""
        sources = plugin_source.sources_of(self._registry().foreign)
        self._homes = () if is_good else plugin_source.homes_of(self._registry().foreign)
        beside = list(_modules(self._homes))
        # What was loaded counts as it was then, and of what may mend it, what there was before that was tried.
        loaded = {path: text if text is not None else plugin_source.content_of(path) for path, text in sources.items()}
        before = {path: self._beside.get(path) for path in beside}
        self._known = {
            **_read((self._config,)),
            **before,
            **loaded,
            **_only(self._known, (self._config, *sources, *beside)),
        }
        self._last = self._known


def _modules(homes: Iterable[plugin_source.Home]) -> Iterator[Path]:
    return (path for home in homes for path in home.modules())


def _read(paths: Iterable[Path]) -> Texts:
    return {path: plugin_source.content_of(path) for path in paths}


def _only(texts: Texts, paths: Iterable[Path]) -> Texts:
    return {path: texts[path] for path in paths if path in texts}
