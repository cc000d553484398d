"""Which inputs of Google Cloud's resources force a replacement, from the Terraform provider that Pulumi's is made of.

    python tools/replaced_inputs.py CHECKOUT

CHECKOUT is a git directory of hashicorp/terraform-provider-google-beta. A resource's own inputs with `ForceNew: true`
are written to src/sizewell/preview/replaced.json, by Pulumi's type; blocks are left out, of which each part says for
itself. A type is taken where its name is Terraform's in Pulumi's spelling and nine of ten inputs are the SDK's too;
the others are left to the engine's plan.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "src/sizewell/preview/replaced.json"
SERVICES = "google-beta/services"
NAME = re.compile(
    r'Name:\s+"(google_\w+)",\s+ProductName: "\w+",\s+Type:\s+registry\.SchemaTypeResource,\s+Schema:\s+(\w+)'
)
MAP = re.compile(r"^(\t+)(?:Schema: +)?map\[string\]\*schema\.Schema\{$", re.MULTILINE)
MODULES = {"projects": "project", "organizations": "organization", "serviceaccount": "service_account"}


def sources(checkout: str) -> Iterator[str]:
    """The text of each file that declares a resource."""
    listed = _git(checkout, "ls-tree", "-r", "--name-only", "HEAD", SERVICES).split()
    for path in listed:
        if "/resource_" in path and path.endswith(".go") and not path.endswith("_test.go"):
            yield _git(checkout, "show", f"HEAD:{path}")


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


def main(checkout: str) -> None:
    known, table = types(), {}
    for source in sources(checkout):
        for name, function in NAME.findall(source):
            if name not in known or f"func {function}() *schema.Resource" not in source:
                continue
            token, inputs = known[name]
            stated = inputs_of(source, function)
            if stated and len(stated.keys() & _plural(inputs)) >= 0.9 * len(stated):
                table[token] = sorted(_spelt(each, inputs) for each, replaces in stated.items() if replaces)
    said = {
        "source": "hashicorp/terraform-provider-google-beta, ForceNew of the resources' own inputs",
        "commit": _git(checkout, "rev-parse", "HEAD").strip(),
        "types": dict(sorted(table.items())),
    }
    OUTPUT.write_text(json.dumps(said, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(table)} of {len(known)} types, {sum(map(len, table.values()))} inputs")


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
    main(sys.argv[1])
