"""docs/reference/components.md: what each component takes, gives and makes, read from the code and from its goldens.

Arguments and outputs are those of the classes; what a component makes is counted in the recorded forms that its tests
keep (tests/components/*/goldens), so that the page says what the tests have seen.
"""

import ast
import collections
import inspect
import itertools
import re
import sys
import textwrap
from pathlib import Path
from typing import Any, NotRequired, get_args, get_origin

from sizewell.components.bounds import bounds_of, plain, typed_dicts
from sizewell.components.inventory import args_type, clouds, component_classes
from sizewell.components.owned import Owned, OwnedArgs

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "components"))

from golden_files import whole

GOLDENS = Path(__file__).resolve().parent.parent / "tests" / "components"
HEADINGS = {"aws": "AWS", "azure": "Azure", "gcp": "Google Cloud", "kubernetes": "Any Kubernetes cluster"}
INTRODUCTION = """\
# Components

Generated from the code and from the recorded forms in `tests/components/*/goldens` (`make generate`). Each component is
a Pulumi `ComponentResource` that works in any program: `examples/components/` has one program for each cloud. Its
arguments are checked at construction, and all faults are reported at once; every resource that it creates has
[tags](#arguments-of-every-component) by which `sizewell reconcile` and `sizewell teardown` find it.

Python programs import it from the module that is named with it. Other languages use it as a package: see
[use one component](../howto/use-a-component-alone.md#in-typescript-go-c-java-or-yaml).
"""


def reference() -> dict[str, str]:
    """Path -> content of the generated page."""
    forms = recorded_forms()
    classes = {cloud: component_classes(cloud) for cloud in clouds()}
    nested = _nested_types([one for found in classes.values() for one in found])
    parts = [INTRODUCTION, _overview(classes, forms), _owned()]
    for cloud, found in classes.items():
        parts.append(f"## {HEADINGS[cloud]}\n")
        parts += [_component(one, forms.get(one.token(), {}), nested) for one in found]
    parts.append(_types(nested))
    return {"docs/reference/components.md": "\n".join(parts)}


def recorded_forms() -> dict[str, dict[str, collections.Counter[str]]]:
    """Token -> form -> how many resources of each type; forms that tests keep of one component alone.

    A golden has one line without indentation for each resource: its type, its name and its options.
    """
    forms: dict[str, dict[str, collections.Counter[str]]] = {}
    for path in sorted(GOLDENS.glob("*/goldens/*.txt")):
        heads = [line.split()[0] for line in whole(path).splitlines() if re.match(r"\S", line)]
        ours = [head for head in heads if head.startswith("sizewell-")]
        if len(ours) == 1:
            counts = collections.Counter(head for head in heads if not head.startswith("sizewell-"))
            forms.setdefault(ours[0], {})[path.stem] = counts
    return forms


def _overview(classes: dict[str, tuple[type[Owned], ...]], forms: dict[str, Any]) -> str:
    lines = ["| component | what it is | resources, dev | resources, prod |", "| --- | --- | --- | --- |"]
    for found in classes.values():
        for one in found:
            counts = forms.get(one.token(), {})
            cells = [_range(counts, environment) for environment in ("dev", "prod")]
            lines.append(
                f"| [`{one.token()}`](#{_anchor(_title(one))}) | {_first_sentence(one)} | {cells[0]} | {cells[1]} |"
            )
    return "\n".join([*lines, ""])


def _cloud(cls: type) -> str:
    """The folder of `components/` in which a class is defined."""
    return cls.__module__.split(".")[2]


def _range(counts: dict[str, collections.Counter[str]], environment: str) -> str:
    totals = sorted({total.total() for form, total in counts.items() if _environment(form) == environment})
    return " to ".join(str(one) for one in ([totals[0], totals[-1]] if len(totals) > 1 else totals)) or "–"


def _environment(form: str) -> str:
    """The environment, dev or prod, as the form's name says it; what says neither is dev."""
    return "prod" if "prod" in form.split("-") else "dev"


def _owned() -> str:
    text = (
        "## Arguments of every component\n\n"
        "Tags (labels on Google Cloud) on all that is billed: `managed-by`, `sizewell-stack`, `sizewell-id` (a hash of "
        "project, stack, type and name), `sizewell-owner`, `sizewell-cost-center`, `sizewell-environment` and "
        "`sizewell-expires`.\n"
    )
    return "\n".join([text, *_fields(OwnedArgs, {}), ""])


def _component(one: type[Owned], forms: dict[str, collections.Counter[str]], nested: dict[str, type]) -> str:
    lines = [
        f"### {_title(one)}",
        "",
        f"`{one.token()}` · `from sizewell.components.{_cloud(one)} import {one.__name__}`",
        "",
        _paragraphs(one),
        "",
        *_fields(args_type(one), nested, without=OwnedArgs.__annotations__),
        "",
        "| output | type | |",
        "| --- | --- | --- |",
        *_outputs(one),
        "",
    ]
    if forms:
        names = sorted(forms, key=lambda form: (_environment(form) != "dev", form))
        lines += ["| makes | " + " | ".join(f"`{name}`" for name in names) + " |"]
        lines += ["| --- |" + " --- |" * len(names)]
        for kind in sorted({kind for counts in forms.values() for kind in counts}):
            cells = [str(forms[name][kind] or "") for name in names]
            lines.append(f"| `{kind}` | " + " | ".join(cells) + " |")
        totals = [f"**{forms[name].total()}**" for name in names]
        lines += ["| **all** | " + " | ".join(totals) + " |", ""]
    return "\n".join(lines)


def _outputs(one: type[Owned]) -> list[str]:
    said = _docstrings(one)
    own = {key: value for key, value in inspect.get_annotations(one).items() if not key.startswith("_")}
    return [f"| `{key}` | {_spelling(value, {})} | {said.get(key, '')} |" for key, value in own.items()]


def _fields(shape: type, nested: dict[str, type], *, without: Any = ()) -> list[str]:
    """A table of a TypedDict's keys, those of its bases last."""
    hints = _hints(shape)
    own = [key for key in inspect.get_annotations(shape) if key not in without]
    keys = [key for key in shape.__annotations__ if key not in without]
    ordered = sorted(keys, key=lambda key: key not in shape.__required_keys__)  # type: ignore[attr-defined]
    said, bounds = _docstrings(shape), bounds_of(shape)
    lines = ["| argument | type | |", "| --- | --- | --- |"]
    for key in ordered or own:
        needed = "" if key in shape.__required_keys__ else " (optional)"  # type: ignore[attr-defined]
        kind = _spelling(hints[key], nested) + (f", {bounds[key]}" if key in bounds else "")
        lines.append(f"| `{key}`{needed} | {kind} | {said.get(key, '')} |")
    return lines


def _nested_types(found: list[type[Owned]]) -> dict[str, type]:
    """TypedDicts that arguments have inside, by name."""
    nested: dict[str, type] = {}
    queue = [args_type(one) for one in found]
    while queue:
        for hint in _hints(queue.pop()).values():
            for inner in typed_dicts(hint):
                if inner not in nested.values():
                    nested[_title(inner)] = inner
                    queue.append(inner)
    return dict(sorted(nested.items()))


def _title(shape: type) -> str:
    """The heading of a class: its name, under its cloud's where it belongs to one."""
    room = _cloud(shape)
    return f"{HEADINGS[room]}: {shape.__name__}" if room in HEADINGS else shape.__name__


def _anchor(heading: str) -> str:
    """The address of a heading in its page.

    >>> _anchor("Google Cloud: VertexTraining")
    'google-cloud-vertextraining'
    """
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


def _hints(shape: type) -> dict[str, Any]:
    """A TypedDict's types, those of its bases included, without bounds and the mark of what may be left out."""
    hints = {key: plain(hint) for key, hint in shape.__annotations__.items()}
    return {key: get_args(hint)[0] if get_origin(hint) is NotRequired else hint for key, hint in hints.items()}


def _types(nested: dict[str, type]) -> str:
    lines = ["## Types inside arguments\n"]
    for name, shape in nested.items():
        lines += [f"### {name}", "", inspect.cleandoc(shape.__doc__ or ""), "", *_fields(shape, nested), ""]
    return "\n".join(lines)


def _spelling(hint: Any, nested: dict[str, type]) -> str:
    """A type in words: `pulumi.Input[list[str]]` is a list of strings, known beforehand or not."""
    text = hint if isinstance(hint, str) else ""
    if name := next((one for one in nested if hint is nested[one]), ""):
        return f"[{hint.__name__}](#{_anchor(name)})"
    plain = {str: "string", int: "integer", float: "number", bool: "true or false", dict: "map", Any: "anything"}
    if hint in plain:
        return plain[hint]
    origin, inner = getattr(hint, "__origin__", None), getattr(hint, "__args__", ())
    shown = getattr(hint, "__name__", "") or str(hint)
    if origin is list:
        return f"list of {_spelling(inner[0], nested)}"
    if origin is dict:
        return "map" if inner[1] is Any else f"map of {_spelling(inner[1], nested)}"
    if shown == "Output" or "pulumi.output.Output" in str(origin):
        return _spelling(inner[0], nested)
    if "Union" in str(origin) or "Union" in shown:  # pulumi.Input: the value, or an output or future of it
        return f"{_spelling(inner[0], nested)}, or an output"
    return text or shown


def _docstrings(cls: type) -> dict[str, str]:
    """The line under each annotation, of the class and its bases."""
    said: dict[str, str] = {}
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    if not isinstance(body, ast.ClassDef):
        return said
    module = sys.modules[cls.__module__]
    for base in body.bases:  # a TypedDict does not tell its bases before Python 3.12
        parent = getattr(module, base.id, None) if isinstance(base, ast.Name) else None
        if isinstance(parent, type) and parent.__module__.startswith("sizewell.components."):
            said |= _docstrings(parent)
    for first, second in itertools.pairwise(body.body):
        if (
            isinstance(first, ast.AnnAssign)
            and isinstance(first.target, ast.Name)
            and isinstance(second, ast.Expr)
            and isinstance(second.value, ast.Constant)
        ):
            said[first.target.id] = " ".join(str(second.value.value).split()).replace("|", "\\|")
    return said


def _first_sentence(one: type[Owned]) -> str:
    return _paragraphs(one).split("\n\n")[0].replace("\n", " ")


def _paragraphs(one: type[Owned]) -> str:
    if not one.__doc__:
        raise TypeError(f"{one.__module__}.{one.__name__} has no docstring")
    return inspect.cleandoc(one.__doc__)
