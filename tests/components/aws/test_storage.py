"""Shared storage: what it makes, what it refuses, and the laws of its size."""

import pytest
from aws_recording import OWNED, PROD, check_right, component, golden, only, record, refusals
from hypothesis import given
from hypothesis import strategies as st

from sizewell.components.aws.storage import args as storage_args
from sizewell.components.aws.storage.shared import SharedStorage
from sizewell.sizing.units import GIB

TB = 10**12
FILES = {
    "region": "us-east-1",
    "zone": "us-east-1a",
    "vpc_id": "vpc-1",
    "vpc_cidr": "10.40.0.0/16",
    "subnet_id": "subnet-1",
    "bytes_needed": 12 * TB,
}
DEV = {**OWNED, **FILES, "data_location": "s3://petsnap/images", "client_groups": {"pretrain": "sg-nodes"}}
PRODUCTION = {
    **PROD,
    **FILES,
    "kms_key_arn": "arn:aws:kms:us-east-1:123456789012:key/1",
    "throughput_mb_per_s_per_tib": 500,
}
UNCACHED = {key: value for key, value in DEV.items() if key != "data_location"}
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"


@pytest.mark.parametrize(("form", "args"), [("dev", DEV), ("prod", PRODUCTION)])
def test_makes_what_is_written_down(form, args):
    resources = record(lambda: SharedStorage("data", args), stack=f"{form}-aws")
    check_right(resources)
    golden(f"storage-{form}", resources)


def test_a_file_system_without_s3_keeps_a_final_backup_and_a_cache_does_not():
    dev = only(record(lambda: SharedStorage("data", UNCACHED), "dev-aws"), LUSTRE).inputs
    assert (dev["skipFinalBackup"], dev["automaticBackupRetentionDays"]) == (False, 0)
    prod = only(record(lambda: SharedStorage("data", PRODUCTION), "prod-aws"), LUSTRE).inputs
    assert (prod["skipFinalBackup"], prod["automaticBackupRetentionDays"]) == (False, 7)
    cached = {**PRODUCTION, "data_location": "s3://petsnap/images"}
    cache = only(record(lambda: SharedStorage("data", cached), "prod-aws"), LUSTRE).inputs
    assert (cache["skipFinalBackup"], cache["automaticBackupRetentionDays"]) == (True, 0)


def test_only_lustre_s_ports_are_open_and_only_in_the_vpc():
    resources = record(lambda: SharedStorage("data", DEV))
    rules = [one.inputs for one in resources if one.type == "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"]
    assert {(one["fromPort"], one["toPort"], one["cidrIpv4"]) for one in rules} == {
        (988, 988, "10.40.0.0/16"),
        (1018, 1023, "10.40.0.0/16"),
    }


def test_registers_what_bills():
    said = component(record(lambda: SharedStorage("data", DEV)), "sizewell-aws:index:SharedStorage").inputs["sizewell"]
    size = 14400 * 2**30
    assert said["bytesExpected"] == {"floor": size, "expected": size, "ceiling": size}


@pytest.mark.parametrize(
    ("change", "path", "sentence"),
    [
        ({"zone": "us-west-2a"}, "zone", "must be one zone of us-east-1"),
        ({"zone": ""}, "zone", "got ''"),
        ({"bytes_needed": 0}, "bytes_needed", "got 0"),
        ({"bytes_needed": 1.2e13}, "bytes_needed", "must be a whole number"),
        ({"throughput_mb_per_s_per_tib": 200}, "throughput_mb_per_s_per_tib", "must be one of 125, 250, 500, 1000"),
        ({"data_location": "gs://bucket"}, "data_location", "must be an s3:// location, got 'gs://bucket'"),
        ({"region": "moon-1"}, "region", "must be an AWS region"),
        ({"owner": ""}, "owner", "is empty"),
    ],
)
def test_refuses(change, path, sentence):
    found = refusals(SharedStorage, {**DEV, **change})
    assert any(at == path and sentence in text for at, text in found), found


def test_nothing_is_written_back_to_nowhere():
    found = refusals(SharedStorage, {**PRODUCTION, "write_back": True})
    assert any(at == "write_back" and "no location to export to" in text for at, text in found)


@given(st.integers(1, 10**15), st.integers(0, 10**14))
def test_the_size_is_one_that_is_sold_fits_and_grows_with_the_data(needed, more):
    gib = storage_args.capacity_gib(needed)
    assert gib == 1200 or gib % 2400 == 0
    assert gib * GIB * 9 // 10 >= needed - GIB
    assert storage_args.capacity_gib(needed + more) >= gib
    smaller = {1200: 0, 2400: 1200}.get(gib, gib - 2400)
    assert smaller * GIB * 9 // 10 < needed
