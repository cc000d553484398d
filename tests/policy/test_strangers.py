"""Twenty programs of strangers (strangers.py), written before a rule was looked at: the bad are stopped, the good not.

Of ten bad ones nine were stopped and of ten good ones nine let through when they were first run; the workflow of Argo and
short jobs of Batch on spot were not known to the rules then. Of fifty-five more (more_strangers.py), 17 of 40 bad ones were
stopped and 14 of 15 good ones let through at first; what stops them now has to be the rule that their weakness is about.
"""

from __future__ import annotations

from dataclasses import replace

import more_strangers
import pytest
import strangers
from sound.programs import Program
from test_sound_programs import ACCELERATED, judged
from test_weaknesses import inputs_of, refused
from weak.rows import Row

NOT_STOPPED = {  # program -> why nothing refuses it
    "a service of ECS with two GPU tasks that nothing scales": "a service buys no machine: the group or provider under it is judged",
}
STOPPED_BY = {
    "a node of one's own for GPU machines that nobody gives back": "accelerators-kept",
    "a machine of a test lab with two A100s and no shutdown": "accelerators-kept",
    "a streaming fleet of graphics machines that is always on": "accelerators-kept",
    "desks with a graphics card that never stop": "accelerators-kept",
    "a persistent request for a spot machine with four GPUs, in development": "idle-exposure",
    "a Beanstalk application that keeps three GPU machines": "accelerators-kept",
    "reserved GPU builders that wait for builds day and night": "accelerators-kept",
    "an account protected by a subscription of a year that a pull request buys": "term-bought",
    "guests of an identity pool who may call the model": "open-trust",
    "a cluster whose administrator is whoever builds in any repository": "administrator-role",
    "a token of the forge in a build's plain environment, and a password in a job of Glue": "secret-in-plain-text",
    "desks of developers with a GPU that never stop": "accelerators-kept",
    "desks with a GPU of which three always run ahead": "accelerators-kept",
    "a model out of the garden that keeps two machines, in development": "endpoint-keeps-machines",
    "a stream of Dataflow with a GPU per worker that never drains": "accelerators-kept",
    "a key of an interface that anything may use": "long-lived-key",
    "a web interface behind the identity proxy that lets everybody in": "public-member",
    "a database of AlloyDB that answers the world": "database-public",
    "whoever builds has every right in the folder": "administrator-role",
    "a password of a database among a trigger's substitutions": "secret-in-plain-text",
    "a pool of Batch whose formula always says two": "accelerators-kept",
    "a lab with a graphics card per student that nothing shuts down": "accelerators-kept",
    "containers with a V100 each that start again whenever they end": "accelerators-kept",
    "a place for container apps with an A100 machine that is never given back": "accelerators-kept",
    "a host of one's own for GPU machines": "accelerators-kept",
    "an analysis workspace that every address reaches": "database-public",
    "another tenant that owns the subscription by delegation": "administrator-role",
    "a password in an automation account's variable that is not encrypted": "secret-in-plain-text",
    "a run command whose script carries a storage key": "secret-in-plain-text",
    "a chart that serves a model with two GPUs whose replicas nothing scales": "server-never-ends",
    "a Kubeflow notebook with a GPU that nobody culls": "server-never-ends",
    "a job of Volcano with eight workers and no end": "job-without-maximum-time",
    "a clock that starts a GPU job every five minutes beside the last one": "job-without-maximum-time",
    "a board of Ray's jobs on the internet": "model-on-the-internet",
    "a notebook without a token behind a public balancer": "model-on-the-internet",
    "a role that runs commands on every node": "cluster-admin",
    "a role that makes tokens of any account": "cluster-admin",
    "a key of the cloud in a config map": "secret-in-plain-text",
    "nodes of Karpenter that answer any pod's question for their rights": "karpenter-metadata",
}


@pytest.mark.parametrize(("name", "rows"), strangers.BAD, ids=[name for name, _ in strangers.BAD])
def test_a_bad_program_of_a_stranger_is_stopped(name: str, rows: list[Row]) -> None:
    assert refused(rows, "dev"), name


@pytest.mark.parametrize("name", [name for _, name, _ in more_strangers.BAD])
def test_more_bad_programs_are_stopped_by_the_rule_that_they_break(name: str) -> None:
    (rows,) = (rows for _, each, rows in more_strangers.BAD if each == name)
    rules = {rule for rule, _, _ in refused(rows, "dev")}
    if name in NOT_STOPPED:
        assert rules == set(), f"{name} is stopped now: take it off the list"
    else:
        assert STOPPED_BY[name] in rules


def test_what_is_not_stopped_is_listed() -> None:
    assert {*NOT_STOPPED, *STOPPED_BY} == {name for _, name, _ in more_strangers.BAD}
    assert len(more_strangers.BAD) == 40
    assert len(more_strangers.GOOD) == 15
    assert len(NOT_STOPPED) <= 3


@pytest.mark.parametrize(
    "program", [pytest.param(each, id=each.name) for _, each in (*strangers.GOOD, *more_strangers.GOOD)]
)
def test_a_good_program_of_a_stranger_is_let_through(program: Program) -> None:
    assert [each for each in judged(program, "standard") if each.level == "mandatory"] == []
    if program.purpose not in ACCELERATED:
        assert judged(program, "accelerators") == ()


def test_they_are_made_of_what_the_sdks_have() -> None:
    rows = [row for _, program in strangers.BAD for row in program]
    rows += [row for _, _, program in more_strangers.BAD for row in program]
    rows += [row for _, program in (*strangers.GOOD, *more_strangers.GOOD) for row in program.rows]
    clouds = [row for row in rows if not row["type"].startswith("kubernetes:")]
    assert {(row["type"], key) for row in clouds for key in {*row["inputs"]} - inputs_of(row["type"])} == set()


@pytest.mark.parametrize(
    ("conditions", "stopped"),
    [
        ([{"action": "EXIT", "onStatusReason": "Host EC2*"}], True),
        ([{"action": "exit"}], True),
        ([{"action": "RETRY", "onStatusReason": "Host EC2*"}, {"action": "EXIT", "onReason": "*"}], False),
        ([{"action": "EXIT", "onExitCode": "1"}], False),
    ],
)
def test_spot_jobs_of_batch_are_retried_after_their_machine_is_lost(
    conditions: list[dict[str, str]], stopped: bool
) -> None:
    (program,) = (each for _, each in strangers.GOOD if "Batch" in each.name)
    rows = [
        {**row, "inputs": {**row["inputs"], "retryStrategy": {"attempts": 3, "evaluateOnExits": conditions}}}
        if row["type"] == "aws:batch/jobDefinition:JobDefinition"
        else row
        for row in program.rows
    ]
    rules = [each.rule for each in judged(replace(program, rows=rows), "standard") if each.level == "mandatory"]
    assert rules == (["spot-without-checkpoints"] if stopped else [])
