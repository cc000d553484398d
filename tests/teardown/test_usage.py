"""Samples that runs read are kept, and tell the owner of a half idle pool which smaller size would do."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from sizewell.cli import project
from sizewell.cli import teardown as command
from sizewell.cli.commands import Arguments
from sizewell.sizing.choose.observed import read_observed, right_size
from sizewell.sizing.workload.read import read_spec
from sizewell.teardown.records import Series
from sizewell.teardown.usage import added_up, usage_of
from tests.cli.conftest import ROOT
from tests.teardown import world
from tests.teardown.test_run import CATALOG, group, sizes, stack

PARTLY = {0: 11.0, 1: 11.0, 2: 11.0, 3: 50.0}  # one of four works by half: in use, and much too large


def looked(evening):
    reader = evening.reader()
    listed = {each.name: each for each in reader.backend.stacks()}
    return [reader.one(listed, "dev-aws", evening.now)]


def hours_before(evening, hours):
    """What earlier runs kept: the same samples, so many hours ago, an hour apart."""
    ((_, document),) = evening.journal.kept("usage", since=evening.now - timedelta(days=1))
    for hour in range(1, hours + 1):
        earlier = evening.now - timedelta(hours=hour)
        rows = [
            {
                **row,
                "hours": [{**row["hours"][-1], "start": f"{earlier.replace(minute=0, second=0).isoformat()}"}],
            }
            for row in document["pools"]
        ]
        text = json.dumps({**document, "pools": rows})
        evening.journal.keep(f"usage/{earlier:%Y%m%dT%H%M%SZ}.json", text.encode())


def test_a_run_keeps_its_samples_and_one_that_only_tells_does_not(evening):
    stack(evening, values=PARTLY)
    evening.run(yes=False, statuses=looked(evening))
    assert evening.journal.kept("usage", since=evening.now - timedelta(days=1)) == []
    evening.run(statuses=looked(evening))
    (usage,) = added_up(evening.journal.kept("usage", since=evening.now - timedelta(days=1)))
    assert (usage.stack, usage.pool, usage.nodes, usage.instance_type) == ("dev-aws", "train", 1, "g6.12xlarge")
    assert usage.busy == pytest.approx(0.2075)
    assert not usage.half_idle  # an hour or two say nothing of a load


def test_minutes_are_no_measurement(evening, monkeypatch, capsys):
    stack(evening, values=PARTLY)
    evening.run(statuses=looked(evening))
    monkeypatch.setattr(project, "root", lambda: evening.folder)
    monkeypatch.setattr(command, "opened", lambda _: (evening.config, evening.journal, evening.reader))
    assert command._observed.callback(Arguments(stacks=["dev-aws"], at=evening.now, json=False)) == 0
    assert "8 hours are needed" in " ".join(capsys.readouterr().out.split())
    assert not (evening.folder / ".sizewell/observed").exists()


def test_a_machine_that_replaces_another_is_not_added_to_it(evening):
    stack(evening, values=PARTLY)
    (status,) = looked(evening)
    (each,) = status.pools
    (machine,) = {name for name, _ in each.pool.utilization_percent}
    start_s = evening.now.timestamp() // 3600 * 3600
    at_s = start_s + np.arange(60) * 60.0

    def hour(*spans):
        samples = {
            (f"{machine}-{i}", 0): Series(at_s=at_s[span], values=at_s[span] * 0) for i, span in enumerate(spans)
        }
        (one,) = usage_of("s", each.unit, replace(each.pool, utilization_percent=samples)).hours
        return one.machines

    assert hour(slice(0, 30), slice(30, 60)) == 1
    assert hour(slice(0, 20), slice(20, 40), slice(42, 60)) == 1
    assert hour(slice(0, 32), slice(28, 60)) == 1  # the old one drains while the new one starts
    assert hour(slice(0, 60), slice(0, 60)) == 2
    assert hour(slice(0, 60), slice(5, 55), slice(0, 60)) == 3


def test_an_hour_that_two_runs_saw_counts_once_and_other_machines_are_another_pool():
    def kept(start, mean, samples, machine="g6.xlarge"):
        hour = {"start": f"2026-11-20T{start}:00:00+00:00", "mean_percent": mean, "samples": samples, "machines": 1}
        row = {"stack": "s", "pool": "p", "cloud": "aws", "region": "us-east-1", "instance_type": machine}
        return "", {"schema": "sizewell.pool-usage/1", "pools": [{**row, "hours": [hour]}], "empty": []}

    (usage,) = added_up([kept("10", 90.0, 60), kept("10", 10.0, 20), kept("11", 30.0, 60)])
    assert (len(usage.hours), usage.busy) == (2, 0.6)
    (usage,) = added_up([kept("10", 90.0, 60), kept("11", 30.0, 60, machine="g6.12xlarge")])
    assert (usage.instance_type, usage.busy) == ("g6.12xlarge", 0.3)


def test_emptiness_adds_up_over_runs_where_a_cloud_remembers_two_days(evening):
    """Each run saw two days; a run that was left out for longer leaves a gap, and then nobody knows."""
    group("sizewell-dev-aws-train", 0)
    parts = (world.component("dev-aws", "train"), world.group("dev-aws", "train", "sizewell-dev-aws-train"))
    evening.shelf.put("dev-aws", *parts)
    sizes("sizewell-dev-aws-train", evening.now, hours=3)
    assert evening.plan().stacks[0].row.clause == "uncounted"
    for days in (14.1, 12.2, 10.3, 8.4, 6.5, 4.6, 2.7, 0.8):
        if days != 8.4:
            keep_empty(evening, days)
    assert evening.plan().stacks[0].row.clause == "uncounted"
    keep_empty(evening, 8.4)
    assert evening.plan().stacks[0].row.clause == "empty"


def keep_empty(evening, days):
    """What a run kept that ended so many days ago less two: a span of two days without machines."""
    start = evening.now - timedelta(days=days)
    end = min(start + timedelta(days=2), evening.now)
    row = {"stack": "dev-aws", "pool": "train", "start": start.isoformat(), "end": end.isoformat()}
    document = {"schema": "sizewell.pool-usage/1", "pools": [], "empty": [row]}
    evening.journal.keep(f"usage/{end:%Y%m%dT%H%M%SZ}.json", json.dumps(document).encode())


def test_a_half_idle_stack_is_told_its_smaller_size(evening, monkeypatch, capsys):
    stack(evening, values=PARTLY)
    evening.run(statuses=looked(evening))
    assert "whether fewer or smaller machines suffice" not in str(evening.plan())
    hours_before(evening, 9)
    (plan,) = evening.plan().stacks
    (note,) = [note for note in plan.notes if "whether fewer or smaller machines suffice" in note]
    assert "train: busy 2" in note
    assert "sizewell teardown observed dev-aws" in note

    specs = evening.folder / "stacks/specs/dev-aws"
    specs.mkdir(parents=True)
    text = (ROOT / "examples/petsnap-vlm-fp16.yaml").read_text()
    (specs / "train.yaml").write_text(text.replace("name: petsnap-vlm-fp16", "name: train"))
    monkeypatch.setattr(project, "root", lambda: evening.folder)
    monkeypatch.setattr(command, "opened", lambda _: (evening.config, evening.journal, evening.reader))
    assert command._observed.callback(Arguments(stacks=["dev-aws"], at=evening.now, json=False)) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "1 x g6.12xlarge" in told
    file = evening.folder / ".sizewell/observed/dev-aws-train.json"
    measured = read_observed(file, CATALOG)
    sized = right_size(read_spec(specs / "train.yaml", CATALOG), measured, CATALOG, on=evening.now.date())
    assert sized.verdict == "oversized"
    assert sized.saving_usd_per_month > 1000
    shutil.rmtree(evening.folder / ".sizewell")
