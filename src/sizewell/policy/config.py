"""The configuration of the policies: one YAML file, checked whole; a wrong file names every fault and stops.

`profile` says how much is asked (`accelerators`, `standard`, `strict`), and four sections say the rest: `levels` (rule
to level, for all environments or by environment), `undetermined` (the level of a result that cannot be judged yet,
where `up` judges it again), `parameters` (rule to its settings) and `waivers` (rule, resource, reason, last day, which
is at most `waiver_days_max` days ahead). `expiry` says which expiries count as an end. A project keeps its own as
`policy/config.yaml`; where it has none, or says nothing of a result that cannot be judged yet, `default.yaml` holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from sizewell.policy.announcement import LEVELS, STATED, Announcement, Level
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.places import locating, read_yaml
from sizewell.sizing.records.stackname import ENVIRONMENTS
from sizewell.sizing.versions import content, schema_of

DEFAULT_FILE: Final = Path(__file__).parent / "default.yaml"
Profile = Literal["accelerators", "standard", "strict"]
DEFAULT_PROFILE: Final[Profile] = "accelerators"
PROFILES: Final[tuple[Profile, ...]] = ("accelerators", "standard", "strict")
_SECTIONS: Final = ("profile", "levels", "undetermined", "parameters", "waivers", "waiver_days_max", "expiry")
WAIVER_DAYS_MAX: Final = 180
EXPIRY_DAYS_MAX: Final = 90
RESERVED_DAYS_MAX: Final = 366
_EXPIRY: Final[Mapping[str, Mapping[str, Any]]] = {
    "days_max": {
        "type": "integer",
        "minimum": 1,
        "default": EXPIRY_DAYS_MAX,
        "description": "how many days from today an expiry may be ahead at most, to count as an end",
    },
    "reserved_days_max": {
        "type": "integer",
        "minimum": 1,
        "default": RESERVED_DAYS_MAX,
        "description": "the same of the end of reserved capacity",
    },
    "tags": {
        "type": "array",
        "items": {"type": "string"},
        "default": [],
        "description": "tags with a date on which something of your own takes a resource down, such as Cloud Custodian",
    },
}
_REASON_WORDS_MIN: Final = 3
_EMPTY_REASON: Final = re.compile(
    r"^\W*(todo|tbd|fixme|wip|temporar\w*|later|none|n/?a|because|test(ing)?|ignore|skip)\b", re.IGNORECASE
)
_WAIVER_KEYS: Final = ("rule", "resource", "reason", "expires", "stack", "owner")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """One exception: a rule, a resource (name or URN, or "stack"), a reason, the last day it holds."""

    rule: str
    resource: str
    reason: str
    expires: date
    stack: str = ""  # only in this stack; "" in every stack
    owner: str = ""  # who answers for it

    def concerns(self, stack: str) -> bool:
        return self.stack in ("", stack)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Levels by rule and environment ("" for all), levels of undetermined results, parameters by rule, waivers."""

    levels: Mapping[str, Mapping[str, Level]] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    undetermined: Mapping[str, Mapping[str, Level]] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()
    waiver_days_max: int = WAIVER_DAYS_MAX  # from the day of judging: the last day of a waiver is no later
    expiry_days_max: int = EXPIRY_DAYS_MAX  # from the day of judging: a later expiry does not count
    expiry_reserved_days_max: int = RESERVED_DAYS_MAX  # of the end of reserved capacity
    expiry_tags: tuple[str, ...] = ()  # tags with an expiry that something of one's own acts on
    profile: Profile = "strict"  # each rule at its own level

    def level(self, rule: Announcement, environment: str) -> Level:
        stated = self.levels.get(rule.id, {})
        own = stated.get(environment) or stated.get("")
        if own:
            return own
        usual = rule.level_in(environment)
        debated = self.profile != "strict" and rule.debatable and environment not in rule.firm_in
        return "advisory" if usual == "mandatory" and debated else usual

    def level_undetermined(self, rule: Announcement, environment: str) -> Level:
        """The level of a result that cannot be judged yet: the rule's own, unless the file allows less."""
        stated, own = self.undetermined.get(rule.id, {}), self.level(rule, environment)
        return own if own == "disabled" else stated.get(environment) or stated.get("") or own

    def parameters(self, rule: Announcement) -> dict[str, Any]:
        return {**rule.defaults(), **self.settings.get(rule.id, {})}


def read_config(path: Path, rules: Sequence[Announcement] | None = None) -> Config:
    """Read a file; ConfigError with every fault, each with its line and column."""
    document = read_yaml(path)
    with locating(document.places):
        return parse_config({} if document.data is None else document.data, str(path), rules)


def parse_config(
    data: Any, origin: str = "policy configuration", rules: Sequence[Announcement] | None = None
) -> Config:
    """Check the content of a configuration; ConfigError with every fault."""
    if rules is None:
        from sizewell.policy.rules import RULES

        rules = RULES
    by_id = {rule.id: rule for rule in rules}
    faults: list[Fault] = []
    data = content("policy", data, origin)
    if not isinstance(data, Mapping):
        raise ConfigError([Fault(path="", found=data, allowed="a mapping")], subject=origin)
    faults.extend(_unknown("", str(key), _SECTIONS, "section") for key in data if key not in _SECTIONS)
    profile = data.get("profile", DEFAULT_PROFILE)
    if profile not in PROFILES:
        faults.append(Fault(path="profile", found=profile, allowed=" | ".join(PROFILES)))
    levels = _levels("levels", data.get("levels") or {}, by_id, faults)
    undetermined = _levels("undetermined", data.get("undetermined") or {}, by_id, faults)
    settings = _settings(data.get("parameters") or {}, by_id, faults)
    waivers = _waivers(data.get("waivers") or [], by_id, faults)
    longest = data.get("waiver_days_max", WAIVER_DAYS_MAX)
    if wrong := mismatch(longest, {"type": "integer", "minimum": 1}):
        faults.append(Fault(path="waiver_days_max", found=longest, allowed=wrong))
    expiry = _expiry(data.get("expiry") or {}, faults)
    if faults:
        raise ConfigError(faults, subject=origin)
    usual = _undetermined()
    return Config(
        **expiry,
        levels=levels,
        settings=settings,
        undetermined={rule: {**usual.get(rule, {}), **undetermined.get(rule, {})} for rule in (*usual, *undetermined)},
        waivers=waivers,
        waiver_days_max=longest,
        profile=profile,
    )


@cache
def _undetermined() -> dict[str, dict[str, Level]]:
    """What holds of results that cannot be judged yet, where a file does not say otherwise of a rule."""
    return {rule: {"": level} for rule, level in read_yaml(DEFAULT_FILE).data["undetermined"].items()}


def _expiry(data: Any, faults: list[Fault]) -> dict[str, Any]:
    """The section `expiry` as fields of `Config`."""
    if not isinstance(data, Mapping):
        faults.append(Fault(path="expiry", found=data, allowed="a mapping of days_max and tags"))
        return {}
    faults.extend(_unknown("expiry", str(key), _EXPIRY, "setting") for key in data if key not in _EXPIRY)
    stated = {name: data.get(name, setting["default"]) for name, setting in _EXPIRY.items()}
    for name, value in stated.items():
        if wrong := mismatch(value, _EXPIRY[name]):
            faults.append(Fault(path=f"expiry.{name}", found=value, allowed=wrong))
    fields = {f"expiry_{name}": value for name, value in stated.items()}
    return {**fields, "expiry_tags": tuple(stated["tags"]) if isinstance(stated["tags"], list) else ()}


def _levels(
    section: str, data: Any, rules: Mapping[str, Announcement], faults: list[Fault]
) -> dict[str, dict[str, Level]]:
    levels: dict[str, dict[str, Level]] = {}
    if not isinstance(data, Mapping):
        faults.append(Fault(path=section, found=data, allowed="a mapping of rules to levels"))
        return levels
    for rule, stated in data.items():
        path = f"{section}.{rule}"
        if rule not in rules:
            faults.append(_unknown(section, str(rule), rules, "rule"))
            continue
        per = stated if isinstance(stated, Mapping) else {"": stated}
        for environment, level in per.items():
            where = f"{path}.{environment}" if environment else path
            if environment and environment not in ENVIRONMENTS:
                faults.append(_unknown(path, str(environment), ENVIRONMENTS, "environment"))
            elif level not in LEVELS:
                faults.append(Fault(path=where, found=level, allowed=" | ".join(LEVELS)))
            else:
                levels.setdefault(str(rule), {})[str(environment)] = level
    return levels


def _settings(data: Any, rules: Mapping[str, Announcement], faults: list[Fault]) -> dict[str, dict[str, Any]]:
    parameters: dict[str, dict[str, Any]] = {}
    if not isinstance(data, Mapping):
        faults.append(Fault(path="parameters", found=data, allowed="a mapping of rules to their parameters"))
        return parameters
    for rule, stated in data.items():
        if rule not in rules:
            faults.append(_unknown("parameters", str(rule), rules, "rule"))
            continue
        if not isinstance(stated, Mapping):
            faults.append(Fault(path=f"parameters.{rule}", found=stated, allowed="a mapping"))
            continue
        known = rules[rule].parameters
        for name, value in stated.items():
            path = f"parameters.{rule}.{name}"
            if name not in known:
                faults.append(_unknown(f"parameters.{rule}", str(name), known, "parameter"))
            elif wrong := mismatch(value, known[name].schema):
                faults.append(Fault(path=path, found=value, allowed=wrong))
            else:
                parameters.setdefault(str(rule), {})[str(name)] = value
    return parameters


def unknown_rules(names: Iterable[str], rules: Sequence[Announcement]) -> list[Fault]:
    """A fault for each name that no rule has.

    >>> from sizewell.policy.announced import announced
    >>> [fault.fix for fault in unknown_rules(["idle-exposur", "expired"], announced())]
    ['did you mean idle-exposure?']
    """
    known = {rule.id: rule for rule in rules}
    return [_unknown("", name, known, "rule") for name in names if name not in known]


def mismatch(value: Any, schema: Mapping[str, Any]) -> str:
    """What is allowed, where `value` does not fit the small part of JSON Schema that parameters use; "" where it fits.

    >>> mismatch(-1, {"type": "number", "minimum": 0}), mismatch(["a"], {"type": "array", "items": {"type": "string"}})
    ('a number, at least 0', '')
    """
    kind = schema.get("type")
    kinds: dict[Any, tuple[type | tuple[type, ...], str]] = {
        "number": ((int, float), "a number"),
        "integer": (int, "a whole number"),
        "string": (str, "a string"),
        "boolean": (bool, "true or false"),
        "array": (list, "a list"),
        "object": (dict, "a mapping"),
        "null": (type(None), "null"),
    }
    wanted, words = kinds[kind]
    if "minimum" in schema:
        words += f", at least {schema['minimum']}"
    if "items" in schema:
        words += f" of {kinds[schema['items']['type']][1].removeprefix('a ')}s"
    good = isinstance(value, wanted) and not (kind in {"number", "integer"} and isinstance(value, bool))
    if good and "minimum" in schema:
        good = value >= schema["minimum"]
    if good and "items" in schema:
        good = all(not mismatch(entry, schema["items"]) for entry in value)
    if good and "additionalProperties" in schema and isinstance(value, dict):
        good = all(not mismatch(entry, schema["additionalProperties"]) for entry in value.values())
    return "" if good else words


def _waivers(data: Any, rules: Mapping[str, Announcement], faults: list[Fault]) -> tuple[Waiver, ...]:
    waivers: list[Waiver] = []
    if not isinstance(data, Sequence) or isinstance(data, str):
        faults.append(Fault(path="waivers", found=data, allowed="a list"))
        return ()
    for index, entry in enumerate(data):
        path = f"waivers[{index}]"
        if not isinstance(entry, Mapping):
            faults.append(Fault(path=path, found=entry, allowed="a mapping of rule, resource, reason, expires"))
            continue
        before = len(faults)
        faults.extend(_unknown(path, str(key), _WAIVER_KEYS, "key") for key in entry if key not in _WAIVER_KEYS)
        faults.extend(
            Fault(path=f"{path}.{key}", found=entry.get(key), allowed="a non-empty text")
            for key in ("rule", "resource", "reason")
            if not isinstance(entry.get(key), str) or not entry[key].strip()
        )
        reason = entry.get("reason")
        if isinstance(reason, str) and reason.strip() and not is_reason(reason):
            allowed = f"why this resource may violate the rule, in at least {_REASON_WORDS_MIN} words"
            faults.append(Fault(path=f"{path}.reason", found=reason, allowed=allowed))
        if isinstance(entry.get("rule"), str) and entry["rule"] not in rules:
            faults.append(_unknown(path, entry["rule"], rules, "rule"))
        expires = _date(entry.get("expires"))
        if expires is None:
            faults.append(Fault(path=f"{path}.expires", found=entry.get("expires"), allowed="a date, YYYY-MM-DD"))
        if len(faults) == before and expires is not None:
            waivers.append(
                Waiver(
                    rule=entry["rule"],
                    resource=entry["resource"],
                    reason=entry["reason"],
                    expires=expires,
                    stack=str(entry.get("stack", "")),
                    owner=str(entry.get("owner", "")),
                )
            )
    return tuple(waivers)


def is_reason(text: str) -> bool:
    """Whether a text can be a reason: some words, and not one that puts off.

    >>> is_reason("moved by hand in May"), is_reason("x"), is_reason("todo: find out why")
    (True, False, False)
    """
    words = [word for word in re.findall(r"\w+", text) if not word.isdigit()]
    return len(words) >= _REASON_WORDS_MIN and not _EMPTY_REASON.match(text)


def _date(value: Any) -> date | None:
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        return None


def _unknown(path: str, name: str, allowed: Mapping[str, Any] | Sequence[str], what: str) -> Fault:
    close = get_close_matches(name, list(allowed), n=1)
    if close:
        hint = f"did you mean {close[0]}?"
    elif len(allowed) <= 8:
        hint = f"one of {', '.join(allowed)}" if allowed else "leave it out"
    else:
        hint = f"`sizewell policy --list` lists every {what}"
    return Fault(path=f"{path}.{name}" if path else name, message=f"unknown {what}", fix=hint)


def schema(rules: Sequence[Announcement] | None = None) -> dict[str, Any]:
    """The JSON Schema of the configuration, for editors."""
    if rules is None:
        from sizewell.policy.rules import RULES

        rules = RULES
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sizewell policy configuration",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "schema": {"const": schema_of("policy"), "description": "Version of the format; optional"},
            "profile": {
                "enum": list(PROFILES),
                "default": DEFAULT_PROFILE,
                "description": (
                    "accelerators: stacks that have some, with what surrounds them; standard: every resource, where "
                    "rules that a careful team may decide differently only warn; strict: each rule at its own level"
                ),
            },
            "levels": {"$ref": "#/$defs/levels_of_rules"},
            "undetermined": {"$ref": "#/$defs/levels_of_rules"},
            "parameters": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    rule.id: {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {name: each.described() for name, each in rule.parameters.items()},
                    }
                    for rule in rules
                    if rule.parameters
                },
            },
            "waiver_days_max": {
                "type": "integer",
                "minimum": 1,
                "default": WAIVER_DAYS_MAX,
                "description": "how many days from today a waiver may last at most",
            },
            "expiry": {"type": "object", "additionalProperties": False, "properties": _EXPIRY},
            "waivers": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["rule", "resource", "reason", "expires"],
                    "properties": {
                        "rule": {"$ref": "#/$defs/rule"},
                        "resource": {"type": "string", "minLength": 1},
                        "reason": {"type": "string", "minLength": 1, "description": "why, in at least three words"},
                        "expires": {"type": "string", "format": "date"},
                        "stack": {"type": "string"},
                        "owner": {"type": "string", "description": "who answers for it"},
                    },
                },
            },
        },
        "$defs": {
            "level": {"enum": list(LEVELS)},
            "levels": {
                "oneOf": [
                    {"$ref": "#/$defs/level"},
                    {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {name: {"$ref": "#/$defs/level"} for name in ENVIRONMENTS},
                    },
                ]
            },
            "rule": {"enum": [rule.id for rule in rules]},
            "levels_of_rules": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    rule.id: {"$ref": "#/$defs/levels", "description": rule.prevents, STATED: rule.stated()}
                    for rule in rules
                },
            },
        },
    }
