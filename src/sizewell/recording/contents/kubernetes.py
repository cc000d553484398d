"""Kubernetes objects out of manifests, charts and kustomizations, without a cluster and without a download."""

from __future__ import annotations

import glob
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from sizewell.recording.contents.unread import Unread
from sizewell.recording.wire import UNKNOWN_MARK
from sizewell.resources.recorded import UNKNOWN, Unknown

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
        raise Unread(f"{name} is not on this machine", "keep it in the project and name its path: it is then read")
    paths = sorted(glob.glob(str(root / name), recursive=True))  # noqa: PTH207 - the pattern may be an absolute path
    if not paths:
        raise Unread(f"{name}: no such file", f"correct the path: it is read from the project's folder, {root}")
    return [_read(Path(path)) for path in paths]


def _of_chart(inputs: Mapping[str, Any], name: str, root: Path) -> Iterator[dict[str, Any]]:
    stated = [
        inputs[key] for key in ("repositoryOpts", "fetch_opts") if inputs.get(key) is not None
    ]  # as each kind has it
    repository = stated[0] if stated else {}
    repository = repository if isinstance(repository, dict) else {"repo": UNKNOWN}
    repo = inputs.get("repo") or repository.get("repo")
    path = inputs.get("path")
    where = _text(inputs.get("chart") if path is None else path, "its chart")
    if repo is UNKNOWN or repo:
        at = f" --repo {repo}" if isinstance(repo, str) and _URL.match(repo) else ""
        release = inputs.get("version")
        version = f" --version {release}" if isinstance(release, str) else ""
        chart_of = f"{repo}/{where}" if isinstance(repo, str) and not at else where
        raise Unread(
            "its chart is in a repository, and not on this machine",
            f"pull it into the project (`helm pull {chart_of}{at}{version} --untar`) and name its folder: what it "
            "renders is then judged",
        )
    if inputs.get("postRenderer") is not None:
        raise Unread("a post-renderer changes what its chart renders", "judge what it renders: put that into a file")
    release_name = inputs.get("name") if isinstance(inputs.get("name"), str) else name
    options = ["--namespace", str(inputs["namespace"])] if isinstance(inputs.get("namespace"), str) else []
    options += [] if _stated(inputs, "skipCrds", "skip_crd_rendering") else ["--include-crds"]
    options += [] if _stated(inputs, "include_test_hook_resources") else ["--skip-tests"]
    if isinstance(version := _stated(inputs, "kubeVersion", "kube_version"), str):
        options += ["--kube-version", version]
    for version in _stated(inputs, "apiVersions", "api_versions") or ():
        options += ["--api-versions", str(version)]
    files = inputs.get("valueYamlFiles")
    if isinstance(files, Unknown):
        raise Unread("its files of values are known only after deployment")
    values = [*(files or ()), {} if inputs.get("values") is None else inputs["values"]]
    return chart(where, root, values=values, release=str(release_name), options=options)


def _stated(inputs: Mapping[str, Any], *names: str) -> Any:
    return next((value for name in names if (value := inputs.get(name)) not in (None, UNKNOWN)), None)


def chart(
    where: str, root: Path, *, values: Sequence[Any], release: str, options: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """The objects of a chart that lies in a folder or an archive, rendered by `helm` of this machine.

    `values` are mappings and assets, the last goes first. What is not known in them is rendered as a text that is
    unknown in what comes out; what a template decides by it is said by the caller.
    """
    path = root / where
    if _URL.match(where):
        raise Unread(
            f"the chart {where} is not on this machine",
            f"pull it into the project (`helm pull {where} --untar`) and name its folder: its content is then judged",
        )
    if not path.exists():
        raise Unread(
            f"the chart {where} is not on this machine",
            f"correct its path, which is read from the project's folder, {root}, or put the chart there",
        )
    if path.is_dir() and not (path / "Chart.yaml").is_file():
        raise Unread(f"{where} has no Chart.yaml", "name the folder that has it, or put it there")
    helm = shutil.which("helm")
    if helm is None:
        why = f"the chart {where} is here, and `helm`, which renders it, is not on PATH{_asked(path)}"
        raise Unread(why, "install helm where this runs: what the chart renders is then judged")
    with tempfile.TemporaryDirectory(prefix="sizewell-values-") as folder:
        command = [helm, "template", release, str(path), *options]
        for number, each in enumerate(values):
            command += ["--values", str(_values_file(each, root, Path(folder) / f"{number}.yaml"))]
        try:
            return iter(_with_unknowns(decoded(_output(command, f"the chart {where}"))))
        except Unread as error:
            if "missing in charts/ directory" in str(error):
                raise Unread(str(error), f"bring its dependencies: `helm dependency build {where}`") from None
            raise


def _values_file(value: Any, root: Path, place: Path) -> Path:
    """A file of values: an asset's own, or one that is written for `helm`."""
    if isinstance(value, Unknown):
        raise Unread("its values are known only after deployment")
    if isinstance(value, Mapping) and isinstance(value.get("path"), str) and value.keys() <= {"path", "text", "uri"}:
        named = root / str(value["path"])
        if not named.is_file():
            raise Unread(f"its file of values {value['path']} is not here", "correct the path, or put the file there")
        return named
    if isinstance(value, Mapping) and isinstance(value.get("uri"), str) and len(value) == 1:
        raise Unread(f"its file of values is at {value['uri']}", "keep it in the project and name its path")
    plain = value["text"] if isinstance(value, Mapping) and value.keys() == {"text"} else None
    text = plain if isinstance(plain, str) else json.dumps(value, default=lambda _: UNKNOWN_MARK)
    place.write_text(text, encoding="utf-8")  # JSON is YAML
    return place


def _with_unknowns(value: Any) -> Any:
    """What came out, with what is not known marked as such again."""
    if isinstance(value, str):
        return UNKNOWN if UNKNOWN_MARK in value else value
    if isinstance(value, dict):
        return {key: _with_unknowns(each) for key, each in value.items()}
    return [_with_unknowns(each) for each in value] if isinstance(value, list) else value


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
        raise Unread(f"the directory {where} is not on this machine", "correct its path, or keep it in the project")
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
        why = f"{where}/{name}: {', '.join(more)} need `kustomize`, which is not on PATH"
        raise Unread(why, "install kustomize where this runs: what the directory renders is then judged")
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
