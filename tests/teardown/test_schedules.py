"""What runs teardown once an hour: by digest alone, never in a cluster that it ends, writing nowhere but where it
may."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from google.auth import identity_pool

from sizewell.sizing.errors import ConfigError, UsageError
from sizewell.teardown import exports, schedules, settings
from sizewell.teardown.act import destroy
from sizewell.teardown.config import journal_of
from sizewell.teardown.journal import Journal, connect
from tests.teardown import world
from tests.teardown.test_run import stack
from tests.teardown.world import ShelfBackend

CI = Path(__file__).parents[2] / "ci/teardown"
NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
DIGEST = f"sha256:{'ab' * 32}"
IMAGE = f"ghcr.io/petsnap/teardown@{DIGEST}"
GIVEN = {"cluster": "tools", "namespace": "sizewell-teardown", "account": "teardown", "journal": "s3://j/records"}


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
    git = '#!/bin/sh\nmkdir -p project; echo "$GIT_CONFIG_VALUE_0 $@" >> git.log\n'
    for name, text in (("curl", curl), ("git", git), ("docker", '#!/bin/sh\nprintf "%s\\n" "$@"\n')):
        (bin_ / name).write_text(text)
        (bin_ / name).chmod(0o755)
    (job,) = yaml.safe_load(schedules.workflow(IMAGE, ("aws", "gcp", "azure")))["jobs"].values()
    (step,) = job["steps"]
    settings = {"PATH": f"{bin_}:{os.environ['PATH']}", "GOOGLE_PROVIDER": PROVIDER, "IMAGE": IMAGE}
    settings |= {
        "TOKEN": "ours",
        "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_REPOSITORY": "petsnap/platform",
    }
    settings |= {"GITHUB_SHA": "ab" * 20}
    settings |= {"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t", "ACTIONS_ID_TOKEN_REQUEST_URL": "https://github.example"}
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], env=settings, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    words = done.stdout.split()
    assert words[-4:] == [IMAGE, "teardown", "run", "--yes"]
    asked = (tmp_path / "git.log").read_text().splitlines()
    assert f"fetch --quiet --depth 1 https://github.example/petsnap/platform {'ab' * 20}" in asked[1]
    assert base64.b64decode(asked[1].split()[2]) == b"x-access-token:ours"
    assert all("ours" not in line and asked[1].split()[2] not in line for line in (*asked[:1], *asked[2:]))
    assert f"{tmp_path}/project:/project:ro" in words
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


def test_it_has_no_settings_of_its_own():
    assert "COPY stacks" not in (CI / "Dockerfile").read_text()


def started(tmp_path: Path, sizewell: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """The image's script with a stand-in for `sizewell`; its two folders are in one of the test's."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "sizewell").write_text(f"#!/bin/sh\n{sizewell}\n")
    (bin_ / "sizewell").chmod(0o755)
    folders = re.compile("/tmp|(?<!/tmp)/project")  # noqa: S108  (of the container)
    script = folders.sub(lambda folder: f"{tmp_path}/image{folder[0]}", (CI / "run.sh").read_text())
    given = {"PATH": f"{bin_}:{os.environ['PATH']}", **settings}
    command = ["sh", "-c", script, "teardown", "teardown", "run", "--yes"]
    return subprocess.run(command, env=given, capture_output=True, text=True, check=False)


def test_it_starts_with_nothing_to_write_to_but_its_own_folders(tmp_path):
    says = 'if [ "$2" = fetch ]; then mkdir -p "$3"; exit; fi; echo "$@"; cat "$AWS_CONFIG_FILE"; readlink "$PULUMI_HOME/plugins"'
    config = str(tmp_path / "image/tmp/aws/config")
    done = started(tmp_path, says, AWS_CONFIG_FILE=config, AWS_PROFILES="[profile teardown-deletes-dev]\n")
    assert done.stdout.splitlines() == ["teardown run --yes", "[profile teardown-deletes-dev]", "/opt/plugins/plugins"]


SETTINGS = (
    "schema: sizewell.teardown/1\njournal: {journal}\nprotected:\n  dev-aws: {{until: 2099-12-31, reason: {why}}}\n"
)


def published(tmp_path: Path, why: str = "audit") -> settings.Version:
    """A project, published to a journal in the folder."""
    root = tmp_path / "checkout"
    (root / "stacks/config").mkdir(parents=True, exist_ok=True)
    (root / "Pulumi.yaml").write_text("name: petsnap\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/config\n")
    (root / "stacks/config/teardown.yaml").write_text(SETTINGS.format(journal=f"file://{tmp_path}/journal", why=why))
    (root / "stacks/config/Pulumi.dev-aws.yaml").write_text("config: {sizewell:accounts: ['123456789012']}\n")
    version, _ = settings.publish(journal(tmp_path), settings.files_of(root), NOW, "ana")
    return version


def journal(tmp_path: Path) -> Journal:
    return Journal(connect(f"file://{tmp_path}/journal"))


REAL = 'if [ "$2" = fetch ]; then exec "$SIZEWELL" "$@"; fi; echo "$@"; cat stacks/config/teardown.yaml'


def test_each_run_reads_what_was_published_last(tmp_path):
    """The script of the image, and the command itself: a protection counts without another image."""
    published(tmp_path)
    published(tmp_path, "an incident")
    real = str(Path(sys.executable).parent / "sizewell")
    done = started(tmp_path, REAL, SIZEWELL=real, SIZEWELL_JOURNAL=f"file://{tmp_path}/journal")
    assert done.stdout.splitlines()[0] == "teardown run --yes"
    assert "reason: an incident" in done.stdout
    assert "settings 2, published on 2026-11-26 12:00 UTC by ana, 3 files" in done.stderr


def test_a_checkout_that_is_mounted_is_read_instead(tmp_path):
    published(tmp_path)
    (tmp_path / "image").mkdir()
    (tmp_path / "image/project").symlink_to(tmp_path / "checkout")
    done = started(tmp_path, REAL)
    assert "reason: audit" in done.stdout


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("stacks/config/teardown.yaml", "schema: sizewell.teardown/1\n", "journal"),
        ("stacks/config/teardown.yaml", "schema: sizewell.teardown/1\njournal: file:///j\nmodes: act\n", "modes"),
        ("stacks/config/teardown.yaml", None, "has no stacks/config/teardown.yaml"),
        ("Pulumi.yaml", None, "has no Pulumi.yaml"),
        ("../outside", "x", "names '../outside'"),
        ("stacks/config/../../outside", "x", "names 'stacks/config/../../outside'"),
    ],
)
def test_settings_that_are_broken_stop_the_run_and_no_older_ones_are_taken(tmp_path, file, text, says):
    files = dict(published(tmp_path).files)
    files[file] = text
    document = {"schema": "sizewell.teardown-settings/1", "at": NOW.isoformat(), "by": "ana"}
    files = {name: each for name, each in files.items() if each is not None}
    journal(tmp_path).put_numbered("settings", 2, json.dumps({**document, "files": files}).encode())
    real = str(Path(sys.executable).parent / "sizewell")
    done = started(tmp_path, REAL, SIZEWELL=real, SIZEWELL_JOURNAL=f"file://{tmp_path}/journal")
    assert done.returncode == 64
    assert done.stdout == ""
    assert says in done.stderr
    assert not (tmp_path / "image/tmp/outside").exists()


def test_nothing_published_stops_the_run(tmp_path):
    real = str(Path(sys.executable).parent / "sizewell")
    done = started(tmp_path, REAL, SIZEWELL=real, SIZEWELL_JOURNAL=f"file://{tmp_path}/journal")
    assert (done.returncode, done.stdout) == (64, "")
    assert "has no settings of teardown" in done.stderr


def test_settings_of_another_journal_are_refused(tmp_path):
    version = published(tmp_path)
    other = Journal(connect(f"file://{tmp_path}/other"))
    settings.publish(other, version.files, NOW, "ana")
    with pytest.raises(ConfigError, match="these settings were published to"):
        settings.fetch(other, tmp_path / "project")


def test_what_did_not_change_is_not_published_again_and_a_removed_stack_goes(tmp_path):
    assert published(tmp_path).number == published(tmp_path).number == 1
    settings.fetch(journal(tmp_path), tmp_path / "project")
    (tmp_path / "checkout/stacks/config/Pulumi.dev-aws.yaml").unlink()
    assert published(tmp_path, "less").number == 2
    (tmp_path / "checkout/stacks/config/Pulumi.dev-aws.yaml").unlink()
    version, new = settings.publish(journal(tmp_path), settings.files_of(tmp_path / "checkout"), NOW, "ana")
    assert (version.number, new) == (3, True)
    settings.fetch(journal(tmp_path), tmp_path / "project")
    assert sorted(path.name for path in (tmp_path / "project/stacks/config").iterdir()) == ["teardown.yaml"]
    with pytest.raises(UsageError, match="has something else in it"):
        settings.fetch(journal(tmp_path), tmp_path / "checkout")


def test_a_run_whose_settings_were_replaced_does_nothing_more(evening, tmp_path):
    published(tmp_path)
    settings.fetch(journal(tmp_path), tmp_path / "project")
    stack(evening)
    evening.told()

    def outdated() -> str:
        return settings.outdated(tmp_path / "project", journal(tmp_path))

    assert outdated() == ""
    published(tmp_path, "an incident")
    (result,) = evening.run(outdated=outdated)
    assert result.outcome == "held back"
    assert "settings 2 were published since this run began with 1" in result.detail
    assert settings.outdated(tmp_path / "checkout", journal(tmp_path)) == ""  # of a checkout nobody knows


def test_a_pause_is_possible_while_the_settings_are_wrong(tmp_path):
    published(tmp_path)
    path = tmp_path / "checkout/stacks/config/teardown.yaml"
    path.write_text(path.read_text() + "modes: act\n")
    assert journal_of(tmp_path / "checkout") == f"file://{tmp_path}/journal"
    with pytest.raises(ConfigError):
        settings.files_of(tmp_path / "checkout")
