"""What a program may change in this process, put back afterwards: modules, paths, environment, directory, streams."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NoReturn

ONE_AT_A_TIME = threading.RLock()  # modules, paths and the directory belong to the process

_PACKAGES = ("site-packages", "dist-packages")
_STANDARD = f"{Path(os.__file__).parent}{os.sep}"
_installed: dict[str, ModuleType] = {}  # modules that are of no checkout, so that nobody asks them again
_parked: dict[Path, dict[str, ModuleType]] = {}  # modules of other checkouts, kept between evaluations


@contextlib.contextmanager
def isolated(program: Path, root: Path, *, replaces: Path | None) -> Iterator[io.StringIO]:
    """Run a program as if in a process of its own; yields what it prints.

    `program` is the directory of the program: its modules are forgotten afterwards. `replaces` is another checkout of
    the repository of `root`: its loaded modules are hidden meanwhile, so that the program imports those of `root`.
    """
    with ONE_AT_A_TIME, warnings.catch_warnings(action="ignore"):  # deprecations of provider packages are not ours
        before = _State()
        hidden = _hide(program, replaces)
        if replaces is not None:
            sys.modules.update(_parked.get(root, {}))
        loaded = set(sys.modules)
        prints = io.StringIO()
        try:
            for key in [key for key in os.environ if key.startswith("PULUMI_CONFIG")]:
                del os.environ[key]
            sys.argv = [str(program)]
            if replaces is not None:
                sys.path[:0] = [str(root / "src"), str(root)]  # the package of that checkout, in either layout
            sys.path.insert(0, str(program))
            os.chdir(program)
            os._exit = _leave
            logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # as the language host does
            sys.stdout = sys.stderr = prints
            with _children_silent():
                yield prints
        finally:
            before.restore()
            _take(program, set(sys.modules) - loaded)
            if replaces is not None:
                _parked[root] = _take(root, set(sys.modules))
            sys.modules.update(hidden)


@contextlib.contextmanager
def _children_silent() -> Iterator[None]:
    """Let the commands that a program starts print nowhere: standard output is the answer of whoever evaluates it."""
    try:
        kept = os.dup(1)
    except OSError:  # there is no standard output
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a descriptor is wanted
            os.dup2(nowhere.fileno(), 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def forget(root: Path) -> None:
    """Drop the modules of a checkout that is gone."""
    _parked.pop(root, None)
    for path in [path for path in sys.path_importer_cache if path.startswith(str(root))]:
        del sys.path_importer_cache[path]


class LeftError(BaseException):
    """The program ended its process, which is whoever evaluates it, and not whatever else it is asked to be."""


def _leave(status: int) -> NoReturn:
    raise LeftError(f"the program ended its process: os._exit({status!r})")


class _State:
    def __init__(self) -> None:
        self.path, self.argv = list(sys.path), list(sys.argv)
        self.environ, self.directory = dict(os.environ), Path.cwd()
        self.stdout, self.stderr = sys.stdout, sys.stderr
        self.leave = os._exit
        self.asyncio_level = logging.getLogger("asyncio").level

    def restore(self) -> None:
        sys.path[:], sys.argv = self.path, self.argv
        for key in os.environ.keys() - self.environ.keys():
            del os.environ[key]
        for key, value in self.environ.items():
            if os.environ.get(key) != value:
                os.environ[key] = value
        os.chdir(self.directory)
        sys.stdout, sys.stderr = self.stdout, self.stderr
        os._exit = self.leave
        logging.getLogger("asyncio").setLevel(self.asyncio_level)
        importlib.invalidate_caches()


def _hide(program: Path, replaces: Path | None) -> dict[str, ModuleType]:
    """Take modules out that the program would find under a name of its own, and those of the other checkout."""
    own = {entry.stem for entry in program.iterdir() if entry.suffix == ".py" or (entry / "__init__.py").exists()}
    own -= {"__main__"}
    hidden = {
        name: module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in own and not _is_under(module, program)
    }
    for name in hidden:
        del sys.modules[name]
    if replaces is not None:
        hidden |= _take(replaces, set(sys.modules))
    return hidden


def _take(root: Path, names: set[str]) -> dict[str, ModuleType]:
    """Remove and return the loaded modules that lie under `root`, installed packages excepted."""
    taken = {}
    start = f"{root}{os.sep}"
    for name in names:
        module = sys.modules.get(name)
        if module is None or _installed.get(name) is module or name == "__main__":
            continue
        file = _file_of(module)
        if any(part in file for part in _PACKAGES) or file.startswith(_STANDARD):
            _installed[name] = module
        elif file.startswith(start) or file == str(root):
            taken[name] = sys.modules.pop(name)
    return taken


def _is_under(module: ModuleType, root: Path) -> bool:
    file = _file_of(module)
    return not any(part in file for part in _PACKAGES) and (file == str(root) or file.startswith(f"{root}{os.sep}"))


def _file_of(module: ModuleType) -> str:
    """Where a module comes from, "" for what is built in; asking a lazy module itself would load it."""
    try:
        own = object.__getattribute__(module, "__dict__")
    except AttributeError:  # something else that a program put among the modules
        return ""
    file = own.get("__file__")
    if file is None:  # a namespace package
        file = next(iter(own.get("__path__") or ()), None)
    return file if isinstance(file, str) else ""
