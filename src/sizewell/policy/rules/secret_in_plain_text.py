from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from sizewell.policy.rule import Parameters, Rule, Verdict, Violation
from sizewell.resources.stackfacts import Thing

SHAPES: Final = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b(?:hf_|ghp_|gho_|ghs_|github_pat_|glpat-|sk-proj-|sk-ant-|sk_live_|xox[baprs]-|AIza|nvapi-)[A-Za-z0-9_-]{16,}"
    r"|\bAccountKey=[A-Za-z0-9+/=]{40,}"
    r"|\bBearer\s+eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r"|aws_secret_access_key\s*[=:]\s*[A-Za-z0-9/+]{32,}",
    re.IGNORECASE,
)
_NAMES: Final = r"pass(?:word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential"
_NAMED: Final = re.compile(rf"(?:{_NAMES})s?$", re.IGNORECASE)
_ASSIGNED: Final = re.compile(rf"\b[\w-]*(?:{_NAMES})[\"']?\s*[:=]\s*[\"']?([^\s\"',;$<{{}}]{{10,}})", re.IGNORECASE)
# Words that name where a secret is, not the secret.
_ELSEWHERE: Final = re.compile(
    r"arn:|^/|://|secretmanager|vault\.|keyvault|^projects/|\.json$|\.pem$|\.yaml$|^\$|^\(|^%"
)
_HINT: Final = re.compile(  # one look for most texts
    rf"{_NAMES}|AKIA|ASIA|BEGIN |hf_|gh[pos]_|github_pat|glpat|sk-|sk_|xox|AIza|nvapi|AccountKey|Bearer", re.IGNORECASE
)
_LONGEST: Final = 200_000


def secret_in_plain_text(thing: Thing, _: Parameters) -> Verdict:
    """No text that anybody may read carries a secret: scripts, environments, parameters, documents, config maps.

    >>> from sizewell.policy.examples import thing
    >>> secret_in_plain_text(thing(inputs={"environment": {"variables": {"DB_PASSWORD": "tR7!xQ2pLm9Zk4Vb"}}}), {}).fix
    'keep it in a secret store and read it at run time, or pass it as a secret of Pulumi'
    >>> secret_in_plain_text(thing(inputs={"environment": {"variables": {"LOG_LEVEL": "info"}}}), {}) is None
    True
    """
    if thing.type in _KEPT:
        return None
    for path, value in _texts(thing.inputs, ""):
        hidden = any(path == secret or path.startswith(f"{secret}.") for secret in thing.resource.secret_paths)
        if not hidden and _is_secret(path, value):
            return Violation(
                f"{path} carries a secret: everybody who may describe the resource reads it",
                "keep it in a secret store and read it at run time, or pass it as a secret of Pulumi",
            )
    return None


_KEPT: Final = (  # stores of secrets, and what is public by its nature
    "aws:secretsmanager/secretVersion:SecretVersion", "gcp:secretmanager/secretVersion:SecretVersion",
    "azure-native:keyvault:Secret", "aws:ec2/keyPair:KeyPair", "aws:iam/openIdConnectProvider:OpenIdConnectProvider",
)  # fmt: skip


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if 8 <= len(value) <= _LONGEST:
            yield path, value
    elif isinstance(value, Mapping):
        name, stated = value.get("name"), value.get("value")
        if isinstance(name, str) and isinstance(stated, str):  # an entry of an environment
            yield f"{path}.{name}", stated
        for key, part in value.items():
            yield from _texts(part, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _texts(part, f"{path}.{index}")


def _is_secret(path: str, value: str) -> bool:
    if _holds_secret(value):
        return True
    return bool(_NAMED.search(path.rsplit(".", 1)[-1])) and _random(value)


@lru_cache(maxsize=1024)  # scripts and documents are alike in many resources, and before and after a change
def _holds_secret(value: str) -> bool:
    for text in (value, _decoded(value)):
        if not _HINT.search(text):
            continue
        if SHAPES.search(text):
            return True
        if any(_random(match[1]) for match in _ASSIGNED.finditer(text)):
            return True
        if text.lstrip()[:1] in "[{" and any(_random(entry) for entry in _entries(text)):
            return True
    return False


def _entries(text: str) -> list[str]:
    """Values of `{"name": "API_KEY", "value": "..."}` inside a document that is itself text."""
    pattern = rf'"name"\s*:\s*"[\w-]*(?:{_NAMES})"\s*,\s*"value"\s*:\s*"([^"]+)"'
    return re.findall(pattern, text, re.IGNORECASE)


def _decoded(value: str) -> str:
    if len(value) < 24 or len(value) % 4 or " " in value or not re.fullmatch(r"[A-Za-z0-9+/\s]+=*\s*", value):
        return ""
    try:
        return base64.b64decode(value, validate=False).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""


def _random(value: str) -> bool:
    """Whether a text looks chosen by a machine: long enough, of several kinds of characters, hard to predict.

    >>> _random("tR7!xQ2pLm9Zk4Vb"), _random("my-database-password"), _random("arn:aws:secretsmanager:eu:1:secret:x")
    (True, False, False)
    """
    if not 10 <= len(value) <= 512 or _ELSEWHERE.search(value) or " " in value:
        return False
    kinds = sum(any(test(char) for char in value) for test in (str.islower, str.isupper, str.isdigit))
    counts = Counter(value)
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return kinds >= 3 and bits >= 3.0


RULE = Rule(
    id="secret-in-plain-text",
    area="safety",
    subject="things",
    prevents="credentials that everybody with read access has",
    judge=secret_in_plain_text,
    clouds=("aws", "gcp", "azure", "kubernetes"),
)
