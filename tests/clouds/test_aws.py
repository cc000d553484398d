"""The AWS client against moto, and against botocore's stubber for what moto never answers."""

from __future__ import annotations

import io
from datetime import UTC, timedelta

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ConnectTimeoutError
from botocore.utils import parse_timestamp
from moto import mock_aws

from sizewell.clouds.aws import Aws, _moment, translated
from sizewell.clouds.calls import CloudError, Deadline, Timeouts

REGION = "us-east-1"


@pytest.fixture(autouse=True)
def _credentials(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@pytest.fixture
def asking():
    with mock_aws():
        yield Aws(Deadline(30), timeouts=Timeouts(attempts=1))


def test_a_call_and_all_pages(asking):
    assert asking.call("sts", REGION, "get_caller_identity")["Account"] == "123456789012"
    iam = boto3.client("iam")
    for number in range(120):
        iam.create_user(UserName=f"user-{number}")
    assert len(list(asking.pages("iam", REGION, "list_users", "Users"))) == 120  # a page has at most 100


@pytest.mark.parametrize(
    ("service", "operation", "parameters"),
    [
        ("ec2", "run_instances", {"ImageId": "ami-1", "MinCount": 1, "MaxCount": 1}),
        ("ec2", "create_vpc", {"CidrBlock": "10.0.0.0/16"}),
        ("s3", "put_object", {"Bucket": "b", "Key": "k"}),
        ("ec2", "purchase_capacity_block", {"CapacityBlockOfferingId": "x", "InstancePlatform": "Linux/UNIX"}),
    ],
)
def test_what_changes_something_is_never_sent(asking, service, operation, parameters):
    with pytest.raises(AssertionError, match="is not a read-only call"):
        asking.call(service, REGION, operation, **parameters)


def test_errors_have_their_reason(asking):
    with pytest.raises(CloudError, match=r"InvalidKeyPair\.NotFound") as error:
        asking.call("ec2", REGION, "describe_key_pairs", KeyNames=["none"])
    assert error.value.reason == "missing"
    with pytest.raises(CloudError, match="Unknown parameter") as error:
        asking.call("ec2", REGION, "describe_key_pairs", Nonsense=1)
    assert error.value.reason == "refused"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("UnauthorizedOperation", "denied"),
        ("AccessDeniedException", "denied"),
        ("ExpiredToken", "login"),
        ("RequestLimitExceeded", "unanswered"),
        ("InternalError", "unanswered"),
        ("OptInRequired", "refused"),
        ("NoSuchEntity", "missing"),
    ],
)
def test_codes_of_the_api_become_reasons(code, reason):
    from botocore.stub import Stubber

    asking = Aws(Deadline(30), timeouts=Timeouts(attempts=1))
    client = asking.client("ec2", REGION)
    with Stubber(client) as stub:
        stub.add_client_error("describe_regions", service_error_code=code)
        with pytest.raises(CloudError) as error:
            asking.call("ec2", REGION, "describe_regions")
    assert (error.value.reason, error.value.code) == (reason, code)


def test_without_an_answer_the_deadline_ends_it(monkeypatch):
    late = Aws(Deadline(0.0), timeouts=Timeouts(attempts=1))
    with pytest.raises(CloudError, match="not called"):
        late.call("sts", REGION, "get_caller_identity")
    asking = Aws(Deadline(30), timeouts=Timeouts(attempts=1, connect_s=0.2))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(CloudError) as error:
        asking.call("sts", REGION, "get_caller_identity")
    assert error.value.reason == "unanswered"
    assert not isinstance(error.value.__cause__, ConnectTimeoutError)  # refused at once, not waited for


def test_no_login_says_how_to_log_in(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(CloudError, match="aws sso login") as error:
        Aws(Deadline(30)).call("sts", REGION, "get_caller_identity")
    assert error.value.reason == "login"
    monkeypatch.setenv("AWS_PROFILE", "none")
    with pytest.raises(CloudError, match="none"):
        Aws(Deadline(30))


def test_a_page_in_place_of_an_answer_is_no_answer(asking, monkeypatch):
    """A proxy's page of an error, which botocore's parsers raise an error of their own about."""

    def page(request, **_):
        return AWSResponse(request.url, 500, {}, BytesIO(b"<!doctype html><title>Bad gateway</title>"))

    class BytesIO(io.BytesIO):
        def stream(self, **_):
            yield self.read()

    client = asking.session.client("autoscaling", region_name=REGION)
    client.meta.events.register_first("before-send.autoscaling", page)
    with pytest.raises(CloudError, match="its answer cannot be read") as error:
        translated("autoscaling", client.describe_auto_scaling_groups)
    assert error.value.reason == "unanswered"


def test_times_are_read_as_botocore_reads_them(asking):
    """CloudWatch sends numbers, most others text; our own reading of a number is the fast one, not another one."""
    for sent in (1_764_201_600.5, 0, "2026-11-26T23:00:00Z", "Thu, 26 Nov 2026 23:00:00 GMT"):
        assert _moment(sent) == parse_timestamp(sent)
    boto3.client("iam").create_user(UserName="u")
    (user,) = asking.pages("iam", REGION, "list_users", "Users")
    assert user["CreateDate"].utcoffset() == timedelta(0)
    boto3.client("cloudwatch", REGION).put_metric_alarm(
        AlarmName="a", EvaluationPeriods=1, ComparisonOperator="LessThanThreshold", MetricName="m", Namespace="n"
    )
    (alarm,) = asking.pages("cloudwatch", REGION, "describe_alarms", "MetricAlarms")
    assert alarm["StateUpdatedTimestamp"].tzinfo is UTC
