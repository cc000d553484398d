"""What runs `sizewell teardown run --yes` once an hour: a GitHub workflow, a CronJob. Pure.

Each takes the image that `ci/teardown/Dockerfile` builds, by its digest: what may destroy is never what somebody pushed
under a tag since.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from sizewell.sizing.errors import UsageError

_PINNED: Final = re.compile(r"[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64}")
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
WRITABLE: Final = ("/tmp", "/project/.sizewell")  # noqa: S108  (of the container)
HOURLY: Final = "17 * * * *"  # not on the hour, when schedules of everybody start
USER: Final = 10001  # of the image


def must_be_pinned(image: str) -> None:
    """UsageError where an image is not named by its digest."""
    if not _PINNED.fullmatch(image):
        raise UsageError(
            f"{image!r} names no digest: a tag may be another image tomorrow, and this one destroys\n"
            "  fix: NAME@sha256:…, as `docker buildx imagetools inspect NAME:TAG` prints it"
        )


def must_outlive(cluster: str, clusters: Mapping[str, Sequence[str]]) -> None:
    """UsageError where a cluster belongs to a stack of the backend: it would be ended while it runs the teardown."""
    for stack, names in sorted(clusters.items()):
        if cluster in names:
            raise UsageError(
                f"{cluster} is the cluster of stack {stack}, which a teardown may end while it runs there\n"
                "  fix: another cluster, a GitHub workflow, or the component TeardownSchedule"
            )


def workflow(image: str) -> str:
    """A GitHub workflow. UsageError without a digest.

    It needs no action of others: a token of GitHub's own is exchanged for the cloud's by its SDK.
    """
    must_be_pinned(image)
    settings = {
        "IMAGE": image,
        "AWS_PROFILES": "${{ vars.TEARDOWN_AWS_PROFILES }}",
        "AWS_REGION": "${{ vars.TEARDOWN_AWS_REGION }}",
        "PULUMI_BACKEND_URL": "${{ vars.PULUMI_BACKEND_URL }}",
        "PULUMI_CONFIG_PASSPHRASE": "${{ secrets.PULUMI_CONFIG_PASSPHRASE }}",
    }
    script = (
        "install -d -m 0755 token\n"
        'curl --silent --show-error --fail -H "Authorization: bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \\\n'
        '  "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=sts.amazonaws.com" | jq -r .value > token/aws\n'
        "docker run --rm --read-only --tmpfs /tmp:mode=1777 --tmpfs /project/.sizewell:mode=1777 \\\n"
        '  --volume "$PWD/token:/token:ro" --env AWS_CONFIG_FILE=/tmp/aws/config --env AWS_PROFILE=teardown-reads \\\n'
        "  --env AWS_PROFILES --env AWS_REGION --env PULUMI_BACKEND_URL --env PULUMI_CONFIG_PASSPHRASE \\\n"
        '  "$IMAGE" teardown run --yes\n'
    )
    document = {
        "name": "teardown",
        "on": {"schedule": [{"cron": HOURLY}], "workflow_dispatch": {}},
        "permissions": {},
        "concurrency": {"group": "teardown", "cancel-in-progress": False},
        "jobs": {
            "teardown": {
                "name": "Take what is idle or past its end down",
                "runs-on": "ubuntu-latest",
                "environment": "teardown",
                "timeout-minutes": 170,
                "permissions": {"id-token": "write"},
                "steps": [{"name": "Run it in the image", "env": settings, "run": script}],
            }
        },
    }
    return (
        "# Once an hour: sizewell teardown run --yes. The environment `teardown` has the variables\n"
        "# TEARDOWN_AWS_PROFILES, TEARDOWN_AWS_REGION and PULUMI_BACKEND_URL; who may change them may destroy.\n"
        + _text(document)
    )


def cron_job(image: str, *, cluster: str, namespace: str, account: str) -> str:
    """A CronJob with its namespace and its service account. UsageError without a digest, or with a wrong name."""
    must_be_pinned(image)
    for what, name in (("--namespace", namespace), ("--account", account)):
        if not _NAME.fullmatch(name):
            raise UsageError(f"{what} {name!r} is no DNS label\n  fix: lower-case letters, digits and -")
    volumes = [f"writable-{number}" for number, _ in enumerate(WRITABLE)]
    secret = {"secretRef": {"name": "teardown", "optional": True}}
    container = {
        "name": "teardown",
        "image": image,
        "imagePullPolicy": "Always",
        "args": ["teardown", "run", "--yes"],
        "env": [{"name": "SIZEWELL_CLUSTER", "value": cluster}],
        "envFrom": [{"configMapRef": {"name": "teardown", "optional": True}}, secret],
        "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "1", "memory": "4Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in zip(volumes, WRITABLE, strict=True)],
    }
    pod = {
        "serviceAccountName": account,
        "automountServiceAccountToken": False,  # it speaks to clouds; their identities come by tokens of their own
        "restartPolicy": "Never",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": name, "emptyDir": {}} for name in volumes],
    }
    job = {"backoffLimit": 0, "activeDeadlineSeconds": 10_200, "template": {"spec": pod}}
    documents: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": account, "namespace": namespace},
            "automountServiceAccountToken": False,
        },
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "teardown", "namespace": namespace},
            "spec": {
                "schedule": HOURLY,
                "timeZone": "Etc/UTC",
                "concurrencyPolicy": "Forbid",
                "startingDeadlineSeconds": 900,
                "successfulJobsHistoryLimit": 3,
                "failedJobsHistoryLimit": 3,
                "jobTemplate": {"spec": job},
            },
        },
    ]
    return "---\n".join(_text(document) for document in documents)


class _Dumper(yaml.SafeDumper):
    """Text of several lines as such."""


def _text_of(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text_of)


def _text(document: Mapping[str, Any]) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120, default_flow_style=False)
