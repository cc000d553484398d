"""Why a program could not be evaluated, as its user is told: where, what, and the one command that helps."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import shlex
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pulumi

from sizewell import source
from sizewell.recording.evaluate.isolation import LeftError
from sizewell.recording.evaluate.monitor import Monitor, Unsupported
from sizewell.recording.evaluate.project import Project
from sizewell.sdk import runtime
from sizewell.sizing.errors import ServiceError, SizewellError

_of_plans: Final = ContextVar("of_plans", default=True)  # whether who evaluates takes a plan of the engine instead
_ENGINE: Final = "use --engine pulumi, or --plan FILE with the output of `pulumi preview --json --show-sames`"
_UNKNOWN_ARGUMENT: Final = re.compile(r"got an unexpected keyword argument '(\w+)'|Missing required property '(\w+)'")


def explained(error: BaseException, project: Project, stack: str, monitor: Monitor) -> SizewellError:
    """The error as the user is told: a refusal of ours as it is, else the program's own last line and a way out."""
    if isinstance(error, SizewellError):
        return error
    if isinstance(error, SystemExit):
        return ServiceError(f"stack {stack}: the program called sys.exit({error.code!r})\n  fix: {_mend(monitor)}")
    if isinstance(error, LeftError):
        return ServiceError(f"stack {stack}: {error}\n  fix: {_mend(monitor)}")
    if isinstance(error, Unsupported | pulumi.RunError):
        says = _of_stack(str(error), stack)
        more = "" if "fix: " in says or "pulumi config set" in says else f"\n  fix: {_mend(monitor)}"
        return ServiceError(f"stack {stack}: {says}{more}")
    told = _not_installed(error, project) or _lacking(error, project)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    message = f"stack {stack}: the program failed{last_line(error, project)}\n  {what}"
    if told:
        message += f"\n{told}"
    elif monitor.unanswered:
        calls = ", ".join(dict.fromkeys(monitor.unanswered))
        message += f"\n  it asked the cloud for {calls}, which is unknown offline\n  fix: {_mend(monitor)}"
    else:
        message += f"\n  fix: {_mend(monitor)}"
    failure = ServiceError(message)
    failure.cause = tuple(_chain(error, project))
    return failure


def _of_stack(says: str, stack: str) -> str:
    """Commands of a component with the stack's name, which is another than the selected one as often as not.

    >>> _of_stack("fix: pulumi config rm a:b; pulumi config set --path 'a:c[0]' X --stack prod", "dev")
    "fix: pulumi config rm -s dev a:b; pulumi config set --path 'a:c[0]' X --stack prod"
    """
    return re.sub(r"\bpulumi config (set|rm)(?![^;`\n]* (?:-s|--stack) )", rf"pulumi config \1 -s {stack}", says)


@contextmanager
def without_plans() -> Iterator[None]:
    """Within it, no fix is a plan of the engine."""
    token = _of_plans.set(False)
    try:
        yield
    finally:
        _of_plans.reset(token)


def _mend(monitor: Monitor) -> str:
    mended = "correct the program or its configuration (`pulumi config set KEY VALUE`)"
    if not _of_plans.get():
        calls = ", ".join(dict.fromkeys(monitor.unanswered))
        return f"have the program take what {calls} answers from the configuration" if calls else mended
    return _ENGINE if monitor.unanswered else f"{mended}, or judge a plan (--plan FILE)"


# -- packages ---------------------------------------------------------------------------------------------------------


def _not_installed(error: BaseException, project: Project) -> str:
    """What the program imports and nobody installed: all of it, with one command."""
    if not isinstance(error, ModuleNotFoundError) or not error.name or _is_installed(error.name.partition(".")[0]):
        return ""
    missing = list(dict.fromkeys([*_missing_of(project), error.name]))
    wanted = [_requirement(name, project) for name in missing]
    command = " ".join(shlex.quote(each) for each in dict.fromkeys(wanted))
    others = f"  beside it, {', '.join(missing[:-1])} are missing\n" if len(missing) > 2 else ""
    install = source.install_here(command)
    return f"{others}  fix: install it for the Python that evaluates the program: {install}"


def _is_installed(top: str) -> bool:
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None  # without an origin it is a namespace of many packages


def _missing_of(project: Project) -> Iterator[str]:
    """Modules that the program's own files import at their top and that are not there."""
    folder = project.program if project.program.is_dir() else project.program.parent
    own = {path.stem for path in folder.glob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}
    for path in sorted(folder.glob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, SyntaxError, UnicodeDecodeError):
            continue
        for node in tree.body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for top in (name.partition(".")[0] for name in names):
                if top not in own and top not in sys.stdlib_module_names and not _is_there(top):
                    yield top


def _is_there(top: str) -> bool:
    try:
        return find_spec(top) is not None
    except (ImportError, ValueError):
        return False


def _requirement(module: str, project: Project) -> str:
    """How pip calls the package of a module: as the program's requirements do, else by Pulumi's rule."""
    if extra := source.extra_of(module):
        return source.requirement(extra)
    lines = _requirements(project)
    name = module.partition(".")[0].replace("_", "-").lower()
    fitting = [package for package in lines if package == name] or [
        package for package in lines if package.startswith(f"{module.replace('.', '-').lower()}-")
    ]
    return lines[fitting[0]] if fitting else name if module.startswith("pulumi_") else module.partition(".")[0]


def _requirements(project: Project) -> dict[str, str]:
    """The lines of requirements.txt by the name of their package."""
    folders = (project.program if project.program.is_dir() else project.program.parent, project.root)
    lines: dict[str, str] = {}
    for path in (folder / "requirements.txt" for folder in folders):
        if path.is_file():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                plain = line.partition("#")[0].strip()
                if match := re.match(r"[A-Za-z0-9._-]+", plain):
                    lines.setdefault(match[0].replace("_", "-").lower(), plain.replace(" ", ""))
    return lines


def _lacking(error: BaseException, project: Project) -> str:
    """What a provider's package does not have: a name that is misspelt, or that another release of it has."""
    lacking, package, near = "", "", ""
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.startswith("pulumi_"):
        package, _, name = error.name.partition(".")
        lacking, near = f"module `{name}`", _near_name(name, sys.modules.get(package), project)
    elif isinstance(error, ImportError) and error.name and error.name.startswith("pulumi_"):
        match = re.search(r"cannot import name '(\w+)'", str(error))
        name, package = match[1] if match else error.name, error.name.partition(".")[0]
        lacking, near = f"`{name}` in {error.name}", _near_name(name, sys.modules.get(error.name), project)
    elif isinstance(error, AttributeError) and error.obj is not None:
        of = error.obj.__name__ if isinstance(error.obj, ModuleType) else type(error.obj).__module__
        named = of if isinstance(error.obj, ModuleType) else type(error.obj).__qualname__
        package, lacking = of.partition(".")[0], f"`{error.name}` in {named}"
        if package.startswith("pulumi_"):
            near = _near_name(str(error.name), error.obj, project)
    elif isinstance(error, TypeError) and (match := _UNKNOWN_ARGUMENT.search(str(error))):
        frames = [Path(frame.filename).parts for frame in traceback.extract_tb(error.__traceback__)]
        package = next((part for parts in reversed(frames) for part in parts if part.startswith("pulumi_")), "")
        called = re.match(r"([\w.]+?)(\.__init__|\._internal_init)?\(\)", str(error))
        if match[1] and called:
            made = _called(error, called[1])
            package = package or str(getattr(made, "__module__", "")).partition(".")[0]
            names = inspect.signature(getattr(made, "_internal_init", made)).parameters if made else ()
            lacking, near = f"argument `{match[1]}` of {called[1]}", _near(match[1], names)
    if not package.startswith("pulumi_") or not lacking:
        return ""
    name = package.replace("_", "-")
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
    says = f"  {package} {version}, which is installed, has no {lacking}"
    asked = _requirements(project).get(name, "")
    major = version.partition(".")[0]
    if re.search(r"[<=~]", asked) and not re.search(rf"[=~]={major}\b|>={major}\b", asked):
        fix = source.install_here(shlex.quote(asked))
        return (
            f"{says}: the program is for another release (its requirements.txt asks for {asked})\n"
            f"  fix: {fix}, or change the program to the installed release"
        )
    other = "name the release that the program is for in requirements.txt and install it"
    if near:
        return f"{says}: did you mean `{near}`?\n  fix: write `{near}`, or {other}"
    return f"{says}: it is misspelt, or the program is for another release\n  fix: correct the name, or {other}"


def _near_name(name: str, holder: object, project: Project) -> str:
    """Where a provider has a name that its package lacks where it was looked for, else the nearest name there.

    Of a module that is gone, what the program takes from it says where that is now: a module with a similar name has
    other things.
    """
    if not isinstance(holder, ModuleType):
        return _near(name, dir(holder))
    package = sys.modules[holder.__name__.partition(".")[0]]
    asked = name if name[:1].isupper() else _taken(name, project)
    places = _modules_of(asked, package)
    alike = [place for place in places if name.lower() in place or place in name.lower()]
    if alike or len(places) == 1:  # a name that many modules have says nothing of where the lost one went
        return "` or `".join(f"{package.__name__}.{place}.{asked}" for place in (alike or places)[:_MOST_PLACES])
    near = _near(name, dir(holder))
    return near if not asked or asked == name or hasattr(getattr(holder, near, None), asked) else ""


_MOST_PLACES: Final = 3


def _modules_of(kind: str, package: ModuleType) -> list[str]:
    """The modules of a provider that have a resource of this name."""
    file = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower() + ".py"
    folder = Path(package.__file__ or "").parent
    return sorted(
        path.parent.name
        for path in (folder.glob(f"*/{file}") if kind else ())
        if re.search(rf"^class {kind}\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    )


def _taken(module: str, project: Project) -> str:
    """The first thing that the program's own files take from a module, "" where they say none."""
    folder = project.program if project.program.is_dir() else project.program.parent
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if match := re.search(rf"\b{re.escape(module)}\.([A-Z]\w*)", text):
            return match[1]
        if match := re.search(rf"^from \S*\b{re.escape(module)} import ([A-Z]\w*)", text, re.MULTILINE):
            return match[1]
    return ""


def _near(name: str, names: Iterable[str]) -> str:
    """The public name that is nearest, "" where none is."""
    return next(
        iter(get_close_matches(name, [each for each in names if not each.startswith("_")], n=1, cutoff=0.8)), ""
    )


def _called(error: TypeError, name: str) -> Any:
    """What of a provider was called with an argument that it does not have; None where nobody can tell."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if (resource := frame.f_locals.get("__self__")) is not None and type(resource).__name__ == name:
            return type(resource)
    modules = [module for key, module in list(sys.modules.items()) if re.match(r"pulumi_\w+\.\w+\.", key)]
    return next((vars(module)[name] for module in modules if name in vars(module)), None)  # of those that are loaded


# -- places -----------------------------------------------------------------------------------------------------------


def last_line(error: BaseException, project: Project) -> str:
    """The program's own last line before an error, "" where none is its own."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" in {relative(error.filename, project)}, line {error.lineno}: {(error.text or '').strip()}"
    lines = _own_lines(error, project)
    return f" in {lines[-1]}" if lines else ""


def _own_lines(error: BaseException, project: Project) -> list[str]:
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(f"{project.root}/")
        and "site-packages" not in frame.filename
        and not frame.filename.startswith((runtime.FOLDER, str(Path(__file__).parent)))
    ]
    lines = []
    for frame in own:
        linecache.checkcache(frame.filename)
        text = frame.line or linecache.getline(frame.filename, frame.lineno or 0).strip()
        lines.append(f"{relative(frame.filename, project)}, line {frame.lineno}: {text}")
    return lines


def _chain(error: BaseException, project: Project) -> Iterator[str]:
    """Every error on the way, the first cause last, each with the program's lines that led to it."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield f"{type(current).__name__}: {current}"
        yield from _own_lines(current, project)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def relative(filename: str, project: Project) -> str:
    """A file as its project calls it."""
    path = Path(filename)
    return str(path.relative_to(project.root)) if path.is_relative_to(project.root) else path.name
