"""Neither identity of scheduled teardowns deletes checkpoints, nor stacks of another environment or project."""

import json

import pytest
from aws_policies import Call, Resource, denied
from aws_reference import kinds
from teardown_calls import deletions

from sizewell.components.aws.limits import teardown_rights
from sizewell.policy.rules.identities import _WITHOUT_RESOURCES

pytestmark = pytest.mark.scan

PLACE = {"region": "us-east-1", "state": "s3://states", "secrets_key": ""}
DELETES = json.loads(teardown_rights.deletes_policy(project="sizewell", environment="dev", **PLACE))
READS = json.loads(
    teardown_rights.reads_policy(
        project="sizewell", journal="s3://records", roles=["arn:aws:iam::123456789012:role/d"], **PLACE
    )
)
EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
STORE = "arn:aws:s3:::sizewell-dev-aws-train-1a2b3c4d"
KEY = Resource(
    arn="arn:aws:kms:us-east-1:123456789012:key/k",
    facts={
        "aws:ResourceTag/sizewell-project": "sizewell",
        "aws:ResourceTag/sizewell-environment": "dev",
        "aws:ResourceTag/sizewell-stack": "checkpoints-dev-aws",
    },
)


@pytest.mark.parametrize("policy", [DELETES, READS], ids=["deletes", "reads"])
@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("s3:DeleteObject", Resource(arn=f"{STORE}/run/manifests/1.json")),
        ("s3:DeleteObjectVersion", Resource(arn=f"{STORE}/run/manifests/1.json")),
        ("s3:DeleteBucket", Resource(arn=STORE)),
        ("s3:PutLifecycleConfiguration", Resource(arn=STORE)),
        ("s3:PutBucketVersioning", Resource(arn=STORE)),
        ("s3:BypassGovernanceRetention", Resource(arn=f"{STORE}/run/parts/1")),
        ("kms:ScheduleKeyDeletion", KEY),
        ("kms:DisableKey", KEY),
        ("fsx:DeleteBackup", Resource(arn="arn:aws:fsx:us-east-1:123456789012:backup/backup-1")),
        ("backup:DeleteBackupVault", Resource(arn="arn:aws:backup:us-east-1:123456789012:backup-vault:1")),
        ("ec2:DeleteSnapshot", Resource(arn="arn:aws:ec2:us-east-1::snapshot/snap-1")),
    ],
)
def test_checkpoints_stay_whatever_else_is_attached(policy, action, resource):
    call = Call(action=action, resources=(resource,))
    assert denied([policy], call)
    assert denied([policy, EVERYTHING], call)
    assert not denied([EVERYTHING], call)


def test_it_deletes_in_its_own_environment_and_project_alone(capsys):
    own, other, foreign = deletions("dev", "sizewell"), deletions("prod", "sizewell"), deletions("dev", "other")
    assert not [str(call) for call in own if denied([DELETES], call)]
    changing = [call for call in own if not call.action.partition(":")[2].startswith(("Describe", "Get", "List"))]
    told_apart = {
        call.action
        for call in changing
        if all(denied([DELETES], each) for each in (*other, *foreign) if each.action == call.action)
    }
    by_name = {call.action for call in changing} - told_apart
    with capsys.disabled():
        print(f"\nDeletions: {len(own)} calls; actions told apart by tags {len(told_apart)}, by name {sorted(by_name)}")
    assert by_name == {
        *("budgets:ModifyBudget", "ce:UpdateCostAllocationTagsStatus", "cloudformation:DeleteResource"),
        *("logs:DeleteLogDelivery", "scheduler:DeleteSchedule", "sns:Unsubscribe", "fsx:TagResource"),
    }


@pytest.mark.parametrize("journal", ["s3://records", "s3://records/teams/a/"])
def test_a_run_writes_its_journal_and_not_what_it_goes_by(journal):
    """Also with everything allowed beside it; without the one statement it might."""
    policy = json.loads(
        teardown_rights.reads_policy(project="sizewell", journal=journal, roles=["arn:aws:iam::1:role/d"], **PLACE)
    )
    without = {**policy, "Statement": [each for each in policy["Statement"] if each.get("Sid") != "NeverSettings"]}
    below = f"arn:aws:s3:::{journal.removeprefix('s3://').rstrip('/')}"
    for action in ("s3:PutObject", "s3:PutObjectAcl", "s3:PutObjectTagging"):
        call = Call(action=action, resources=(Resource(arn=f"{below}/settings/000000000007.json"),))
        assert denied([policy, EVERYTHING], call)
        assert not denied([without, EVERYTHING], call)
    for name in ("journal/000000000007.json", "locks/dev-aws/000000000001.json", "kept/usage/x.json"):
        assert not denied([policy], Call(action="s3:PutObject", resources=(Resource(arn=f"{below}/{name}"),)))
    read = Call(action="s3:GetObject", resources=(Resource(arn=f"{below}/settings/000000000007.json"),))
    assert not denied([policy], read)


def test_the_reading_identity_deletes_nothing():
    assert not [
        str(call) for call in deletions("dev", "sizewell") if not denied([READS], call) and "Delete" in call.action
    ]


@pytest.mark.parametrize("action", sorted(_WITHOUT_RESOURCES))
def test_an_action_that_may_be_granted_on_everything_has_no_resource_to_name(action):
    assert [kind for kind in kinds(action) if kind.name] == []
