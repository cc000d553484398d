"""What a Python script does with models: the calls that train, load or serve one, and the commands that it starts.

Calls are those of transformers, TRL, PEFT, Unsloth, vLLM, sentence-transformers, diffusers, faster-whisper, Modal and
`subprocess`, by their documentation as it was known in 2026-11. Their arguments are the options of command lines.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from sizewell.sizing.units import counted
from sizewell.sizing.workload.foreign.command import hears, lines_of, read_commands, read_settings
from sizewell.sizing.workload.foreign.draft import Draft

_STARTS: Final = ("Popen", "run", "call", "check_call", "check_output", "system", "execvp", "popen")
_SETTINGS: Final = re.compile(r"\w*TrainingArguments|(?:SFT|DPO|KTO|ORPO|Reward|CPO)Config|BitsAndBytesConfig")
_TRAINER: Final = re.compile(r"(?:Seq2Seq|SFT|DPO|KTO|ORPO|Reward|CPO|SentenceTransformer)?Trainer")
_LOADED: Final = re.compile(r"\w*(?:Model|Pipeline|ForCausalLM|ForConditionalGeneration|ForSequenceClassification)\w*")
_SERVED: Final = ("SentenceTransformer", "CrossEncoder", "pipeline", "AsyncEngineArgs")


def is_script(text: str) -> bool:
    r"""Whether a text is a script that trains, loads or serves a model.

    >>> is_script("import modal\nsubprocess.Popen('vllm serve a/b', shell=True)"), is_script("import os"), is_script("x")
    (True, False, False)
    """  # noqa: E501
    return bool(re.search(r"(?m)^\s*(?:import|from)\s+\w", text)) and _read(text) is not None


def read_script(text: str) -> Draft:
    """What a script says of its workload."""
    draft = _read(text)
    assert draft is not None  # noqa: S101 - `is_script` has asked
    return draft


@cache
def _read(text: str) -> Draft | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    known = _constants(tree)
    calls = [(_name(node), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    draft = Draft(
        name=next((str(_value(node.args[0], known)) for name, node in calls if name == "App" and node.args), "")
    )
    _gpus(draft, calls, known)
    draft.commands = [words for name, node in calls if name in _STARTS for words in _started(node, known)]
    options: dict[str, list[str]] = {}
    trains = False
    for name, node in calls:
        given = dict(_arguments(node, known))
        first = _value(node.args[0], known) if node.args else None
        if _TRAINER.fullmatch(name) or _SETTINGS.fullmatch(name):
            trains = trains or name != "BitsAndBytesConfig"
            options |= given | ({"stage": [of[1].lower()]} if (of := re.match(r"(DPO|KTO|ORPO|Reward)", name)) else {})
        elif name in ("LoraConfig", "get_peft_model"):
            options |= {"use-peft": []} | {f"lora-{key}" if key == "r" else key: value for key, value in given.items()}
        elif name == "from_pretrained" and _LOADED.fullmatch(_owner(node)):
            options |= given | ({"model": [str(first)]} if isinstance(first, str) else {})
        elif name == "LLM" or name in _SERVED or name in ("WhisperModel", "load_model"):
            _loads(draft, name, given, first)
    loaded = options.get("model") or options.get("model-name")
    if trains:
        draft.work = "training"
        read_settings(draft, options, "the script")
    elif not draft.commands and loaded and "/" in loaded[0]:
        draft.work, draft.model = "service", loaded[0]
        draft.taken.append(("model", "the script"))
    if not trains:
        read_commands(draft, "the script")
    draft.name = draft.name or ("training" if trains else "service")
    return draft if draft.work else None


def _loads(draft: Draft, name: str, given: Mapping[str, list[str]], first: Any) -> None:
    """A model that the script itself runs: of LLM over many prompts, of others behind whatever asks it."""
    model = (given.get("model") or given.get("model-size-or-path") or [first if isinstance(first, str) else ""])[0]
    if name in ("WhisperModel", "load_model") or "whisper" in model.lower():
        if name != "load_model" or re.fullmatch(r"(?:tiny|base|small|medium|large|turbo)\S*", model):
            hears(draft, model, "the script")
        return
    options = [word for key, words in given.items() if key not in ("model", "task") for word in (f"--{key}", *words)]
    if name in ("LLM", "AsyncEngineArgs"):
        draft.work = draft.work or ("batch" if name == "LLM" else None)
        draft.commands.append(["vllm", "serve", model, *options])
    elif "/" in model:
        draft.work, draft.model = "service", model
        draft.taken.append(("model", "the script"))


def _gpus(draft: Draft, calls: list[tuple[str, ast.Call]], known: Mapping[str, Any]) -> None:
    """What Modal's functions ask for: gpu="H100:2", or gpu=modal.gpu.H100(count=2)."""
    for _, node in calls:
        stated = next((each.value for each in node.keywords if each.arg == "gpu"), None)
        if isinstance(stated, ast.Call):
            count = next((_value(each.value, known) for each in stated.keywords if each.arg == "count"), 1)
            name, number = _name(stated), count if isinstance(count, int) else 1
        else:
            written = _value(stated, known) if stated is not None else None
            written = written[0] if isinstance(written, list) and written else written
            if not isinstance(written, str) or written.lower() == "any":
                continue
            name, number = counted(written)
        draft.asked, draft.devices = [name.rstrip("!")], number or 1
        draft.said["accelerators"] = "gpu"
        return


def _started(node: ast.Call, known: Mapping[str, Any]) -> list[list[str]]:
    """The commands that a call starts: of a line for a shell, or of a list of words."""
    line = _value(node.args[0], known) if node.args else None
    if isinstance(line, list):
        words = [str(word) for word in line if word is not None]
        return lines_of(words, {}) if words else []
    return lines_of(line, {}) if isinstance(line, str) else []


def _arguments(node: ast.Call, known: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for keyword in node.keywords:
        value = _value(keyword.value, known)
        if keyword.arg and (isinstance(value, str | int | float) or (isinstance(value, list) and value)):
            items = value if isinstance(value, list) else [value]
            plain = [str(item).lower() if isinstance(item, bool) else str(item) for item in items if item is not None]
            yield keyword.arg.replace("_", "-"), plain


def _constants(tree: ast.Module) -> dict[str, Any]:
    """The names that are set to something that can be read, the last of each."""
    known: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = _value(node.value, known)
            if value is not None:
                known[node.targets[0].id] = value
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add):
            before, more = known.get(node.target.id), _value(node.value, known)
            if (whole := _joined(before, more)) is not None:
                known[node.target.id] = whole
    return known


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """What an expression is, as far as it says it itself; None for what it does not.

    >>> _value(ast.parse("f'{M} --tp {2}'", mode="eval").body, {"M": "a/b"})
    'a/b --tp 2'
    >>> _value(ast.parse("os.environ.get('M', 'a/b')", mode="eval").body, {})
    'a/b'
    """
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute):  # torch.bfloat16
        return f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else None
    if isinstance(node, ast.JoinedStr):
        parts = [_value(part.value if isinstance(part, ast.FormattedValue) else part, known) for part in node.values]
        return "".join("$" if part is None else str(part) for part in parts)
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(each.value if isinstance(each, ast.Starred) else each, known) for each in node.elts]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _value(node.left, known), _value(node.right, known)
        return _joined(left, right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _value(node.left, known), _value(node.right, known)
        return left * right if isinstance(left, int) and isinstance(right, int) else None
    return _called(node, known) if isinstance(node, ast.Call) else None


def _joined(left: Any, right: Any) -> str | list[Any] | None:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    return left + right if isinstance(left, list) and isinstance(right, list) else None


def _called(node: ast.Call, known: Mapping[str, Any]) -> Any:
    name, given = _name(node), [_value(each, known) for each in node.args]
    if name in ("get", "getenv", "environ") and len(given) == 2:
        return given[1]
    if name == "str" and given:
        return str(given[0])
    if name == "split" and given and isinstance(given[0], str):  # shlex.split
        return shlex.split(given[0])
    if name == "join" and isinstance(node.func, ast.Attribute) and given and isinstance(given[0], list):
        with_ = _value(node.func.value, known)
        return with_.join(map(str, given[0])) if isinstance(with_, str) else None
    return None


def _name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _owner(node: ast.Call) -> str:
    """The class whose method is called."""
    of = node.func.value if isinstance(node.func, ast.Attribute) else None
    return of.id if isinstance(of, ast.Name) else of.attr if isinstance(of, ast.Attribute) else ""
