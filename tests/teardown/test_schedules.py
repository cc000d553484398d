"""What runs teardown once an hour: by digest alone, never in a cluster that it ends, writing nowhere but where it may."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from sizewell.sizing.errors import UsageError
from sizewell.teardown import gather, schedules
from sizewell.teardown.act import destroy
from tests.teardown import world
from tests.teardown.test_run import stack
from tests.teardown.world import ShelfBackend

CI = Path(__file__).parents[2] / "ci/teardown"
DIGEST = f"sha256:{'ab' * 32}"
IMAGE = f"ghcr.io/petsnap/teardown@{DIGEST}"
GIVEN = {"cluster": "tools", "namespace": "sizewell-teardown", "account": "teardown"}


@pytest.mark.parametrize(
    "image",
    ["ghcr.io/petsnap/teardown", "ghcr.io/petsnap/teardown:1.0", f"x@{DIGEST[:-1]}", "x@sha512:ab", f"x y@{DIGEST}"],
)
def test_without_a_digest_nothing_is_scheduled(image):
    for render in (schedules.workflow, lambda given: schedules.cron_job(given, **GIVEN)):
        with pytest.raises(UsageError, match="names no digest"):
            render(image)


def test_a_workflow_runs_the_image_by_digest_and_one_at_a_time():
    document = yaml.safe_load(schedules.workflow(IMAGE).replace("'on'", "on_"))
    assert document["permissions"] == {}
    assert document["concurrency"] == {"group": "teardown", "cancel-in-progress": False}
    (step,) = document["jobs"]["teardown"]["steps"]
    assert step["env"]["IMAGE"] == IMAGE
    assert "teardown run --yes" in step["run"]


def test_a_cron_job_is_alone_restricted_and_knows_its_cluster():
    *_, job = yaml.safe_load_all(schedules.cron_job(IMAGE, **GIVEN))
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == IMAGE
    assert {"name": "SIZEWELL_CLUSTER", "value": "tools"} in container["env"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == list(schedules.WRITABLE)


CLUSTERS = {
    "aws:eks/cluster:Cluster": {"name": "tools"},
    "gcp:container/cluster:Cluster": {"name": "tools"},
    "azure-native:containerservice:ManagedCluster": {"resourceName": "tools"},
}


@pytest.mark.parametrize("kind", CLUSTERS)
def test_a_cluster_that_it_may_end_is_refused(evening, kind):
    evening.shelf.put("dev-gcp", world.resource("dev-gcp", kind, "cluster", "tools", inputs=CLUSTERS[kind]))
    clusters = gather.clusters_by_stack(ShelfBackend(root=evening.folder, shelf=evening.shelf))
    with pytest.raises(UsageError, match="the cluster of stack dev-gcp"):
        schedules.must_outlive("tools", clusters)
    schedules.must_outlive("other", clusters)


def test_a_run_inside_of_a_cluster_never_ends_it(evening):
    stack(evening)
    states = evening.shelf.states["dev-aws"][1:]
    cluster = world.resource("dev-aws", "aws:eks/cluster:Cluster", "cluster", "tools", inputs={"name": "tools"})
    evening.shelf.put("dev-aws", *states, cluster)
    evening.told()
    (result,) = evening.run(cluster="tools")
    assert (result.outcome, result.detail[:31]) == ("held back", "this runs in its cluster tools:")
    assert evening.outcomes(cluster="elsewhere") == [("dev-aws", "empty", "done")]


def test_what_a_destroy_rests_on_is_kept_where_a_container_leaves_it(evening, tmp_path):
    """A task's own disk goes with it: the raw export, and the timeline, stand beside the journal before anything goes."""
    stack(evening)
    journal, backend = evening.journal, ShelfBackend(root=tmp_path, shelf=evening.shelf)

    def keep(data: bytes) -> None:
        assert evening.shelf.destroyed == []
        journal.keep("exports/dev-aws-1.json", data)

    destroy(backend, "dev-aws", kept=tmp_path / "export.json", environment={}, keep=keep)
    assert journal.store.get("kept/exports/dev-aws-1.json") == (tmp_path / "export.json").read_bytes()
    assert evening.shelf.destroyed != []


# The image ------------------------------------------------------------------------------------------------------------


def test_no_argument_of_the_image_has_a_default():
    text = (CI / "Dockerfile").read_text()
    arguments = re.findall(r"^ARG (.+)$", text, re.MULTILINE)
    assert arguments == ["BASE", "BASE_DIGEST", "ENGINE", "ENGINE_SHA256"]
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${BASE}@${BASE_DIGEST}"] * 2
    assert "--require-hashes" in text


def test_it_starts_with_nothing_to_write_to_but_its_own_folders(tmp_path):
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "sizewell").write_text('#!/bin/sh\necho "$@"; cat "$AWS_CONFIG_FILE"; readlink "$PULUMI_HOME/plugins"\n')
    (bin_ / "sizewell").chmod(0o755)
    script = (CI / "run.sh").read_text().replace("/tmp", str(tmp_path / "tmp"))  # noqa: S108  (of the container)
    settings = {
        "PATH": f"{bin_}:{os.environ['PATH']}",
        "AWS_CONFIG_FILE": str(tmp_path / "tmp" / "aws" / "config"),
        "AWS_PROFILES": "[profile teardown-deletes-dev]\n",
    }
    command = ["sh", "-c", script, "teardown", "teardown", "run", "--yes"]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["teardown run --yes", "[profile teardown-deletes-dev]", "/opt/plugins/plugins"]
