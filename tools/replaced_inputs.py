"""Which inputs of a resource force a replacement, from what the providers publish.

    python tools/replaced_inputs.py google CHECKOUT
    python tools/replaced_inputs.py kubernetes CHECKOUT
    python tools/replaced_inputs.py azure REPLACEMENT_GO PACKAGES

Each writes its cloud's types in src/sizewell/preview/replaced.json and leaves the others as they are.

google: CHECKOUT is a git directory of hashicorp/terraform-provider-google-beta. A resource's own inputs with `ForceNew:
true` are taken, and of types that have a price the parts of their blocks too (`scheduling.preemptible`), of which each
says for itself; `guestAccelerators[]` is a block that cannot be added, nor another number of it. A type is taken where
its name is Terraform's in Pulumi's spelling and nine of ten inputs are the SDK's too; the others are left to the
engine's plan.

kubernetes: CHECKOUT is a git directory of pulumi/pulumi-kubernetes, whose provider/pkg/provider/diff.go has the list.

azure: REPLACEMENT_GO is provider/pkg/gen/replacement.go of pulumi/pulumi-azure-native; PACKAGES is a folder into which
the `azure-mgmt-*` packages of PyPI are installed, whose models say by `visibility` what is only created. To these come
the parts of a resource's id: inputs of the Python SDK whose names end in "Name" and that are no outputs.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "src/sizewell/preview/replaced.json"
SERVICES = "google-beta/services"
NAME = re.compile(
    r'Name:\s+"(google_\w+)",\s+ProductName: "\w+",\s+Type:\s+registry\.SchemaTypeResource,\s+Schema:\s+(\w+)'
)
MAP = re.compile(r"^(\t+)(?:Schema: +)?map\[string\]\*schema\.Schema\{$", re.MULTILINE)
MODULES = {"projects": "project", "organizations": "organization", "serviceaccount": "service_account"}


def sources(checkout: str) -> Iterator[tuple[str, str]]:
    """Path and text of each file that declares a resource."""
    listed = _git(checkout, "ls-tree", "-r", "--name-only", "HEAD", SERVICES).split()
    for path in listed:
        if "/resource_" in path and path.endswith(".go") and not path.endswith("_test.go"):
            yield path, _git(checkout, "show", f"HEAD:{path}")


def _git(checkout: str, *words: str) -> str:
    return subprocess.run(["git", "-C", checkout, *words], capture_output=True, text=True, check=True).stdout


def inputs_of(source: str, function: str) -> dict[str, bool]:
    """Input -> whether another value replaces the resource, of what the function declares at its top."""
    start = source.index(f"func {function}() *schema.Resource")
    end = source.find("\n}\n", start)
    body = source[start:end]
    own = re.search(
        r"^\t\tSchema:", body, re.MULTILINE
    )  # what stands deeper is of the resource's identity and of blocks
    found = MAP.search(body, own.start()) if own else None
    if own is None or found is None:
        return {}
    stated = _entries(body[found.end() :], len(found[1]) + 1)
    for variable in re.findall(r"^\t{3}(\w+),$", body[own.start() : found.start()], re.MULTILINE):
        shared = re.search(rf"^var {variable} = map\[string\]\*schema\.Schema\{{$", source, re.MULTILINE)
        if shared:
            stated |= _entries(source[shared.end() : source.find("\n}\n", shared.end())], 1)
    return stated


def _entries(text: str, depth: int) -> dict[str, bool]:
    """The entries of a map whose keys stand `depth` tabs deep, up to its closing bracket."""
    text = text.partition(f"\n{chr(9) * (depth - 1)}}}")[0]
    entries: dict[str, bool] = {}
    parts = re.split(rf'^\t{{{depth}}}"(\w+)": ', text, flags=re.MULTILINE)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        own = re.findall(rf"^\t{{{depth + 1}}}(\w+):\s+(\S+)", body, re.MULTILINE)
        said = dict(own)
        if "&schema.Resource{" in said.get("Elem", ""):  # a block: what is in it says for itself
            said.pop("ForceNew", None)
        if said.get("Required") == "true," or said.get("Optional") == "true," or not said:
            entries[name] = said.get("ForceNew") == "true,"
    return entries


@dataclass
class Package:
    """The Go files of one service, in which a schema may be a function or a variable of its own."""

    text: str
    words: set[str]  # names of parts of blocks as the Python SDK spells them

    def parts(self, function: str, inputs: set[str]) -> Iterator[str]:
        """Paths of the parts of blocks that another value replaces, as Pulumi writes them."""
        start = self.text.index(f"func {function}() *schema.Resource")
        resource = _braced(self.text, self.text.index("return &schema.Resource{", start))
        self.words |= inputs
        yield from self._paths(self._schema(_inside(resource)), ())

    def _schema(self, resource: str) -> dict[str, str]:
        """The entries of a resource's `Schema`."""
        stated = next((value for key, value in _fields_of_go(resource) if key == "Schema"), "")
        merged = re.match(r"tpgresource\.MergeSchemas\(", stated)
        values = _split(stated[merged.end() : -1]) if merged else [stated]
        return {
            name.strip('"'): body
            for each in values
            for name, body in _fields_of_go(_inside(self._resolved(each)))
            if name.startswith('"')
        }

    def _resolved(self, value: str) -> str:
        """A schema that stands elsewhere in the package, by its name."""
        name = re.fullmatch(r"(\w+)(\(\))?", value.strip())
        if name is None:
            return value
        declared = re.search(
            rf"^func {name[1]}\(\) \S+ \{{\n\treturn |^var {name[1]} (?:\S+ )?= ", self.text, re.MULTILINE
        )
        return _braced(self.text, declared.end()) if declared else ""

    def _paths(self, schema: dict[str, str], path: tuple[str, ...]) -> Iterator[str]:
        for name, value in schema.items():
            said = dict(_fields_of_go(_inside(self._resolved(value))))
            if not {"Required", "Optional"} & said.keys():
                continue
            element = self._resolved(said.get("Elem", ""))
            many = said.get("Type") in ("schema.TypeList", "schema.TypeSet") and said.get("MaxItems") != "1"
            here = (*path, self._spelt(name, many=many))
            if "&schema.Resource{" in element.partition("\n")[0]:
                if said.get("ForceNew") == "true":
                    yield f"{'.'.join(here)}[]"
                yield from self._paths(self._schema(_inside(element)), here)
            elif path and said.get("ForceNew") == "true":
                yield ".".join(here)

    def _spelt(self, name: str, *, many: bool) -> str:
        return _spelt(name, self.words - {name} if many else {name})


def _braced(text: str, start: int) -> str:
    """From `start` to the bracket that closes the first curly one after it; strings are passed over."""
    depth, place = 0, start
    while place < len(text):
        quoted = re.compile(r'"(?:\\.|[^"\\])*"|`[^`]*`|//[^\n]*').match(text, place)
        if quoted:
            place = quoted.end()
            continue
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        place += 1
        if depth == 0 and text[place - 1] == "}":
            return text[start:place]
    return ""


def _inside(value: str) -> str:
    """What stands between the first curly bracket and the last."""
    return value[value.find("{") + 1 : value.rfind("}")] if "{" in value else ""


def _split(text: str) -> list[str]:
    """The parts between the commas that stand in no bracket, string or comment."""
    parts, depth, begin = [], 0, 0
    for each in re.finditer(r'"(?:\\.|[^"\\])*"|`[^`]*`|//[^\n]*|[{}()\[\],]', text):
        sign = each[0]
        if sign == "," and depth == 0:
            parts.append(text[begin : each.start()].strip())
            begin = each.end()
        depth += (sign in "{([") - (sign in "})]") if len(sign) == 1 else 0
    return [each for each in (*parts, text[begin:].strip()) if each]


def _fields_of_go(text: str) -> list[tuple[str, str]]:
    """(key, value) of a literal's entries."""
    bare = (re.sub(r"^(\s*//[^\n]*\n)+", "", each).strip() for each in _split(text))
    pairs = (each.partition(":") for each in bare)
    return [(key.strip(), value.strip()) for key, colon, value in pairs if colon]


def types() -> dict[str, tuple[str, set[str]]]:
    """Terraform's name -> Pulumi's type and its inputs, from the Python SDK."""
    import pulumi_gcp

    found = {}
    for path in Path(pulumi_gcp.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        token = re.search(r'^@pulumi\.type_token\("(gcp:(\w+)/\w+:(\w+))"\)', text, re.MULTILINE)
        declared = re.search(r"class \w+Args:.*?def __init__\(__self__, \*,(.*?)\):", text, re.DOTALL)
        if token and declared:
            module, name = MODULES.get(token[2], token[2]), re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", token[3]).lower()
            key = f"google_{module}" if module == "service_account" and name == "account" else f"google_{module}_{name}"
            found[key] = (token[1], set(re.findall(r"^\s+(\w+): ", declared[1], re.MULTILINE)))
    return found


def google(checkout: str) -> dict[str, set[str]]:
    from sizewell.resources.tables import PRICERS

    known, table = types(), {}
    for path, source in sources(checkout):
        for name, function in NAME.findall(source):
            if name not in known or f"func {function}() *schema.Resource" not in source:
                continue
            token, inputs = known[name]
            stated = inputs_of(source, function)
            if stated and len(stated.keys() & _plural(inputs)) >= 0.9 * len(stated):
                table[token] = {_spelt(each, inputs) for each, replaces in stated.items() if replaces}
                if token in PRICERS:
                    table[token] |= set(_package(checkout, str(Path(path).parent), token).parts(function, inputs))
    return table


@cache
def _text(checkout: str, folder: str) -> str:
    files = _git(checkout, "ls-tree", "--name-only", "HEAD", f"{folder}/").split()
    own = [path for path in files if path.endswith(".go") and not path.endswith("_test.go")]
    return "\n".join(_git(checkout, "show", f"HEAD:{path}") for path in own)


def _package(checkout: str, folder: str, token: str) -> Package:
    import pulumi_gcp

    module = Path(pulumi_gcp.__file__).parent / token.split(":")[1].partition("/")[0] / "_inputs.py"
    return Package(
        text=_text(checkout, folder),
        words=set(re.findall(r"^    def (\w+)\(self\)", module.read_text(encoding="utf-8"), re.MULTILINE))
        if module.is_file()
        else set(),
    )


def kubernetes(checkout: str) -> dict[str, set[str]]:
    """Pulumi's type -> paths of inputs, without the places of lists, of each kind in the provider's list."""
    text = re.sub(r"//.*", "", _git(checkout, "show", "HEAD:provider/pkg/provider/diff.go"))
    parts = {
        name: set(re.findall(r'^\t\t\t?prefix \+ "([\w.]+)",$', body, re.MULTILINE))
        for name, body in re.findall(r"func (\w+)\(prefixe?s? [^)]*\) properties \{(.*?)\n\}", text, re.DOTALL)
    }

    def listed(body: str) -> set[str]:
        stated = set(re.findall(r'^\s*"\.([\w.]+)",$', body, re.MULTILINE))
        for function, prefixes in re.findall(r"(\w+)\(([^()]*)\)\.\.\.", body):
            for prefix in re.findall(r'"\.([^"]+)"', prefixes):
                stated |= {f"{prefix}{part}".replace("[*]", "") for part in parts[function]}
        return stated

    shared = {
        name: listed(body)
        for name, body in re.findall(r"^var (\w+) = ((?:append|properties).*?\n[)}])$", text, re.DOTALL | re.MULTILINE)
    }
    table = {}
    for group, versions in _entries_of_go(text[text.index("var forceNew") : text.index("var core")], 1):
        for api, kinds in _entries_of_go(versions, 2) or re.findall(r'"(v\w+)":\s+_kinds(\{.*?\})', versions):
            for kind, body in re.findall(r'"(\w+)":\s+(\w+(?:\{[^}]*\})?)', kinds):
                table[f"kubernetes:{group}/{api}:{kind}"] = shared.get(body) or listed(body)
    core = text[text.index("var core") : text.index("var daemonset")]
    for kind, body in re.findall(r'^\t\t"(\w+)": (.*?)(?=^\t\t"|^\t\},)', core, re.DOTALL | re.MULTILINE):
        table[f"kubernetes:core/v1:{kind}"] = listed(body)
    # what the function adds for these two, unless the provider is told that they may change
    table["kubernetes:core/v1:Secret"] = {"type", "stringData", "data"}
    table["kubernetes:core/v1:ConfigMap"] = {"binaryData", "data"}
    return table


def _entries_of_go(text: str, depth: int) -> list[tuple[str, str]]:
    """The entries of a map whose keys stand `depth` tabs deep."""
    parts = re.split(rf'^\t{{{depth}}}"([\w.]*)":', text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


_PACKAGES = {
    "dbforpostgresql": "postgresqlflexibleservers",
    "documentdb": "cosmosdb",
}  # of another name than the module


def azure(replacement: str, packages: str) -> dict[str, set[str]]:
    """Pulumi's type -> inputs, at whatever depth they stand, of the types that are priced or known to be free."""
    import pulumi_azure_native

    from sizewell.resources.tables import FREE, PRICERS

    text = re.sub(r"//.*", "", Path(replacement).read_text(encoding="utf-8"))
    forced, spared = (_map_of_go(text, name) for name in ("forceNewMap", "noForceNewMap"))
    created = {
        module: create_only(folder) for folder in Path(packages, "azure/mgmt").iterdir() for module in (folder.name,)
    }
    table = {}
    for path in sorted(Path(pulumi_azure_native.__file__).parent.glob("[a-z]*/*.py")):
        source = path.read_text(encoding="utf-8")
        token = re.search(r'^@pulumi\.type_token\("(azure-native:(\w+):(\w+))"\)', source, re.MULTILINE)
        declared = re.search(r"class \w+Args:.*?def __init__\(__self__, \*,(.*?)\):", source, re.DOTALL)
        if token is None or declared is None:
            continue
        if token[1] not in {*PRICERS, *FREE} and (token[2], token[3]) not in forced:
            continue
        inputs = set(re.findall(r"^\s+(\w+): ", declared[1], re.MULTILINE))
        got = source[source.index("    def get(resource_name") :]
        outputs = set(re.findall(r'__props__\.__dict__\["(\w+)"\] = None', got))
        names = {_camel(each) for each in inputs - outputs if each.endswith("_name")}
        camel = {_camel(each).lower() for each in inputs}
        only = {
            each
            for each in created.get(_PACKAGES.get(token[2], token[2]), {}).get(token[3], set())
            if each.lower() in camel
        }
        stated = forced.get((token[2], token[3]), set()) | only | names
        table[token[1]] = stated - spared.get((token[2], token[3]), set())
    return table


def _map_of_go(text: str, name: str) -> dict[tuple[str, str], set[str]]:
    body = re.search(rf"^var {name} = (.*?)^\}}", text, re.DOTALL | re.MULTILINE)
    if body is None:
        raise SystemExit(f"no {name} in that file")
    return {
        (module.lower(), kind): set(re.findall(r'"(\w+)"', inputs))
        for module, kinds in _entries_of_go(body[1], 1)
        for kind, inputs in re.findall(r'"(\w+)":\s+codegen\.NewStringSet\(([^)]*)\)', kinds)
    }


def create_only(package: Path) -> dict[str, set[str]]:
    """Model -> its properties, and those of its `properties`, that a request may only state when it creates."""
    path = package / "models/_models.py"
    if not path.is_file():
        return {}
    models: dict[str, tuple[list[str], dict[str, tuple[bool, str]]]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base) for base in node.bases]
            models[node.name] = bases, dict(_fields(node))

    def own(name: str) -> dict[str, tuple[bool, str]]:
        bases, fields = models.get(name, ([], {}))
        return {key: value for base in bases for key, value in own(base).items()} | fields

    return {name: {each for each, (only, _) in _flat(own(name), own).items() if only} for name in models}


def _flat(fields: dict[str, tuple[bool, str]], own: Any) -> dict[str, tuple[bool, str]]:
    inner = re.findall(r"_models\.(\w+)", fields.get("properties", (False, ""))[1])
    return fields | {key: value for name in inner for key, value in own(name).items()}


def _fields(model: ast.ClassDef) -> Iterator[tuple[str, tuple[bool, str]]]:
    """(name in a request, (whether it is only created, its annotation)) of each field of a model."""
    for node in model.body:
        call = node.value if isinstance(node, ast.AnnAssign) else None
        if (
            not isinstance(node, ast.AnnAssign)
            or not isinstance(call, ast.Call)
            or not isinstance(node.target, ast.Name)
        ):
            continue
        stated = {
            keyword.arg: ast.literal_eval(keyword.value)
            for keyword in call.keywords
            if keyword.arg in ("name", "visibility")
        }
        yield (
            stated.get("name", node.target.id),
            (stated.get("visibility") == ["read", "create"], ast.unparse(node.annotation)),
        )


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def main(cloud: str, *places: str) -> None:
    """Read one cloud's types and write them beside those of the others."""
    said = json.loads(OUTPUT.read_text(encoding="utf-8"))
    prefix = {"google": "gcp:", "kubernetes": "kubernetes:", "azure": "azure-native:"}[cloud]
    table = {"google": google, "kubernetes": kubernetes, "azure": azure}[cloud](*places)  # type: ignore[operator]
    said["types"] = {kind: inputs for kind, inputs in said["types"].items() if not kind.startswith(prefix)}
    said["types"] |= {kind: sorted(_shortest(inputs)) for kind, inputs in table.items() if inputs}
    said["sources"][cloud] = {
        "google": lambda: (
            f"hashicorp/terraform-provider-google-beta {_head(places[0])}: ForceNew of the resources' own inputs, "
            "and of the parts of blocks of what has a price"
        ),
        "kubernetes": lambda: f"pulumi/pulumi-kubernetes {_head(places[0])}: provider/pkg/provider/diff.go",
        "azure": lambda: (
            "pulumi/pulumi-azure-native: provider/pkg/gen/replacement.go; create-only properties of "
            + ", ".join(
                sorted(path.name.removesuffix(".dist-info") for path in Path(places[1]).glob("azure_mgmt_*.dist-info"))
            )
            + f"; names in the ids of pulumi_azure_native {version('pulumi_azure_native')}"
        ),
    }[cloud]()
    OUTPUT.write_text(json.dumps(said, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(table)} types, {sum(map(len, table.values()))} inputs")


def _shortest(inputs: set[str]) -> set[str]:
    """Without what stands inside another."""
    return {each for each in inputs if not any(each.startswith(f"{other}.") for other in inputs)}


def _head(checkout: str) -> str:
    return _git(checkout, "rev-parse", "HEAD").strip()


def _plural(inputs: set[str]) -> set[str]:
    """Terraform names a list by one of its parts, Pulumi by many."""
    return (
        inputs
        | {each.removesuffix("s") for each in inputs}
        | {each.removesuffix("ies") + "y" for each in inputs}
        | {each.removesuffix("es") for each in inputs}
    )


def _spelt(name: str, inputs: set[str]) -> str:
    """An input as Pulumi spells it: of many where Terraform says one, in camel case."""
    name = next(
        (each for each in (name, f"{name}s", f"{name.removesuffix('y')}ies", f"{name}es") if each in inputs), name
    )
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


if __name__ == "__main__":
    main(*sys.argv[1:])
