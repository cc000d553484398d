"""Whether the images and charts that a stack names are where it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sizewell.clouds.calls import CloudError, together
from sizewell.clouds.preflight.findings import Finding, wrong
from sizewell.clouds.preflight.needs import Needs
from sizewell.clouds.registry import Image, Pull, Registries, image_of

_IMAGE_KEYS = ("image", "imageUri", "image_uri")
# each cloud asks its own registries, with a login
_ASKED_BY_ITS_CLOUD = (".dkr.ecr.", ".azurecr.io", "-docker.pkg.dev")


def images_of(needs: Needs) -> list[Image]:
    """Every image with a version that the stack's resources and its `sizewell:run` name, but the clouds' own."""
    texts = [text for resource in needs.resources for text in _images(resource.inputs)]
    runs = needs.config.get("sizewell:run") or {}
    texts += [str(run.get("image", "")) for run in runs.values() if isinstance(run, dict)]
    images = {text: image for text in texts if (image := image_of(text)) is not None}
    return [images[text] for text in sorted(images) if not any(part in text for part in _ASKED_BY_ITS_CLOUD)]


def charts_of(needs: Needs) -> list[tuple[str, str, str]]:
    """Repository, name and version of every chart that the stack releases."""
    charts = set()
    for release in needs.of("kubernetes:helm.sh/v3:Release"):
        inputs = release.inputs
        chart, version = str(inputs.get("chart", "")), str(inputs.get("version") or "")
        options = inputs.get("repositoryOpts")
        repository = chart if chart.startswith("oci://") else str((options or {}).get("repo") or "")
        if repository and version:
            charts.add((repository, chart.rpartition("/")[2], version))
    return sorted(charts)


def _images(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if key in _IMAGE_KEYS:
            yield value
    elif hasattr(value, "items"):
        repository, tag = value.get("repository"), value.get("tag") or value.get("version")
        if isinstance(repository, str) and isinstance(tag, str) and repository and tag:
            name = value.get("image")
            yield f"{repository}/{name}:{tag}" if isinstance(name, str) else f"{repository}:{tag}"
        for inner, each in value.items():
            yield from _images(each, str(inner))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _images(each, key)


def pulls(needs: Needs, registries: Registries) -> Iterator[Finding]:
    """A finding for each image and chart that is missing, and one for what was found or not known."""
    questions: dict[str, Any] = {
        f"{image.host}/{image.name}:{image.reference}": lambda image=image: registries.pull(image)
        for image in images_of(needs)
    }
    for repository, name, version in charts_of(needs):
        label = f"chart {name} {version} of {repository}"
        questions[label] = lambda r=repository, n=name, v=version: registries.chart(r, n, v)
    answers: dict[str, Pull | CloudError] = together(questions)
    about = "images and charts"
    for name, answer in answers.items():
        if answer == "missing":
            yield wrong(
                about, f"{name} does not exist", "correct its name or its version; a mirror has to be filled first"
            )
        elif isinstance(answer, CloudError):
            yield Finding(
                about,
                "wrong",
                f"no response: {answer.service}: {answer.detail} ({name})",
                answer.fix or "ask again",
                69,
            )
    there = sum(answer == "there" for answer in answers.values())
    closed = [name for name, answer in answers.items() if answer == "login"]
    detail = f"{there} of {len(answers)} exist"
    if closed:
        detail += f"; not known without a login: {', '.join(closed)}"
    yield Finding(about, "note" if closed else "ok", f"{detail}; checked from here, not from the stack's network")
