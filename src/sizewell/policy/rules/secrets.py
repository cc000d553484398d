"""Secrets in scripts, settings and documents, and credentials that do not expire."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, Final

from sizewell.policy.rule import Parameters, Undetermined, Verdict, Violation, rule
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool, Thing
from sizewell.resources.values import flag, get
from sizewell.sizing.secrets import CONNECTION, SHAPES

_NAMES: Final = r"pass(?:word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential"
_NAMED: Final = re.compile(rf"(?:{_NAMES})s?$", re.IGNORECASE)
# An empty value followed by the next option of the line (`--token= --port=80`) holds nothing.
_VALUE: Final = r"(?!--)[^\s\"',;$<{}]{10,}"
_ASSIGNED: Final = re.compile(rf"\b[\w-]*(?:{_NAMES})[\"']?\s*[:=]\s*[\"']?({_VALUE})", re.IGNORECASE)
# An option of a command line; `_chosen` and `_random` tell a value from another word.
_OPTION: Final = re.compile(rf"(?<!\S)--?[\w-]*(?:{_NAMES})\s+[\"']?([^\s\"',;$<{{}}]{{10,}})", re.IGNORECASE)
_NAMES_OF_AWS: Final = re.compile(r"arn:aws[\w-]*:[^\s\"']+")  # `secret:` stands in the names of secrets
# Words that name where a secret is, not the secret.
_ELSEWHERE: Final = re.compile(
    r"arn:|^/|://|secretmanager|vault\.|keyvault|^projects/|\.json$|\.pem$|\.yaml$|^\$|^\(|^%"
)
_HINT: Final = re.compile(  # one look for most texts
    rf"{_NAMES}|AKIA|ASIA|BEGIN |hf_|gh[oprsu]_|github_pat|gl(?:pat|rt|dt)-|sk-|[rs]k_|xox|AIza|nvapi|npm_|pypi-|dop_v1"
    r"|shpat_|SG\.|AccountKey|AccessKey|sig=|hooks\.slack|webhooks|Bearer",
    re.IGNORECASE,
)
# Inputs that people fill with text for their programs; identifiers and public keys of the clouds stand elsewhere.
_FREE: Final = re.compile(
    r"(?:^|\.)(?:env|envs|environment\w*|variables|appSettings|connectionStrings|runtimeEnvironmentVariables|args|command"
    r"|entryPoint|userData\w*|customData|metadata|metadataStartupScript|startupScript|containerDefinitions|content"
    r"|containerProperties|buildspec|source|script|settings|parameters|data|value|spec)(?:\.|$)"
)
_WORD: Final = re.compile(r"(?<![\w+/.:@%-])[A-Za-z0-9+/_]{24,128}={0,2}(?![\w+/.:@-])")
_PUBLIC: Final = re.compile(  # names of what is random and no secret
    r"hash|sha\d|digest|checksum|integrity|fingerprint|thumbprint|public|certificate|\bcert|ca[_-]?(?:data|bundle)|signature"
    r"|revision|commit|version|verification|nonce|(?:^|[._-])ids?$|Ids?$|arn$",
    re.IGNORECASE,
)
_MACHINE: Final = re.compile(r"Standard_[A-Z]+\d[A-Za-z0-9]*(?:_[A-Za-z0-9]+)*_v\d+")  # of Azure
_BLOCK: Final = re.compile(r"-----BEGIN (?:CERTIFICATE|PUBLIC KEY)-----.*?-----END", re.DOTALL)
_LINE: Final = 40  # characters of a line of base64 that is part of a file; the next one follows within a few
_GAP: Final = 8
_LONGEST: Final = 200_000


@rule(
    "secret-in-plain-text",
    area="safety",
    subject="things",
    prevents="credentials readable by anyone with read access",
    clouds=("aws", "gcp", "azure", "kubernetes"),
)
def secret_in_plain_text(thing: Thing, _: Parameters) -> Verdict:
    """No readable text contains a secret: scripts, environments, parameters, documents, config maps.

    >>> from sizewell.policy.examples import thing
    >>> secret_in_plain_text(thing(inputs={"environment": {"variables": {"DB_PASSWORD": "tR7!xQ2pLm9Zk4Vb"}}}), {}).fix
    'keep it in a secret store and read it at run time, or pass it as a Pulumi secret'
    >>> secret_in_plain_text(thing(inputs={"environment": {"variables": {"LOG_LEVEL": "info"}}}), {}) is None
    True
    """
    if thing.type in _KEPT:
        return None
    for path, value in _texts(thing.inputs, ""):
        hidden = any(path == secret or path.startswith(f"{secret}.") for secret in thing.resource.secret_paths)
        if not hidden and _is_secret(path, value):
            return Violation(
                f"{path} contains a secret: anyone who can describe the resource can read it",
                "keep it in a secret store and read it at run time, or pass it as a Pulumi secret",
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
    name = path.rsplit(".", 1)[-1]
    if _NAMED.search(name) and (_random(value) or _HEXADECIMAL.fullmatch(value)):
        return True
    return len(value) >= 24 and bool(_FREE.search(path)) and not _PUBLIC.search(name) and _holds_random_word(value)


@lru_cache(maxsize=1024)  # scripts and documents are alike in many resources, and before and after a change
def _holds_secret(value: str) -> bool:
    for text in (value, _decoded(value)):
        if "://" in text and any(_chosen(match[1]) for match in CONNECTION.finditer(text)):
            return True
        if not _HINT.search(text):
            continue
        if SHAPES.search(text):
            return True
        bare = _NAMES_OF_AWS.sub("", text)
        named = chain(_ASSIGNED.finditer(bare), _OPTION.finditer(bare))
        stated = [match[1] for match in named] + (_entries(text) if text.lstrip()[:1] in "[{" else [])
        if any(_random(each) or _HEXADECIMAL.fullmatch(each) for each in stated):
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


@lru_cache(maxsize=1024)
def _holds_random_word(value: str) -> bool:
    """Whether a text has a word that only a machine makes up: its letters, capitals and digits change all the time.

    >>> _holds_random_word("serve --with Jf8Kq2XvZr5TnLw0PbYc7MdHs3GaEu9R")
    True
    >>> _holds_random_word("TargetTrackingScalingPolicy1ForTheEndpoint"), _holds_random_word("9fceb02d0ae598e95dc970b7")
    (False, False)
    >>> _holds_random_word("Standard_ND128isr_NDR_GB200_v6")
    False
    """
    decoded = _decoded(value)
    text = _BLOCK.sub("", decoded or value)
    matches = list(_WORD.finditer(text))
    for index, match in enumerate(matches):
        beside = [other for other in matches[max(index - 1, 0) : index + 2] if other is not match]
        if any(
            max(other.start() - match.end(), match.start() - other.end()) <= _GAP
            and max(len(other[0]), len(match[0])) >= _LINE
            for other in beside
        ):
            continue  # a file that a script carries in lines of base64
        word, before = match[0].rstrip("="), text[max(match.start() - 40, 0) : match.start()]
        if (
            word.startswith(("AAAA", "H4sI"))
            or _MACHINE.fullmatch(word)
            or _PUBLIC.search(before.rstrip(" =:\"'").rpartition(" ")[2])
        ):
            continue  # a public key of SSH, a compressed file, a machine type; a digest by its name
        inner = "" if decoded else _decoded(match[0])
        if inner:  # a script inside a script
            if _holds_secret(inner) or _holds_random_word(inner):
                return True
            continue
        kinds = ["a" if char.islower() else "A" if char.isupper() else "0" if char.isdigit() else "-" for char in word]
        changes = sum(left != right for left, right in pairwise(kinds))
        if {"a", "A", "0"} <= {*kinds} and kinds.count("0") >= 3 and changes >= 0.4 * len(word) and _bits(word) >= 4.0:
            return True
    return False


def _chosen(password: str) -> bool:
    """Whether a password in a connection is one, not a word that stands for it."""
    kinds = sum(any(test(char) for char in password) for test in (str.islower, str.isupper, str.isdigit))
    return kinds >= 2 and _bits(password) >= 2.5


def _bits(value: str) -> float:
    """Entropy of the characters of a text, in bits a character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


_HEXADECIMAL: Final = re.compile(
    r"(?=.*\d)(?=.*[a-f])(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})"
)  # keys of many services


def _random(value: str) -> bool:
    """Whether a text looks chosen by a machine: long enough, of several kinds of characters, hard to predict.

    >>> _random("tR7!xQ2pLm9Zk4Vb"), _random("my-database-password"), _random("arn:aws:secretsmanager:eu:1:secret:x")
    (True, False, False)
    """
    if not 10 <= len(value) <= 512 or _ELSEWHERE.search(value) or " " in value:
        return False
    kinds = sum(any(test(char) for char in value) for test in (str.islower, str.isupper, str.isdigit))
    return kinds >= 3 and _bits(value) >= 3.0


_SECRETS_IN_SCRIPTS: Final = (
    r"AKIA[0-9A-Z]{16}",
    r"(?i)aws_secret_access_key\s*=\s*\S+",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    r"\b(hf|ghp|gho|glpat|sk)[_-][A-Za-z0-9]{16,}",
    r"AccountKey=[A-Za-z0-9+/=]{40,}",
    r"(?i)\b(password|secret|token)\s*=\s*['\"][^'\"$]{8,}['\"]",
)


@rule(
    "secret-in-script",
    area="safety",
    subject="pools",
    prevents="credentials readable in machine descriptions",
)
def secret_in_script(pool: Pool, _: Parameters) -> Verdict:
    """A start script contains no secret: anybody who may describe the machine can read it.

    >>> from sizewell.policy.examples import pool
    >>> key = "export AWS_ACCESS_KEY_ID=AKIA" + "A" * 16
    >>> secret_in_script(pool(start_script=key), {}).fix
    'read it at run time from a secret store, with the role of the machine'
    """
    if isinstance(pool.start_script, Unknown):
        return Undetermined("the start script")
    if not any(re.search(pattern, pool.start_script) for pattern in _SECRETS_IN_SCRIPTS):
        return None
    return Violation(
        "the start script contains a secret: anyone who can describe the machine can read it",
        "read it at run time from a secret store, with the role of the machine",
    )


_LONG_LIVED_KEYS: Final = (
    "aws:iam/accessKey:AccessKey",
    "aws:iam/userLoginProfile:UserLoginProfile",
    "aws:iam/serviceSpecificCredential:ServiceSpecificCredential",
    "aws:lightsail/bucketAccessKey:BucketAccessKey",
    "gcp:serviceaccount/key:Key",
    "gcp:storage/hmacKey:HmacKey",
    "gcp:projects/apiKey:ApiKey",
    "azuread:index/applicationPassword:ApplicationPassword",
    "azuread:index/servicePrincipalPassword:ServicePrincipalPassword",
)


@rule(
    "long-lived-key",
    area="safety",
    subject="things",
    prevents="stolen keys that stay valid",
    types=_LONG_LIVED_KEYS,
)
def long_lived_key(thing: Thing, _: Parameters) -> Verdict:
    """No long-lived keys are created: roles and federation give credentials for an hour.

    >>> from sizewell.policy.examples import thing
    >>> long_lived_key(thing(type="aws:iam/accessKey:AccessKey"), {}).fix
    'use a role, workload identity or federation instead, and delete the key'
    """
    del thing
    return Violation(
        "the key is valid anywhere until it is deleted, and is stored in the stack's state",
        "use a role, workload identity or federation instead, and delete the key",
    )


_COGNITIVE_ACCOUNT: Final = "azure-native:cognitiveservices:Account"
_ONLINE_ENDPOINT: Final = "azure-native:machinelearningservices:OnlineEndpoint"


@rule(
    "service-key-login",
    area="safety",
    subject="things",
    prevents="costs caused by a leaked key",
    level="advisory",
    clouds=("azure",),
    types=(_COGNITIVE_ACCOUNT, _ONLINE_ENDPOINT),
)
def service_key_login(thing: Thing, _: Parameters) -> Verdict:
    """A model service authenticates by identity: a leaked key causes costs until somebody changes it.

    >>> from sizewell.policy.examples import thing
    >>> service_key_login(thing(type="azure-native:cognitiveservices:Account"), {}).fix
    'set properties.disableLocalAuth to true, and assign roles to its callers'
    """
    if thing.type == _COGNITIVE_ACCOUNT:
        off = flag(get(thing.inputs, "properties", "disableLocalAuth"))
        fix = "set properties.disableLocalAuth to true, and assign roles to its callers"
    else:
        mode = get(thing.inputs, "properties", "authMode")
        off = UNKNOWN if mode is UNKNOWN else mode in ("AADToken", "AMLToken")
        fix = "set properties.authMode to AADToken, and assign roles to its callers"
    if off is True:
        return None
    if off is UNKNOWN:
        return Undetermined("how callers authenticate")
    return Violation(
        "local authentication is on: anyone with a key can send requests, billed to you and untraceable", fix
    )
