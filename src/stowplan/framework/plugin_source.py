"""Where plugins from elsewhere are written, and how they are read anew when that has changed.

Python keeps modules, and beside them bytecode that it tells apart by second and size. What is loaded from here is
always what the file says: compiled from its text, with the modules of its own folder or package.
"""

from __future__ import annotations

import importlib
import importlib.util
import linecache
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

_STOWPLAN: Final = Path(__file__).resolve().parents[1]
_PACKAGE_FILE: Final = "__init__.py"


class FreshLoader(SourceFileLoader):
    """Compiles what is in the file, and remembers it; neither reads bytecode nor leaves any."""

    source: bytes = b""

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        self.source = self.get_data(path)
        code: CodeType = self.source_to_code(self.source, path)
        return code


@dataclass(frozen=True, slots=True)
class Home:
    """The folder whose modules belong to a plugin: that of its package, or the one that its file is in."""

    folder: Path
    #: The package, if it is in one; modules of its subpackages belong to it then, too.
    package: str = ""

    def has(self, file: Path) -> bool:
        if file.is_relative_to(_STOWPLAN):
            return False
        return file.is_relative_to(self.folder) if self.package else file.parent == self.folder

    def modules(self) -> Iterator[Path]:
        """Yield the files that may be modules of the plugin, whether it imports them or not."""
        yield from (self.folder.rglob if self.package else self.folder.glob)("*.py")


def home_of(path: Path) -> Home:
    """Return the home of the plugins in a file."""
    folder = path.resolve().parent
    if not (folder / _PACKAGE_FILE).is_file():
        return Home(folder)
    while (folder.parent / _PACKAGE_FILE).is_file():
        folder = folder.parent
    return Home(folder, folder.name)


def load_file(path: Path) -> ModuleType:
    """Load a file as the module it is in its package, or as one by itself, known by its path."""
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    home = home_of(path)
    if not home.package:
        with _finding((home,)):
            return _load_alone(path)
    _check_free(home)
    if any(_is_outdated(module) for module in _own((home,)).values()):
        _forget((home,))
    file = _called(path) if _called(path).is_relative_to(home.folder) else path.resolve()
    parts = file.relative_to(home.folder.parent).with_suffix("").parts
    with _finding((home,)):
        return importlib.import_module(".".join(parts if path.name != _PACKAGE_FILE else parts[:-1]))


def _load_alone(path: Path) -> ModuleType:
    name = str(path)
    spec = importlib.util.spec_from_file_location(name, path, loader=FreshLoader(name, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and structs look their annotations up there; a path is the name of no other module.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _check_free(home: Home) -> None:
    known = sys.modules.get(home.package)
    file = _file_of(known) if known is not None else None
    if known is not None and (file is None or file.parent != home.folder):
        remedy = "rename the package, or refer to the plugin as module:Class"
        raise ImportError(f"another package {home.package!r} is loaded, from {file or 'no file'}; {remedy}")


# What belongs to plugins


def homes_of(classes: Iterable[type]) -> tuple[Home, ...]:
    """Return the homes of plugin classes."""
    files = (_file_of(sys.modules.get(cls.__module__)) for cls in classes)
    return tuple(dict.fromkeys(home_of(file) for file in files if file is not None))


def sources_of(classes: Iterable[type]) -> dict[Path, bytes | None]:
    """Return the files that classes are made of, with what was read of them; None where Python itself did that."""
    classes = tuple(classes)
    modules = (*_own(homes_of(classes)).values(), *(sys.modules.get(cls.__module__) for cls in classes))
    return {file: _text_of(module) for module in modules if (file := _file_of(module)) is not None}


def text_of(cls: type) -> bytes | None:
    """Return the text that a class was read from; None if Python itself read it."""
    return _text_of(sys.modules.get(cls.__module__))


def _own(homes: Iterable[Home]) -> dict[str, ModuleType]:
    """Return the modules that are loaded and belong to plugins."""
    homes = tuple(homes)
    packages = {home.package for home in homes if home.package}
    near = {
        name: module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in packages or _text_of(module) is not None
    }
    files = {name: _file_of(module) for name, module in near.items()}
    return {name: near[name] for name, file in files.items() if file and any(home.has(file) for home in homes)}


def _text_of(module: Any) -> bytes | None:
    loader = getattr(module, "__loader__", None)
    return loader.source if isinstance(loader, FreshLoader) else None


def _is_outdated(module: ModuleType) -> bool:
    file, text = _file_of(module), _text_of(module)
    return file is not None and text is not None and text != content_of(file)


def _file_of(module: Any) -> Path | None:
    file = getattr(module, "__file__", None)
    return _called(Path(file)) if isinstance(file, str) and file.endswith(".py") else None


def _called(path: Path) -> Path:
    """Return a file by its own name in the folder that it really is in; where a link leads to may change."""
    return path.parent.resolve() / path.name


def content_of(file: Path) -> bytes | None:
    """Return what is in a file; None if it cannot be read."""
    try:
        return file.read_bytes()
    except OSError:
        return None


# Reading anew


class Rereading:
    """Modules that are being read anew; those before come back unless `keep` is called."""

    def __init__(self) -> None:
        self.is_kept = False

    def keep(self) -> None:
        self.is_kept = True


@contextmanager
def reading_anew(classes: Sequence[type]) -> Iterator[Rereading]:
    """Have the modules of plugin classes read anew when they are imported."""
    homes, rereading = homes_of(classes), Rereading()
    named = {cls.__module__: sys.modules[cls.__module__] for cls in classes if cls.__module__ in sys.modules}
    before = {**named, **_own(homes)}
    _forget(homes, named)
    try:
        with _finding(homes):
            yield rereading
    finally:
        if not rereading.is_kept:
            _forget(homes, named)
            sys.modules.update(before)


def _forget(homes: tuple[Home, ...], named: Mapping[str, ModuleType] | None = None) -> None:
    for name in {*(named or ()), *_own(homes)}:
        sys.modules.pop(name, None)
    # Of files that came, Python knows when their folder changed, but only to its clock's tick.
    importlib.invalidate_caches()
    linecache.clearcache()


@contextmanager
def _finding(homes: tuple[Home, ...]) -> Iterator[None]:
    """Have modules of these homes found, and loaded from their text, for as long as plugins are being loaded."""
    finder: Any = _HomeFinder(homes)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _HomeFinder:
    """Finds what all others find, and beside it the modules of some homes; first of all, their packages."""

    def __init__(self, homes: tuple[Home, ...]) -> None:
        self._homes = homes

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        spec = self._found(name, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader) or isinstance(spec.loader, FreshLoader):
            return spec
        file = Path(spec.loader.path).resolve()
        if any(home.has(file) for home in self._homes):
            spec.loader = FreshLoader(spec.loader.name, spec.loader.path)
        return spec

    def _found(self, name: str, path: Sequence[str] | None, target: Any) -> ModuleSpec | None:
        for home in self._homes:
            if path is None and name == home.package:
                return PathFinder.find_spec(name, [str(home.folder.parent)])
        # One of these may be here again, for plugins that load others.
        others = [finder for finder in sys.meta_path if not isinstance(finder, _HomeFinder)]
        spec = next((found for finder in others if (found := finder.find_spec(name, path, target))), None)
        if spec is not None or path is not None:
            return spec
        beside = (PathFinder.find_spec(name, [str(home.folder)]) for home in self._homes if not home.package)
        return next(filter(None, beside), None)
