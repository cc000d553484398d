"""Kubernetes objects out of manifests, charts and kustomizations, without a cluster and without a download."""

from __future__ import annotations

import glob
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from sizewell.recording.contents.unread import Unread
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.values import contains_unknown

_SECONDS: Final = 60.0  # that a renderer may take
_URL: Final = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def of_resource(kind: str, name: str, inputs: Mapping[str, Any], root: Path) -> Iterator[dict[str, Any]]:
    """The objects that a resource of the Kubernetes provider renders."""
    if ":yaml" in kind:
        return _of_manifests(inputs, root)
    if ":kustomize" in kind:
        return kustomization(_text(inputs.get("directory"), "its directory"), root)
    if ":Release" in kind or ":Chart" in kind:
        return _of_chart(inputs, name, root)
    return iter(())


def decoded(text: str) -> list[dict[str, Any]]:
    """The objects in a text of YAML documents, those of a List one by one."""
    try:
        documents = list(yaml.load_all(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        raise Unread(f"not YAML: {' '.join(str(error).split())[:160]}") from None
    return list(flat(documents))


def flat(objects: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Objects, with those of a List in its place; nothing for an empty document."""
    for each in objects:
        if each is None:
            continue
        if not isinstance(each, dict):
            raise Unread(f"an object is not a mapping: {str(each)[:60]}")
        if str(each.get("kind", "")).endswith("List") and isinstance(each.get("items"), list):
            yield from flat(each["items"])
        else:
            yield each


def _of_manifests(inputs: Mapping[str, Any], root: Path) -> Iterator[dict[str, Any]]:
    texts = [inputs.get("yaml")]
    if isinstance(texts[0], list):
        texts = list(texts[0])
    files = inputs.get("files", inputs.get("file"))
    for pattern in files if isinstance(files, list) else [files]:
        texts += _files(pattern, root) if pattern is not None else []
    for text in texts:
        if text is not None:
            yield from decoded(_text(text, "its YAML"))
    objects = inputs.get("objs")
    if isinstance(objects, Unknown):
        raise Unread("its objects are known only after deployment")
    yield from flat(objects or ())


def _files(pattern: Any, root: Path) -> list[str]:
    name = _text(pattern, "the name of its file")
    if _URL.match(name):
        raise Unread(f"{name} is not on this machine")
    paths = sorted(glob.glob(str(root / name), recursive=True))  # noqa: PTH207 - the pattern may be an absolute path
    if not paths:
        raise Unread(f"{name}: no such file")
    return [_read(Path(path)) for path in paths]


def _of_chart(inputs: Mapping[str, Any], name: str, root: Path) -> Iterator[dict[str, Any]]:
    stated = [
        inputs[key] for key in ("repositoryOpts", "fetch_opts") if inputs.get(key) is not None
    ]  # as each kind has it
    repository = stated[0] if stated else {}
    repository = repository if isinstance(repository, dict) else {"repo": UNKNOWN}
    if any(repo is UNKNOWN or repo for repo in (inputs.get("repo"), repository.get("repo"))):
        raise Unread("its chart is in a repository, and not on this machine")
    path = inputs.get("path")
    where = _text(inputs.get("chart") if path is None else path, "its chart")
    values = {} if inputs.get("values") is None else inputs["values"]
    if contains_unknown(values):
        raise Unread("its values are known only after deployment")
    release = inputs.get("name") if isinstance(inputs.get("name"), str) else name
    namespace = inputs.get("namespace") if isinstance(inputs.get("namespace"), str) else "default"
    return chart(where, root, values=values, release=str(release), namespace=str(namespace))


def chart(
    where: str, root: Path, *, values: Mapping[str, Any], release: str, namespace: str = "default"
) -> Iterator[dict[str, Any]]:
    """The objects of a chart that lies in a folder or an archive, rendered by `helm` of this machine."""
    path = root / where
    if _URL.match(where) or not path.exists():
        raise Unread(f"the chart {where} is not on this machine")
    if path.is_dir() and not (path / "Chart.yaml").is_file():
        raise Unread(f"{where} has no Chart.yaml")
    helm = shutil.which("helm")
    if helm is None:
        raise Unread(f"the chart {where} is here, and `helm`, which renders it, is not on PATH{_asked(path)}")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        yaml.safe_dump(json.loads(json.dumps(values)), file)
        file.flush()
        command = [helm, "template", release, str(path), "--namespace", namespace, "--values", file.name]
        return iter(decoded(_output(command, f"the chart {where}")))


def _asked(path: Path) -> str:
    """Which files of a chart name devices of an accelerator."""
    if not path.is_dir():
        return ""
    naming = [each for each in sorted(path.rglob("*.y*ml")) if re.search(r"\.com/(gpu|tpu|neuron)|gpu/", _read(each))]
    return f"; {naming[0].relative_to(path)} names accelerators" if naming else ""


def kustomization(where: str, root: Path) -> Iterator[dict[str, Any]]:
    """The objects of a directory with a kustomization, by `kustomize` or `kubectl` where one is on this machine."""
    path = root / where
    if _URL.match(where) or not path.is_dir():
        raise Unread(f"the directory {where} is not on this machine")
    for program, *arguments in (("kustomize", "build"), ("kubectl", "kustomize")):
        if found := shutil.which(program):
            return iter(decoded(_output([found, *arguments, str(path)], where)))
    return _plainly(path, where)


_PLAIN: Final = {"apiVersion", "kind", "metadata", "resources", "namespace", "namePrefix", "nameSuffix", "labels",
                 "commonLabels", "commonAnnotations", "images", "configMapGenerator", "secretGenerator",
                 "generatorOptions", "bases"}  # fmt: skip


def _plainly(path: Path, where: str) -> Iterator[dict[str, Any]]:
    """What the directory lists, where nothing in it changes more than names, labels and images."""
    name = next(
        (each for each in ("kustomization.yaml", "kustomization.yml", "Kustomization") if (path / each).is_file()), ""
    )
    if not name:
        raise Unread(f"{where} has no kustomization.yaml")
    stated = (decoded(_read(path / name)) or [{}])[0]
    if more := sorted(stated.keys() - _PLAIN):
        raise Unread(f"{where}/{name}: {', '.join(more)} need `kustomize`, which is not on PATH")
    for entry in (*(stated.get("resources") or ()), *(stated.get("bases") or ())):
        if (path / str(entry)).is_dir():
            yield from _plainly(path / str(entry), f"{where}/{entry}")
        elif (path / str(entry)).is_file():
            yield from decoded(_read(path / str(entry)))
        else:
            raise Unread(f"{where}/{entry} is not on this machine")


def _output(command: list[str], what: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unread(f"{what} is not rendered: {error}") from None
    if done.returncode != 0:
        raise Unread(f"{what} is not rendered: {' '.join(done.stderr.split())[-200:]}")
    return done.stdout


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Unread(f"{path.name} cannot be read: {error}") from None


def _text(value: Any, what: str) -> str:
    if isinstance(value, str) and value:
        return value
    raise Unread(f"{what} is known only after deployment" if isinstance(value, Unknown) else f"{what} is not stated")
