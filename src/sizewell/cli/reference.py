"""What docs/reference/command-line.md is made of: exit codes and environment variables. Tests hold both to the code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

EXITS: Final[Mapping[int, str]] = {
    0: "fine",
    1: "a policy failed",
    2: "over a budget or a guardrail",
    3: "a resource has no price",
    4: "a decision, or the newest price, is out of date",
    5: "nothing fits",
    6: "something was held back or is in no state: a person has to check",
    64: "the command line, a spec or a configuration file is wrong",
    69: "an external dependency failed: the engine, a cloud, the backend or a stack's program; run it again",
    70: "an internal error of Sizewell",
    74: "the output could not be written: the disk is full",
    130: "interrupted (Ctrl-C)",
    141: "the reader of the pipe closed it, such as `head`",
}
EVERYWHERE: Final = (0, 64, 70, 74, 130, 141)  # exit codes of every command

VARIABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "Output": {
        "NO_COLOR": "set to any value: no colour; `--color always` overrides it",
        "TERM": "`dumb`: no colour and no progress",
        "COLUMNS": "columns of tables, at most 100",
        "SIZEWELL_DEBUG": "set to any value: an internal error (exit code 70) prints its traceback",
        "PYDANTIC_DISABLE_PLUGINS": "set by the command to `__all__` where it is not set: start-up is shorter",
    },
    "Files and folders": {
        "SIZEWELL_CATALOG": "folder of your own prices and engines; unset: the project's `catalog/`; empty: none",
        "SIZEWELL_POLICY_CONFIG": "policy configuration that the policy pack reads; unset: `policy/config.yaml`",
        "SIZEWELL_USAGE": "usage file of the policy pack, `preview` and `policy`, as `--usage`",
        "SIZEWELL_DISCOUNTS": "rates file of the policy pack, `preview` and `policy`, as `--discounts`",
        "XDG_CACHE_HOME": "`teardown` caches the states that it has read below it; unset: `~/.cache`",
        "SIZEWELL_HANDED_OVER": "set by the command where the project's own environment evaluates in its place",
        "PULUMI_HOME": "where `doctor` looks for the engine's language host; unset: `~/.pulumi`",
    },
    "Set by the Pulumi engine": {
        "PULUMI_BACKEND_URL": "the backend; `teardown` caches states separately for each",
        "PULUMI_PROJECT": "the project that the policy pack judges",
        "PULUMI_STACK": "the stack that the policy pack judges",
        "PULUMI_CONFIG*": "configuration of the program; an offline evaluation clears it",
    },
    "Pull requests": {
        "GITHUB_TOKEN": "token that writes the comment of a preview on GitHub",
        "GITHUB_API_URL": "GitHub's API; unset: that of github.com",
        "SIZEWELL_GITLAB_TOKEN": "token that writes the comment on GitLab",
        "CI_API_V4_URL": "GitLab's API; unset: that of gitlab.com",
        "RUNNER_ENVIRONMENT": "`github-hosted`: `doctor` says which clusters such a runner cannot reach",
    },
    "Clouds": {
        "AZURE_ACCESS_TOKEN": "a token of your own for Azure in place of a login",
        "AZURE_PROMETHEUS_TOKEN": "a token for Azure Monitor workspaces in place of a login",
        "GOOGLE_OAUTH_ACCESS_TOKEN": "a token of your own for Google Cloud in place of a login",
        "GOOGLE_API_KEY": "key with which `prices refresh` reads Google's public price list without a login",
        "AWS_ENDPOINT_URL*": (
            "endpoint of AWS's services, or with `_SERVICE` of one service, such as a proxy or a "
            "replay"
        ),
        "GCP_ENDPOINT_URL*": "the same for Google Cloud",
        "AZURE_ENDPOINT_URL*": "the same for Azure",
        "REGISTRY_ENDPOINT_URL": "endpoint of container registries, such as a proxy or a replay",
        "HTTPS_PROXY": "proxy of all calls to clouds, registries and webhooks; with a login as `http://NAME:PASSWORD@HOST:PORT`",
        "HTTP_PROXY": "the same for http addresses",
        "ALL_PROXY": "the same where neither is set",
        "NO_PROXY": "hosts without a proxy, separated by commas; loopback and link-local addresses never have one",
    },
    "Teardown": {
        "SIZEWELL_CLUSTER": "the cluster that the CronJob of `teardown schedule` runs in, which it never takes down",
        "mail.password_env": "the variable that `teardown.yaml` names there: password of the mail server",
        "prometheus.*.token_env": "the variable that `teardown.yaml` names there: bearer token of a Prometheus API",
    },
    "In containers that `launch` starts": {
        "SIZEWELL_*": "each argument of a run: `SIZEWELL_STEPS` is `--steps`",
        "SIZEWELL_PROCESSES": "processes of a machine",
        "SIZEWELL_NODE": "number of the machine, from 0",
        "SIZEWELL_NODES": "number of machines",
        "SIZEWELL_COORDINATOR": "address of the first machine",
        "SIZEWELL_LINE": "the command line of a Ray job, as JSON",
        "RAY_JOB_CONFIG_JSON_ENV_VAR": "set by Ray: the job's metadata",
        "RANK": "set by the launcher: number of the process",
        "LOCAL_RANK": "the same, within the machine",
        "WORLD_SIZE": "number of processes",
        "LOCAL_WORLD_SIZE": "the same, of the machine",
        "MASTER_ADDR": "address of process 0",
        "MASTER_PORT": "its port",
        "SLURM_*": "set by Slurm: the same facts under its names",
        "JOB_COMPLETION_INDEX": "set by Kubernetes: the index of the pod in an indexed Job",
        "TPU_WORKER_HOSTNAMES": "set on TPU slices: the other machines",
        "JAX_PLATFORMS": "the platform that JAX uses",
        "AZURE_STORAGE_CONNECTION_STRING": (
            "credentials of a checkpoint store on Azure, where there is no managed "
            "identity"
        ),
        "STATEFUL_SET": "the notebook that is emptied when it is idle",
        "NAMESPACE": "its namespace",
        "CLUSTER": "address of the cluster's API",
        "ACCOUNT_FOLDER": "folder of the pod's service account",
        "PATIENCE": "for tests: shortens pauses",
    },
}  # fmt: skip
