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
from sizewell.sizing.providers.cloud import PerCloud
from sizewell.teardown.aws import login as aws
from sizewell.teardown.azure import login as azure
from sizewell.teardown.gcp import login as gcp
from sizewell.teardown.login import Login

_PINNED: Final = re.compile(r"[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64}")
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
WRITABLE: Final = ("/tmp", "/project/.sizewell")  # noqa: S108  (of the container)
HOURLY: Final = "17 * * * *"  # not on the hour, when schedules of everybody start
USER: Final = 10001  # of the image


def must_be_pinned(image: str) -> None:
    """UsageError where an image is not named by its digest."""
    if not _PINNED.fullmatch(image):
        raise UsageError(
            f"{image!r} has no digest: tags are mutable, and this image can destroy stacks\n"
            "  fix: NAME@sha256:…, as `docker buildx imagetools inspect NAME:TAG` prints it"
        )


def must_outlive(cluster: str, clusters: Mapping[str, Sequence[str]]) -> None:
    """UsageError where a cluster belongs to a stack in the backend: it would be ended while it runs the teardown."""
    for stack, names in sorted(clusters.items()):
        if cluster in names:
            raise UsageError(
                f"{cluster} is the cluster of stack {stack}, which a teardown may destroy while it runs there\n"
                "  fix: another cluster, a GitHub workflow, or the component TeardownSchedule"
            )


LOGINS: Final = PerCloud[Login](aws=aws.LOGIN, gcp=gcp.LOGIN, azure=azure.LOGIN)
ENVIRONMENT: Final = "teardown"  # of GitHub: its variables, and what the subject of its tokens names
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")


def workflow(image: str, clouds: Sequence[str]) -> str:
    """A GitHub workflow. UsageError without a digest.

    What it goes by is read from the repository at each run. It needs no action of others: a token of GitHub's own is
    exchanged for the cloud's by its SDK. Such a token is good for some minutes, and a run takes longer: it is fetched
    anew as long as the container runs.
    """
    must_be_pinned(image)
    logins = {cloud: login for cloud, login in LOGINS.items() if cloud in clouds}
    names = {key: name for login in logins.values() for key, name in login.variables.items()}
    settings = {
        "IMAGE": image,
        **{key: f"${{{{ vars.{name} }}}}" for key, name in names.items()},
        "PULUMI_BACKEND_URL": "${{ vars.PULUMI_BACKEND_URL }}",
        "PULUMI_CONFIG_PASSPHRASE": "${{ secrets.PULUMI_CONFIG_PASSPHRASE }}",
        "TOKEN": "${{ github.token }}",
    }
    passed = [f"{key}={value}" for login in logins.values() for key, value in login.settings.items()]
    passed += [*names, "PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE"]
    script = (
        # The settings of today: the image has none. The token is in no argument, and in no file that is mounted.
        "git init --quiet project\n"
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=http.extraHeader\n"
        'basic=$(printf "x-access-token:%s" "$TOKEN" | base64 --wrap 0)\n'
        'GIT_CONFIG_VALUE_0="Authorization: basic $basic" \\\n'
        '  git -C project fetch --quiet --depth 1 "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY" "$GITHUB_SHA"\n'
        "unset GIT_CONFIG_COUNT\n"
        "git -C project checkout --quiet FETCH_HEAD\n"
        "mkdir -p project/.sizewell\n"
        "install -d -m 0755 token\n"
        "fetch() {\n"
        '  curl --silent --show-error --fail -H "Authorization: bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \\\n'
        '    --get --data-urlencode "audience=$2" "$ACTIONS_ID_TOKEN_REQUEST_URL" | jq -r .value > "token/.$1"\n'
        '  mv "token/.$1" "token/$1"\n'
        "}\n"
        f"all() {{ {' && '.join(f'fetch {cloud} {_quoted(login.audience)}' for cloud, login in logins.items())}; }}\n"
        f"{''.join(login.prepares for login in logins.values())}"
        "all\n"
        "(while sleep 180; do all; done) > /dev/null 2>&1 &\n"
        "refreshing=$!\n"
        "trap 'kill \"$refreshing\"' EXIT\n"
        "docker run --rm --read-only --tmpfs /tmp:mode=1777 --tmpfs /project/.sizewell:mode=1777 \\\n"
        '  --volume "$PWD/token:/token:ro" --volume "$PWD/project:/project:ro" \\\n'
        f"{''.join(f'  --env {each} {chr(92)}{chr(10)}' for each in passed)}"
        '  "$IMAGE" teardown run --yes\n'
    )
    document = {
        "name": "teardown",
        "on": {"schedule": [{"cron": HOURLY}], "workflow_dispatch": {}},
        "permissions": {},
        "concurrency": {"group": "teardown", "cancel-in-progress": False},
        "jobs": {
            "teardown": {
                "name": "Take idle and expired stacks down",
                "runs-on": "ubuntu-latest",
                "environment": ENVIRONMENT,
                "timeout-minutes": 170,
                "permissions": {"contents": "read", "id-token": "write"},
                "steps": [{"name": "Run it in the image", "env": settings, "run": script}],
            }
        },
    }
    needed = ", ".join([*dict.fromkeys(names.values()), "PULUMI_BACKEND_URL"])
    return (
        f"# Once an hour: sizewell teardown run --yes. The environment `{ENVIRONMENT}` has the variables\n"
        f"# {needed}; who can change them can destroy stacks.\n" + _text(document)
    )


def _quoted(text: str) -> str:
    return f'"{text}"'


def trust(repository: str, clouds: Sequence[str]) -> str:
    """What each cloud's identities have to trust: jobs of one environment of one repository. UsageError where that is
    none.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError(f"--trust {repository!r} is not a GitHub repository\n  fix: OWNER/NAME")
    subject = f"repo:{repository}:environment:{ENVIRONMENT}"
    return _text({cloud: login.trust(subject) for cloud, login in LOGINS.items() if cloud in clouds})


def cron_job(image: str, *, cluster: str, namespace: str, account: str, journal: str) -> str:
    """A CronJob with its namespace and its service account, whose runs fetch their settings from beside the journal.
    UsageError without a digest, or with a wrong name.
    """
    must_be_pinned(image)
    for what, name in (("--namespace", namespace), ("--account", account)):
        if not _NAME.fullmatch(name):
            raise UsageError(f"{what} {name!r} is not a DNS label\n  fix: lower-case letters, digits and -")
    volumes = [f"writable-{number}" for number, _ in enumerate(WRITABLE)]
    secret = {"secretRef": {"name": "teardown", "optional": True}}
    container = {
        "name": "teardown",
        "image": image,
        "imagePullPolicy": "Always",
        "args": ["teardown", "run", "--yes"],
        "env": [{"name": "SIZEWELL_CLUSTER", "value": cluster}, {"name": "SIZEWELL_JOURNAL", "value": journal}],
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
