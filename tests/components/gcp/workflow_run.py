"""Runs a workflow's text against stand-ins of the APIs that it calls: the part of the language that ours use."""

import json
import re
from datetime import UTC, datetime
from types import SimpleNamespace


class Fields(dict):
    """A map whose keys are read as fields, as expressions do."""

    __getattr__ = dict.__getitem__


class Failed(Exception):  # noqa: N818  (a way out of steps)
    """What a call answered that did not work: `Failed(403, {...})`."""


class Returned(Exception):  # noqa: N818  (a way out of steps, not an error)
    pass


def fields(value):
    if isinstance(value, dict):
        return Fields({key: fields(one) for key, one in value.items()})
    return [fields(one) for one in value] if isinstance(value, list) else value


def clock(seconds):
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def run(text, *, answer, now, argument=None):
    """What the workflow returns; `answer(method, url, query, body)` is the body of each call's answer."""
    program = json.loads(text)
    known = {
        "sys": SimpleNamespace(now=lambda: now),
        "time": SimpleNamespace(format=clock, parse=lambda day: datetime.fromisoformat(day).timestamp()),
        "map": SimpleNamespace(get=_get),
        "list": SimpleNamespace(concat=lambda items, one: [*items, one]),
        "text": SimpleNamespace(match_regex=lambda value, pattern: re.search(pattern, value) is not None),
        "default": lambda value, other: other if value is None else value,
        "int": int,
        "len": len,
        "json": SimpleNamespace(encode_to_string=json.dumps),
        "null": None,
    }

    def value_of(value, names):
        if isinstance(value, dict):
            return {key: value_of(one, names) for key, one in value.items()}
        if isinstance(value, list):
            return [value_of(one, names) for one in value]
        if isinstance(value, str) and value.startswith("${"):
            return eval(value[2:-1], {"__builtins__": {}}, {**known, **names})  # noqa: S307  (our own text)
        return value

    def called(name, given, names):
        given = value_of(given, names)
        if name.startswith("http."):
            reply = answer(name[5:], given["url"], given.get("query"), given.get("body"))
            return Fields(body=fields(reply))
        return subworkflow(name, [given[key] for key in program[name]["params"]])

    def steps(found, names):
        for step in found:
            ((_, does),) = step.items()
            if "except" in does:
                try:
                    steps([{"try": does["try"]}], names)
                except Failed as failure:
                    code, body = failure.args
                    names[does["except"]["as"]] = Fields(code=code, body=body)
                    steps(does["except"]["steps"], names)
                continue
            does = does.get("try", does)
            steps(does.get("steps", ()), names)
            if "raise" in does:
                raise Failed(0, value_of(does["raise"], names))
            for assignment in does.get("assign", ()):
                for key, value in assignment.items():
                    names[key] = value_of(value, names)
            if "call" in does:
                names[does["result"]] = called(does["call"], does["args"], names)
            for case in does.get("switch", ()):
                if value_of(case["condition"], names):
                    steps(case.get("steps", ()), names)
                    if "return" in case:
                        raise Returned(value_of(case["return"], names))
                    break
            for item in value_of(does["for"]["in"], names) if "for" in does else ():
                names[does["for"]["value"]] = item
                steps(does["for"]["steps"], names)
            if "return" in does:
                raise Returned(value_of(does["return"], names))

    def subworkflow(name, given):
        names = dict(zip(program[name].get("params", ()), given, strict=True))
        try:
            steps(program[name]["steps"], names)
        except Returned as found:
            return found.args[0]
        return None

    return subworkflow("main", [fields(argument)] if program["main"].get("params") else [])


def _get(found, key):
    for part in key if isinstance(key, list) else [key]:
        if not isinstance(found, dict) or part not in found:
            return None
        found = found[part]
    return found


def names_of(text):
    """The names of all steps of each subworkflow: in each they have to be different."""

    def walk(found):
        if isinstance(found, list):
            for one in found:
                yield from walk(one)
        elif isinstance(found, dict):
            for key, value in found.items():
                if key == "steps":
                    yield from (name for step in value for name in step)
                yield from walk(value)

    return {name: list(walk(one)) for name, one in json.loads(text).items()}
