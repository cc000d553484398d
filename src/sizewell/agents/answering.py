"""One call: arguments checked, the command run, its JSON cut; everything that is wrong as a text with a way out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

from sizewell.agents import fitting
from sizewell.agents.calls import Caller, Done
from sizewell.agents.tools import BY_NAME, Arguments, Tool, next_steps
from sizewell.sizing.errors import SizewellError, UsageError

FAILED_FROM: Final = 64  # exit codes from here on are errors, those below answers
REMARKS: Final = 1_200  # characters of what a command says beside its answer
WAYS: Final = 3_000  # characters of an error


@dataclass(frozen=True, slots=True)
class Answer:
    """The text that a client gets, and whether it is an error."""

    text: str
    failed: bool = False


def answer(call: Caller, exits: Mapping[int, str], name: str, arguments: Mapping[str, Any]) -> Answer:
    """What a call of a tool answers."""
    try:
        tool = _tool(name)
        args = _checked(tool, arguments)
        if tool.line is None:
            return _answered(tool, args, tool.shape(call.root, args, None), code=0, means=exits[0])
        done = call(tool.line(call.root, args))
        if done.code >= FAILED_FROM and not done.out.strip():
            return Answer(_said(done, arguments), failed=True)
        if not done.last:  # a spec of `changes` that cannot be decided: what follows is about its sizing
            tool = replace(BY_NAME["size"], name=name)
        document = tool.shape(call.root, args, json.loads(done.out)) if done.out.strip() else {}
        return _answered(
            tool, args, document, code=done.code, means=exits.get(done.code, "unknown"), said=_said(done, arguments)
        )
    except SizewellError as error:
        return Answer(f"{name}: {error}"[:WAYS], failed=True)
    except (OSError, ValueError) as error:  # a path that no system takes, a file that cannot be read
        return Answer(f"{name}: {error}"[:WAYS] + "\n  fix: name another file, or correct what is stated", failed=True)
    except Exception as error:  # noqa: BLE001 -- else the client gets an error of the protocol, which no agent can act upon
        said = f"{name}: internal error, not caused by your input: {type(error).__name__}: {error}"[:WAYS]
        command = BY_NAME[name].command or "mcp --list"
        return Answer(f"{said}\n  fix: run `sizewell {command}` in a terminal, and report what it was", failed=True)


def _tool(name: str) -> Tool:
    if name not in BY_NAME:
        near = get_close_matches(name, BY_NAME, 1, 0.55)  # "destroy" means no stock
        fix = f"did you mean {near[0]}?" if near else "none of them changes anything; what does runs in a terminal"
        raise UsageError(f"is not a tool; choose from {', '.join(BY_NAME)}\n  fix: {fix}")
    return BY_NAME[name]


def _checked(tool: Tool, arguments: Mapping[str, Any]) -> Arguments:
    """The arguments of a call. UsageError with every fault: path, value, what is allowed."""
    try:
        return tool.takes.model_validate(dict(arguments))
    except ValidationError as error:
        lines = [_fault(tool, dict(each)) for each in error.errors(include_url=False)]
        raise UsageError("\n".join(lines)) from None


def _fault(tool: Tool, fault: Mapping[str, Any]) -> str:
    known = list(tool.takes.model_fields)
    path = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        near = get_close_matches(path, known, 1, 0.5)
        return f"{path}: unknown argument; {tool.name} takes {', '.join(known)}" + (
            f"\n  fix: did you mean {near[0]}?" if near else "\n  fix: leave it out"
        )
    what = tool.takes.model_fields[str(fault["loc"][0])].description
    if fault["type"] == "missing":
        return f"{path}: is missing\n  fix: state it: {what or fault['loc'][0]}"
    message = str(fault["msg"]).lower().replace("input should be", "must be")
    if fault["type"] == "string_pattern_mismatch":
        message = "must be a name without blanks or options" if path == "stack" else "is not such a value"
    return f"{path}: {message}, got {str(fault['input'])[:80]!r}\n  fix: write {what or 'one of these'}"


def _said(done: Done, arguments: Mapping[str, Any]) -> str:
    text = done.err.replace("sizewell: ", "").strip()
    if "\n" in str(arguments.get("spec", "")).strip() or ": " in str(arguments.get("spec", "")):
        text = text.replace("standard input", "spec")
    return text[:WAYS]


def _answered(tool: Tool, args: Arguments, document: Any, *, code: int, means: str, said: str = "") -> Answer:
    if args.part:
        kept, cut = fitting.fitted(fitting.part(document, args.part), path=args.part)
    else:
        kept, left_out = fitting.without(document, tool.left_out)
        kept, cut = fitting.fitted(kept)
        cut = [*left_out, *cut]
    whole: dict[str, Any] = {"exit_code": code, "means": means, "answer": kept}
    if said:
        whole["remarks"] = said[:REMARKS]
    if tried := getattr(args, "changes", None):
        whole["tried_on_a_copy"] = sorted(tried)
    if cut:
        whole["cut"] = list(fitting.named(cut))
        whole["get_what_is_cut"] = (
            "the same call with `part` set to a path of `cut`, without what stands behind the colon"
        )
    if steps := next_steps(tool, code, args, document):
        whole["next"] = list(steps)
    return Answer(fitting.text(whole), failed=code >= FAILED_FROM)
