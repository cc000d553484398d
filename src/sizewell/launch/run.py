"""What runs for a workload, beyond what its decision says: a decision names no image, no secret, no namespace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Final

from sizewell.sizing.catalog.engines import ENGINES
from sizewell.sizing.errors import ConfigError, Fault

NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
IMAGE: Final = re.compile(
    r"[a-z0-9][a-zA-Z0-9.:-]*(/[a-z0-9][a-z0-9._-]*)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?"
)
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PREFIX: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
LISTS: Final = ("command", "args", "secrets", "callers")
MAIN: Final = "main"  # prefix of a workload's run where nobody names one
FORMS: Final = ("deployment", "kserve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """An image and how it is to be started; everything but the image has a default that fits the workload's kind."""

    image: str  # with a tag other than latest, or a digest
    command: tuple[str, ...] = ()  # in place of the template's own
    args: tuple[str, ...] = ()  # added to the command
    env: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()  # Secrets whose keys become environment variables; named, never written here
    namespace: str = "default"
    model: str = ""  # weights in place of the spec's: a name on the Hub, s3:// or gs://, a path; taken as they are
    draft: str = ""  # weights of the draft in place of the spec's: a name on the Hub, or a path
    engine: str = ""  # one of `ENGINES`; "": by the model's family
    form: str = "deployment"  # deployment | kserve, for inference
    metrics: str = "http://prometheus-server.monitoring.svc"  # Prometheus that the autoscaler asks
    callers: tuple[str, ...] = ()  # namespaces, as a gateway's, whose pods may ask a served model; its own always may
    wake: str = ""  # a query that counts waiting requests while nothing runs; without it one replica stays up
    # below the checkpoint store, and in the names of its objects: the same resumes, another is a run beside it
    prefix: str = MAIN
    output: str = ""  # where a batch's answers go: s3://, gs:// or az://
    claims: tuple[tuple[str, str], ...] = ()  # (claim of an existing volume, folder it is mounted at)
    restarts: int = 10  # failures of its own that a training run survives; reclaimed machines do not count
    root: bool = False  # the image's own user, where it insists on root
    suspend: bool = False  # made, but not started
    # an existing PriorityClass: who goes first, and whose machines it may take; a queue of ours brings
    # sizewell-low, -medium and -high
    priority: str = ""


def read_run(data: object, at: str) -> Run:
    """A `Run` from configuration; ConfigError has every fault, with the path below `at`.

    >>> read_run({"image": "vllm/vllm-openai:v0.11.0", "env": {"HF_HUB_OFFLINE": 1}}, "chat").env
    (('HF_HUB_OFFLINE', '1'),)
    """
    if not isinstance(data, Mapping):
        raise ConfigError([Fault(path=at, found=data, allowed="a mapping with at least image")])
    wrong = [*unknown_settings(data, Run, at, "a run"), *_faults(data, at)]
    if wrong:
        raise ConfigError(wrong, subject=at)
    lists = {key: tuple(map(str, data[key])) for key in LISTS if key in data}
    pairs = {k: tuple((str(key), str(v)) for key, v in data[k].items()) for k in ("env", "claims") if k in data}
    return Run(**{**data, **lists, **pairs})


def unknown_settings(data: Mapping[Any, Any], record: type, at: str, what: str) -> list[Fault]:
    """A fault for each key of a mapping that the record which is made of it, `what`, has no field for."""
    known = tuple(field.name for field in fields(record))
    wrong: list[Fault] = []
    for key in data:
        if key not in known:
            close = get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(known)}"
            wrong.append(Fault(path=f"{at}.{key}", message=f"is not a setting of {what}{hint}"))
    return wrong


def _faults(data: Mapping[str, Any], at: str) -> list[Fault]:
    wrong: list[Fault] = []

    def must(holds: bool, key: str, allowed: str) -> None:
        if not holds:
            wrong.append(Fault(path=f"{at}.{key}", found=data.get(key), allowed=allowed))

    image = data.get("image")
    if not isinstance(image, str) or not IMAGE.fullmatch(image) or not pinned(image):
        what = "an image with a tag other than latest, or with a digest, as vllm/vllm-openai:v0.11.0"
        wrong.append(Fault(path=f"{at}.image", found=image, allowed=what))
    for key in LISTS:
        must(isinstance(data.get(key, []), list | tuple), key, "a list")
    for number, name in enumerate(data.get("secrets") or ()):
        must(bool(NAME.fullmatch(str(name))), "secrets", f"names of Secrets in the namespace (number {number} is not)")
    for number, name in enumerate(data.get("callers") or ()):
        must(bool(NAME.fullmatch(str(name))), "callers", f"names of namespaces (number {number} is not)")
    env = data.get("env", {})
    must(isinstance(env, Mapping) and all(VARIABLE.fullmatch(str(key)) for key in env), "env", "variables by name")
    if isinstance(env, Mapping) and (secret := next((k for k in env if _secret(str(k))), None)):
        fix = f"put {secret} into a Secret and name that under secrets"
        wrong.append(
            Fault(
                path=f"{at}.env.{secret}", message="looks like a secret, which would be stored in plain text", fix=fix
            )
        )
    namespace = data.get("namespace", "default")
    must(isinstance(namespace, str) and bool(NAME.fullmatch(namespace)), "namespace", "a namespace")
    must(not str(namespace).startswith("kube-"), "namespace", "a namespace of your own: kube-* belong to the cluster")
    must(data.get("engine", "") in ("", *ENGINES), "engine", f"one of {', '.join(ENGINES)}")
    must(data.get("form", "deployment") in FORMS, "form", f"one of {', '.join(FORMS)}")
    restarts = data.get("restarts", 0)
    whole = isinstance(restarts, int) and not isinstance(restarts, bool)
    must(whole and 0 <= restarts <= 1000, "restarts", "0 to 1000")
    for key in ("root", "suspend"):
        must(isinstance(data.get(key, False), bool), key, "true or false")
    for key in ("model", "draft", "metrics", "wake", "output"):
        must(isinstance(data.get(key, ""), str), key, "text")
    priority = data.get("priority", "")
    must(priority == "" or bool(NAME.fullmatch(str(priority))), "priority", "the name of a PriorityClass")
    must(not str(priority).startswith("system-"), "priority", "a class of your own: system-* belong to the cluster")
    must(bool(PREFIX.fullmatch(str(data.get("prefix", "main")))), "prefix", "a folder's name below the store")
    claims = data.get("claims", {})
    right = isinstance(claims, Mapping) and all(
        NAME.fullmatch(str(key)) and str(value).startswith("/") for key, value in claims.items()
    )
    must(right, "claims", "claims by name with the folder that each is mounted at, as {data: /data}")
    return wrong


def pinned(image: str) -> bool:
    """Whether an image names a version: what runs tomorrow is what was tried today.

    >>> pinned("nginx"), pinned("a.b:5000/nginx"), pinned("nginx:latest"), pinned("nginx:1.27")
    (False, False, False, True)
    """
    if "@sha256:" in image:
        return True
    tag = image.rsplit("/", 1)[-1].partition(":")[2]
    return tag not in ("", "latest")


def _secret(variable: str) -> bool:
    words = variable.upper().split("_")
    return any(word in ("TOKEN", "PASSWORD", "SECRET", "APIKEY", "CREDENTIALS") for word in words) or (
        "KEY" in words and bool({"API", "ACCESS", "PRIVATE"} & set(words))
    )
