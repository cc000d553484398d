"""One sentence for every key of a spec: shown by editors (through the JSON Schema) and in docs/reference/spec.md."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from sizewell import csvtables


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A row of keys.csv."""

    key: str  # dotted; of `images` as in any section that has it
    meaning: str


KINDS: Final = {  # by the first example that the schema gives
    "4096": "count",
    "0": "count, or 0",
    "45m": "duration",
    "0s": "duration",
    "80GB": "size",
    "10000 USD": "money",
    "70%": "percentage",
    "4": "rate, per second or `10k/h`",
}


@cache
def _meanings() -> dict[str, str]:
    rows = csvtables.read(Key, Path(__file__).parent / "data/keys.csv")
    return {row.key: row.meaning for row in rows}


def sentence(path: str) -> str:
    """The sentence of a dotted key; keys of images are the same in every section."""
    head, _, key = path.rpartition(".")
    return _meanings().get(path) or _meanings().get(f"{head.rpartition('.')[2]}.{key}", "")


def reference(schema: dict[str, object]) -> str:
    """The page docs/reference/spec.md: every key in the order of the schema."""
    lines = [
        "# The workload spec",
        "",
        "Every key of a spec file. `sizewell size SPEC --show-spec` prints a spec with every default and its origin;",
        "[spec.schema.json](../../src/sizewell/schemas/spec.schema.json) is the same for editors: start a file with",
        "`# yaml-language-server: $schema=` and the path to it. The [examples](../../examples/) have the arithmetic.",
        "",
        "A duration is `500ms`, `45m`, `1h30m` or `3d`; a size `80GB` (10^9) or `80GiB` (2^30); a count `4096`, `50k`",
        "or `7B`; money `10000 USD`; a percentage `70%`. A number without its unit is rejected.",
        "",
        "| key | value | meaning | default |",
        "| --- | --- | --- | --- |",
    ]
    lines += [_row(path, definition, schema) for path, definition in _walk(schema, schema, "")]
    return "\n".join(lines) + "\n"


def _walk(definition: dict[str, Any], schema: dict[str, Any], prefix: str) -> list[tuple[str, dict[str, Any]]]:
    fields = []
    for key, value in definition.get("properties", {}).items():
        path = f"{prefix}.{key}" if prefix else key
        fields.append((path, value))
        for inner in _references(value):
            fields += _walk(schema["$defs"][inner], schema, path)
    return fields


def _references(value: dict[str, Any]) -> list[str]:
    options = [value, *value.get("anyOf", [])]
    return [option["$ref"].rpartition("/")[2] for option in options if "$ref" in option]


def _row(path: str, value: dict[str, Any], schema: dict[str, object]) -> str:
    text = value.get("description", "")
    _, _, default = text.partition("Default: ")
    return f"| `{path}` | {_values(value, schema)} | {sentence(path)} | {default} |"


EXAMPLES_MAX: Final = 10  # examples that a cell of the table has room for


def _values(value: dict[str, Any], schema: dict[str, object]) -> str:
    if "enum" in value or "const" in value:
        return ", ".join(f"`{option}`" for option in value.get("enum", [value.get("const")]))
    if len(value.get("examples", ())) > EXAMPLES_MAX:  # names of the catalog, for editors
        return f"text, such as {', '.join(f'`{example}`' for example in value['examples'][:2])}"
    if value.get("examples"):
        return KINDS.get(value["examples"][0], ", ".join(f"`{example}`" for example in value["examples"]))
    if _references(value):
        others = [option for option in value.get("anyOf", []) if "$ref" not in option]
        return " or ".join([*(_values(option, schema) for option in others), "mapping"])
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(_values(option, schema) for option in value["anyOf"]))
    return {"string": "text", "boolean": "`true`, `false`", "array": "list", "number": "number"}.get(
        value.get("type", ""), "text"
    )
