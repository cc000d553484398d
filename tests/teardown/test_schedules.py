"""What runs teardown once an hour: by digest alone, never in a cluster that it ends, writing nowhere but where it
may."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from google.auth import identity_pool

from sizewell.sizing.errors import UsageError
from sizewell.teardown import exports, schedules
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
    for render in (lambda given: schedules.workflow(given, ("aws",)), lambda given: schedules.cron_job(given, **GIVEN)):
        with pytest.raises(UsageError, match="has no digest"):
            render(image)


def test_a_workflow_runs_the_image_by_digest_and_one_at_a_time():
    document = yaml.safe_load(schedules.workflow(IMAGE, ("aws",)).replace("'on'", "on_"))
    assert document["permissions"] == {}
    assert document["concurrency"] == {"group": "teardown", "cancel-in-progress": False}
    (step,) = document["jobs"]["teardown"]["steps"]
    assert step["env"]["IMAGE"] == IMAGE
    assert "teardown run --yes" in step["run"]


AUDIENCES = re.compile(r'fetch (\w+) "([^"]+)"')
PROVIDER = "projects/1/locations/global/workloadIdentityPools/github/providers/github"


def minted(document: dict, repository: str) -> dict[str, dict[str, str]]:
    """The claims of the tokens that GitHub mints for the steps of a workflow, by the cloud that they are sent to
    (docs.github.com/en/actions/reference/security/oidc: a job that references an environment).
    """
    (job,) = document["jobs"].values()
    asked = dict(AUDIENCES.findall(job["steps"][0]["run"]))
    return {
        cloud: {
            "iss": "https://token.actions.githubusercontent.com",
            "sub": f"repo:{repository}:environment:{job['environment']}",
            "aud": audience.replace("$GOOGLE_PROVIDER", PROVIDER),
        }
        for cloud, audience in asked.items()
    }


def accepts(trust: dict, cloud: str, claims: dict[str, str]) -> bool:
    """Whether a cloud would exchange a token: as it compares issuer, subject and audience."""
    if cloud == "aws":
        (statement,) = trust["Statement"]
        host = statement["Principal"]["Federated"].partition("oidc-provider/")[2]
        wanted = statement["Condition"]["StringEquals"]
        return claims["iss"] == f"https://{host}" and all(
            claims[key.rpartition(":")[2]] == wanted[key] for key in wanted
        )
    if cloud == "gcp":
        allowed = trust["provider"]["oidc"].get("allowedAudiences") or [f"https://iam.googleapis.com/{PROVIDER}"]
        subject = re.fullmatch(r"assertion\.sub == '([^']+)'", trust["provider"]["attributeCondition"])[1]
        bound = trust["binding"]["members"][0].partition("/subject/")[2]
        issuer = trust["provider"]["oidc"]["issuerUri"]
        return claims["iss"] == issuer and claims["aud"] in allowed and claims["sub"] == subject == bound
    stated = trust["federated_credential"]
    return (claims["iss"], claims["sub"]) == (stated["issuer"], stated["subject"]) and claims["aud"] in stated[
        "audiences"
    ]


def test_the_clouds_trust_the_tokens_of_the_workflow_and_no_others():
    clouds = ("aws", "gcp", "azure")
    document = yaml.safe_load(schedules.workflow(IMAGE, clouds))
    trusted = yaml.safe_load(schedules.trust("petsnap/platform", clouds))
    tokens = minted(document, "petsnap/platform")
    assert tokens.keys() == trusted.keys() == set(clouds)
    for cloud, claims in tokens.items():
        assert accepts(trusted[cloud], cloud, claims), cloud
        for other in (
            {**claims, "sub": "repo:petsnap/platform:ref:refs/heads/main"},
            {**claims, "sub": "repo:petsnap/other:environment:teardown"},
            {**claims, "aud": "https://github.com/petsnap"},
            {**claims, "iss": "https://token.actions.elsewhere.example"},
        ):
            assert not accepts(trusted[cloud], cloud, other), (cloud, other)
    with pytest.raises(UsageError, match="is not a GitHub repository"):
        schedules.trust("petsnap", clouds)


def test_the_steps_of_the_workflow_fetch_tokens_and_start_the_image(tmp_path):
    """Run by a shell, with a stand-in for GitHub's token service and one for docker, and read as each SDK does."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    curl = (
        '#!/bin/sh\nfor each; do case "$each" in audience=*) printf \'{"value": "token for %s"}\' '
        '"${each#*=}";; esac; done\n'
    )
    for name, text in (("curl", curl), ("docker", '#!/bin/sh\nprintf "%s\\n" "$@"\n')):
        (bin_ / name).write_text(text)
        (bin_ / name).chmod(0o755)
    (job,) = yaml.safe_load(schedules.workflow(IMAGE, ("aws", "gcp", "azure")))["jobs"].values()
    (step,) = job["steps"]
    settings = {"PATH": f"{bin_}:{os.environ['PATH']}", "GOOGLE_PROVIDER": PROVIDER, "IMAGE": IMAGE}
    settings |= {"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t", "ACTIONS_ID_TOKEN_REQUEST_URL": "https://github.example"}
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], env=settings, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    words = done.stdout.split()
    assert words[-4:] == [IMAGE, "teardown", "run", "--yes"]
    assert (tmp_path / "token/azure").read_text() == "token for api://AzureADTokenExchange\n"
    told = json.loads((tmp_path / "token/gcp.json").read_text())
    credentials = identity_pool.Credentials.from_info(
        told
    )  # as google-auth reads what GOOGLE_APPLICATION_CREDENTIALS names
    assert credentials._audience == f"//iam.googleapis.com/{PROVIDER}"
    given = {word.partition("=")[0] for word in words}
    assert {"AZURE_FEDERATED_TOKEN_FILE", "AZURE_TENANT_ID", "AZURE_CLIENT_ID", "ARM_USE_OIDC"} <= given


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
    clusters = exports.clusters_by_stack(ShelfBackend(root=evening.folder, shelf=evening.shelf))
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
    assert (result.outcome, result.detail[:37]) == ("held back", "this is running in its cluster tools:")
    assert evening.outcomes(cluster="elsewhere") == [("dev-aws", "empty", "done")]


def test_what_a_destroy_rests_on_is_kept_where_a_container_leaves_it(evening, tmp_path):
    """A task's own disk goes with it: the raw export, and the timeline, stand beside the journal before anything
    goes."""
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
