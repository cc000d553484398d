"""Jobs of one or several machines as a JobSet: all start, fail and start again together. Pure.

A pod that loses its machine, or is told to end (exit code 75), ends its Job by a rule of the pod failure policy; the
JobSet then starts again without counting it, since a reclaimed machine is nobody's fault. A failure of its own counts,
up to `Run.restarts`; a wrong input (exit code 64) ends it at once, since no repetition mends it, and so does the end of
its time (76). State comes back from the checkpoint store.

Time counts while it runs: the entry script adds up what it ran over all its starts, and a command of the user's own is
ended by `timeout` (coreutils, busybox), which counts each start by itself. Kubernetes' own limit counts from
the making of pods on, machines or not; it stands `WAITS_S` later and says DeadlineExceeded of a run that waited.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from sizewell.launch.launch import Launch
from sizewell.launch.pods import Manifest
from sizewell.launch.target import Target

API: Final = "jobset.x-k8s.io/v1alpha2"
WORKERS: Final = "workers"
PORT: Final = 29500
WRONG_INPUT: Final = 64
TOLD_TO_END: Final = 75
OVER: Final = 76  # the run's time is up: saved, and not to be started again
TIMED_OUT: Final = 124  # the same, of a command of the user's own: what `timeout` ends with
WAITS_S: Final = 86400  # for machines, since the pods were made: a day beside the run itself
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PREFERRED: Final = "kueue.x-k8s.io/podset-preferred-topology"
INDEX: Final = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
JOB: Final = {"fieldRef": {"fieldPath": "metadata.annotations['jobset.sigs.k8s.io/job-index']"}}


def coordinator(name: str) -> str:
    """DNS name of a JobSet's first pod.

    >>> coordinator("pretrain")
    'pretrain-workers-0-0.pretrain'
    """
    return f"{name}-{WORKERS}-0-0.{name}"


def queued(labels: Mapping[str, str], target: Target) -> dict[str, str]:
    """Labels with the queue, where there is one."""
    return {**labels, QUEUE_LABEL: target.queue} if target.queue else dict(labels)


def packed(target: Target) -> dict[str, str]:
    """Annotation of pods that should stand close together: in one of the widest blocks, if they can."""
    return {PREFERRED: target.levels[0]} if target.queue and target.levels else {}


def limited(launch: Launch, deadline_s: int) -> Launch:
    """The launch with the user's own command ended after so many seconds of running; as it is where there is none."""
    if not launch.run.command or not deadline_s:
        return launch
    ended = ("timeout", "-k", str(launch.grace), str(deadline_s), *launch.run.command)
    return replace(launch, run=replace(launch.run, command=ended))


def jobset(
    launch: Launch,
    pod: Manifest,
    *,
    pods: int,
    deadline_s: int = 0,
    pieces: int = 0,
    keep_s: int = 86400,
) -> Manifest:
    """`pods` pods that work on one thing, or on `pieces` that are done one by one; on TPU slices a Job for each.

    `deadline_s` is of the running; waiting for machines may take `WAITS_S` more.
    """
    run, target, machine = launch.run, launch.target, launch.machine
    slices = max(1, pods // machine.hosts) if machine.hosts > 1 else 1
    each = pods // slices
    told = {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [TOLD_TO_END]}}
    job: dict[str, Any] = {
        "completionMode": "Indexed",
        "parallelism": each,
        "completions": pieces or each,
        "backoffLimit": 0,
        "podFailurePolicy": {
            "rules": [
                {
                    "action": "FailJob",
                    "onExitCodes": {
                        "containerName": "main",
                        "operator": "In",
                        "values": [WRONG_INPUT, OVER, TIMED_OUT],
                    },
                },
                told,
                {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            ]
        },
        "template": pod,
    }
    if pieces:  # each piece is done for itself: one that fails is done again alone
        job |= {"backoffLimitPerIndex": min(run.restarts, 10), "backoffLimit": 2**31 - 1}
        first, *others = job["podFailurePolicy"]["rules"]
        first["action"] = "FailIndex"
        for other in others:
            other["action"] = "Ignore"
    if deadline_s:
        job["activeDeadlineSeconds"] = deadline_s + WAITS_S
    alone = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}
    made = launch.metadata(annotations=alone if machine.hosts > 1 else None)
    return {
        "apiVersion": API,
        "kind": "JobSet",
        "metadata": {**made, "labels": queued(launch.labels, target)},
        "spec": {
            **({"suspend": True} if run.suspend else {}),  # a queue holds it back and lets it start by itself
            "ttlSecondsAfterFinished": keep_s,
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
            "failurePolicy": {"maxRestarts": run.restarts, "restartStrategy": "BlockingRecreate", "rules": RULES},
            "replicatedJobs": [{"name": WORKERS, "replicas": slices, "template": {"spec": job}}],
        },
    }


RULES: Final = [
    {
        "name": "wrongInput",
        "action": "FailJobSet",
        "onJobFailureReasons": ["PodFailurePolicy"],
        "onJobFailureMessagePatterns": [f".*exit code {WRONG_INPUT}.*"],
    },
    {
        "name": "timeIsUp",
        "action": "FailJobSet",
        "onJobFailureReasons": ["PodFailurePolicy"],
        "onJobFailureMessagePatterns": [f".*exit code {code}.*" for code in (OVER, TIMED_OUT)],
    },
    {"name": "waitedTooLong", "action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]},
    {
        "name": "reclaimed",
        "action": "RestartJobSetAndIgnoreMaxRestarts",
        "onJobFailureReasons": ["PodFailurePolicy"],
    },
]
