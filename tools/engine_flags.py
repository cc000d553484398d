"""Which flags each release of an engine's command knows, read from the release's own source: a table beside its record.

    .venv/bin/python tools/engine_flags.py vllm 0.33.0      # releases from that one on; hundreds of MB each, one by one
    .venv/bin/python tools/engine_flags.py text-embeddings-inference 1.2.0 --clone FOLDER   # of a git clone's tags
    .venv/bin/python tools/engine_flags.py triton 23.04 --clone FOLDER      # of a git clone's branches, as r25.10
    .venv/bin/python tools/engine_flags.py llama.cpp b4234  # the builds that node-llama-cpp's releases carry

Older releases stay as the table has them.
A release is what pip downloads from the package index, a tag of a clone, the branch that Triton keeps for each of its
images, or the source that a package of npm carries with the name of its release; nothing of it is run. A flag is a text
that begins with "--" and is given to `add_argument`, a field of a class that the release's own code makes flags of, in
Rust a field that clap makes one of, or in C++ an option that llama.cpp adds for its server, or Triton to its groups.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from sizewell.sizing.catalog.engine import numbers

ENGINES = Path(__file__).parents[1] / "src/sizewell/sizing/catalog/engines"
FILES = {  # of the wheel: where the parsers stand
    "vllm": ("vllm/engine/arg_utils.py", "vllm/entrypoints/cli/serve.py", "vllm/entrypoints/*/cli_args.py"),
    "sglang": ("sglang/srt/server_args.py", "sglang/srt/arg_groups/*.py"),
}
CLONES = {  # of the repository: where its command's parser stands
    "text-embeddings-inference": "router/src/main.rs",
    "triton": "src/command_line_parser.cc",
}
VERSION = "TRITON_VERSION"  # file of a branch
CARRIED = {"llama.cpp": "common/arg.cpp"}  # of the repository: where its command's parser stands
CARRIER = "node-llama-cpp"  # package of npm whose releases carry the source of one release of llama.cpp each


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("package", choices=[*FILES, *CLONES, *CARRIED])
    asked.add_argument("first", help="the oldest release to read")
    asked.add_argument("--clone", type=Path, help="git directory of an engine that the package index does not have")
    words = asked.parse_args()
    if (words.package in CLONES) != (words.clone is not None):
        asked.error(f"--clone is for {', '.join(CLONES)}, and needed there")
    path = ENGINES / f"{words.package}_flags.json"
    known = _recorded(path, before=words.first)
    if words.package in CARRIED:
        texts = dict(_carried(CARRIED[words.package], words.first))
        known |= {release: server_flags(texts[release]) for release in sorted(texts, key=numbers)}
        table = {"package": words.package, "files": [CARRIED[words.package]], **ranges(list(known), known)}
        path.write_text(_text(table), encoding="utf-8")
        return
    branches = words.package == "triton"
    every = _of_clone(words.clone, words.first, branches=branches) if words.clone else _releases(words.package)
    for release in reversed([each for each in every if numbers(each) >= numbers(words.first)]):
        if words.clone:
            name, read = (f"r{release}", option_flags) if branches else (f"v{release}", rust_flags)
            known[release] = read(_git(words.clone, "show", f"{name}:{CLONES[words.package]}"))
        else:
            known[release] = flags(_sources(words.package, release))
        print(f"{words.package} {release}: {len(known[release])} flags", file=sys.stderr, flush=True)
    files = FILES.get(words.package) or (CLONES[words.package],)
    table = {"package": words.package, "files": files, **ranges(list(known), known)}
    path.write_text(_text(table), encoding="utf-8")


def flags(sources: dict[str, str]) -> set[str]:
    r"""The flags that source files define, by their file names.

    >>> sorted(flags({"a.py": 'parser.add_argument("--model", "-m")\nclass FrontendArgs:\n    api_key: str = ""'}))
    ['--api-key', '--model']
    """
    return {flag for text in sources.values() for node in ast.walk(ast.parse(text)) for flag in _of(node)}


def rust_flags(text: str) -> set[str]:
    r"""The flags that clap makes of the fields of a Rust source file, and those that it has by itself.

    >>> sorted(rust_flags('#[clap(default_value = "3000", long, short, env)]\n#[redact(partial)]\n    port: u16,'))
    ['--help', '--port', '--version']
    """
    fields = re.findall(r"#\[clap\(([^\]]*)\)\]\s*(?:#\[[^\]]*\]\s*|///[^\n]*\n\s*)*(?:pub )?(\w+):", text)
    return {_flag(name) for words, name in fields if re.search(r"\blong\b", words)} | {"--help", "--version"}


def option_flags(text: str) -> set[str]:
    r"""The flags that Triton's parser adds to its groups of options; its images are built with all of them.

    >>> sorted(option_flags('options.push_back(\n  {OPTION_HELP, "help", ""});\noptions.push_back({OPTION_ID, "id",'))
    ['--help', '--id']
    """
    code = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    return {f"--{name}" for name in re.findall(r'\{\s*OPTION_\w+,\s*"([\w-]+)"', code)}


def server_flags(text: str) -> set[str]:
    r"""The flags that llama.cpp's parser adds for its server: for all programs or for it, and not excluded there.

    >>> text = 'add_opt(common_arg({"-a", "--all"}, {"--no-all"}, "..."));'
    >>> text += 'add_opt(common_arg({"--cli"}, "...").set_examples({LLAMA_EXAMPLE_CLI}));'
    >>> text += 'add_opt(common_arg({"--not"}, "...").set_excludes({LLAMA_EXAMPLE_SERVER}));'
    >>> sorted(server_flags(text + 'add_opt(common_arg({"--port"}, "N").set_examples({LLAMA_EXAMPLE_SERVER}));'))
    ['--all', '--no-all', '--port']
    """
    flags_of: set[str] = set()
    code = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    for option in re.split(r"\badd_opt\(\s*common_arg\(", code)[1:]:
        examples, excludes = (re.findall(rf"\.set_{key}\(\{{([^}}]*)\}}\)", option) for key in ("examples", "excludes"))
        if examples and not re.search(r"LLAMA_EXAMPLE_(SERVER|COMMON)\b", examples[0]):
            continue
        if excludes and "LLAMA_EXAMPLE_SERVER" in excludes[0]:
            continue
        names = re.match(r"\s*(?:\{[^{}]*\}\s*,\s*)+", option)
        flags_of |= set(re.findall(r'"(--[\w.-]+)"', names[0])) if names else set()
    return flags_of


def ranges(releases: list[str], known: dict[str, set[str]]) -> dict[str, Any]:
    """For each flag the releases that have it, as pairs of the first and the last of each run of them.

    >>> ranges(["1", "2", "3"], {"1": {"--a"}, "2": {"--a", "--b"}, "3": {"--b"}})
    {'releases': ['1', '2', '3'], 'flags': {'--a': [['1', '2']], '--b': [['2', '3']]}}
    """
    found: dict[str, list[list[str]]] = {}
    for number, release in enumerate(releases):
        for flag in known[release]:
            runs = found.setdefault(flag, [])
            if number and runs and runs[-1][1] == releases[number - 1]:
                runs[-1][1] = release
            else:
                runs.append([release, release])
    return {"releases": releases, "flags": {flag: found[flag] for flag in sorted(found)}}


def _recorded(path: Path, *, before: str) -> dict[str, set[str]]:
    """Flags by release, oldest first, of the releases that the table has already."""
    if not path.exists():
        return {}
    table = json.loads(path.read_text(encoding="utf-8"))
    known: dict[str, set[str]] = {each: set() for each in table["releases"] if numbers(each) < numbers(before)}
    for flag, runs in table["flags"].items():
        for first, last in runs:
            for release, flags_of in known.items():
                if numbers(first) <= numbers(release) <= numbers(last):
                    flags_of.add(flag)
    return known


def _of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
        yield from _texts(node.args)
    if isinstance(node, ast.ClassDef) and node.name.endswith("FrontendArgs"):  # vLLM makes flags of its fields
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                yield _flag(field.target.id)
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):  # SGLang of those with A[type, help]
        annotation = node.annotation
        if isinstance(annotation, ast.Subscript) and getattr(annotation.value, "id", "") == "A":
            yield from _annotated(node.target.id, annotation.slice)


def _annotated(name: str, inside: ast.expr) -> Iterator[str]:
    given: dict[str | None, ast.expr] = {}
    for part in inside.elts if isinstance(inside, ast.Tuple) else ():
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
            if part.func.id == "Derived":
                return
            given |= {word.arg: word.value for word in part.keywords}
    hidden = given.get("no_cli")
    if isinstance(hidden, ast.Constant) and hidden.value is True:
        return
    own = given.get("cli_name")
    yield from _texts([own]) if own is not None else (_flag(name),)
    if isinstance(aliases := given.get("aliases"), ast.List):
        yield from _texts(aliases.elts)


def _texts(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("--"):
            yield node.value.replace("_", "-")


def _flag(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def _sources(package: str, release: str) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        line += ["--no-cache-dir", "--disable-pip-version-check", "--dest", folder, f"{package}=={release}"]
        subprocess.run(line, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if any(fnmatch(name, each) for each in FILES[package])]
            return {name: archive.read(name).decode() for name in names}


def _releases(package: str) -> list[str]:
    """Final releases, newest first, as pip knows them."""
    line = [sys.executable, "-m", "pip", "index", "versions", package, "--disable-pip-version-check"]
    said = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    listed = next(row for row in said.splitlines() if row.startswith("Available versions:"))
    every = [each.strip() for each in listed.partition(":")[2].split(",")]
    return [each for each in every if each.replace(".", "").isdigit() and each.count(".") == 2]


def _carried(file: str, first: str) -> Iterator[tuple[str, str]]:
    """Releases from that one on, newest first, with the text of a file, each once."""
    line = ["npm", "view", CARRIER, "versions", "--json"]
    every = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
    read: set[str] = set()
    for version in reversed([each for each in every if "-" not in each]):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                ["npm", "pack", "--silent", f"{CARRIER}@{version}"], check=True, cwd=folder, stdout=subprocess.DEVNULL
            )
            (packed,) = Path(folder).glob("*.tgz")
            with tarfile.open(packed) as archive:
                archive.extractall(folder, filter="data")
            root = Path(folder) / "package/llama"
            release = json.loads((root / "binariesGithubRelease.json").read_text(encoding="utf-8"))["release"]
            release = release.removeprefix("v")
            if numbers(release) < numbers(first):
                return
            if release not in read:
                subprocess.run(["git", "clone", "-q", "--bare", root / "gitRelease.bundle", root / "git"], check=True)
                print(f"{release}: of {CARRIER} {version}", file=sys.stderr, flush=True)
                yield release, _git(root / "git", "show", f"HEAD:{file}")
            read.add(release)


def _of_clone(clone: Path, first: str, *, branches: bool = False) -> list[str]:
    """Final releases of a clone from that one on, newest first: its tags, as v1.9.3, or the branches of its images, as
    r25.10, whose version is tagged.
    """
    tags = re.findall(r"^v(\d+\.\d+\.\d+)$", _git(clone, "tag"), flags=re.MULTILINE)
    names = _git(clone, "branch", "--format=%(refname:short)")
    images = re.findall(r"^r(\d+\.\d+)$", names, flags=re.MULTILINE)
    later = [each for each in (images if branches else tags) if numbers(each) >= numbers(first)]
    if branches:
        later = [each for each in later if _git(clone, "show", f"r{each}:{VERSION}").strip() in tags]
    return sorted(later, key=numbers, reverse=True)


def _git(clone: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(clone), *words], check=True, capture_output=True, text=True).stdout


def _text(table: dict[str, Any]) -> str:
    """JSON with a line for each flag, so that a new release is a short difference."""
    rows = [f"    {json.dumps(flag)}: {json.dumps(runs)}" for flag, runs in table["flags"].items()]
    head = {key: list(value) if isinstance(value, tuple) else value for key, value in table.items() if key != "flags"}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    return "{\n" + "\n".join(lines) + '\n  "flags": {\n' + ",\n".join(rows) + "\n  }\n}\n"


if __name__ == "__main__":
    main()
