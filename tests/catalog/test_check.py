"""The shipped catalog is sound, and every check can fail: each case plants one wrong row and names who must find it."""

from __future__ import annotations

import csv
import shutil

import pytest

from sizewell.sizing.catalog import loading as whole
from sizewell.sizing.catalog.check import CHECKS, check
from sizewell.sizing.errors import CatalogError


def test_the_shipped_catalog_has_no_faults():
    assert [str(fault) for fault in check(whole.load())] == []


def plant(directory, file, *, where=None, add=None, **cells):
    """A copy of the data with one row changed (the first that has the cells `where`) or added (like that row)."""
    shutil.copytree(whole.DATA, directory, dirs_exist_ok=True)
    path = directory / file
    with path.open(newline="", encoding="utf-8") as stream:
        columns, *lines = list(csv.reader(stream))
    index = next(i for i, line in enumerate(lines) if all(line[columns.index(c)] == v for c, v in where.items()))
    row = dict(zip(columns, lines[index], strict=True)) | cells
    if add:
        lines.append(list(row.values()))
    else:
        lines[index] = list(row.values())
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([columns, *lines])
    return directory


P5 = {"instance_type": "p5.48xlarge", "region": "us-east-1", "market": "on-demand"}
P5_SPOT = {"instance_type": "p5.48xlarge", "region": "us-east-1", "zone": "use1-az6", "market": "spot"}
P5EN = {"instance_type": "p5en.48xlarge", "region": "us-east-1"}
V6E = {"instance_type": "ct6e-standard-4t", "region": "us-central1"}
GROQ = {"seller": "groq", "model": "openai/gpt-oss-120b"}
CASES = [
    # name of the check, file, the row that is changed, its new cells, a word of the message
    ("every row is sourced", "offers/aws.csv", P5, {"source": "same"}, "no source"),
    ("every row is sourced", "shapes/aws.csv", {"instance_type": "p5.48xlarge"}, {"source": "../shared/x.csv"}, "path"),
    ("every row is sourced", "accelerators.csv", {"key": "h100-sxm"}, {"source": "estimate"}, "graded high"),
    ("every row is sourced", "offers/aws.csv", P5, {"basis": "estimate: a guess"}, "graded high"),
    ("nothing is stated twice", "offers/aws.csv", P5, {"usd_per_hour": "50", "add": True}, "2 rows"),
    ("nothing is stated twice", "fees.csv", {"key": "nat.hour", "cloud": "aws"}, {"usd": "1", "add": True}, "2 rows"),
    ("nothing is stated twice", "slices.csv", {"topology": "4x4", "generation": "v6e"}, {"add": True}, "2 rows"),
    ("nothing is stated twice", "accelerators.csv", {"key": "l4"}, {"aliases": "L40S"}, "l40s: 2 rows"),
    ("nothing is stated twice", "models.csv", {"key": "resnet-50"}, {"aliases": "bert-large"}, "bert-large: 2 rows"),
    ("machines are sound", "shapes/gcp.csv", {"instance_type": "g2-standard-4"}, {"boot_disk": ""}, "no boot_disk"),
    ("machines are sound", "shapes/gcp.csv", {"instance_type": "g2-standard-4"}, {"traits": "fast"}, "unknown words"),
    ("machines are sound", "shapes/aws.csv", {"instance_type": "p5.48xlarge"}, {"architecture": ""}, "no architecture"),
    ("machines are sound", "shapes/aws.csv", {"instance_type": "p5.48xlarge"}, {"network_cards": "8"}, "8 network"),
    ("every row is sourced", "families.csv", {"trait": "attachable"}, {"source": "same"}, "no source"),
    ("regions and zones are known", "zones.csv", V6E, {"instance_type": "ct9-standard-4t"}, "no such machine"),
    ("regions and zones are known", "zones.csv", V6E, {"zones": "us-east1-b"}, "no zones of it"),
    ("regions and zones are known", "zones.csv", P5EN, {"zones": "use1-az2 | use2-az1"}, "no zones of it"),
    ("regions and zones are known", "zones.csv", P5EN, {"zones": "us-east-1a"}, "no zones of it"),  # of which account?
    ("every row is sourced", "zones.csv", V6E, {"source": "same"}, "no source"),
    ("FLOP/s are dense", "accelerators.csv", {"key": "h100-sxm"}, {"bf16_flop_per_s": "1979e12"}, "dense is 9.89"),
    ("FLOP/s are dense", "accelerators.csv", {"key": "l40s"}, {"fp8_flop_per_s": "1466e12"}, "sparse"),
    ("FLOP/s are dense", "accelerators.csv", {"key": "a10g"}, {"bf16_flop_per_s": "125e12"}, "dense is 7e+13"),
    ("FLOP/s are dense", "accelerators.csv", {"key": "b200"}, {"fp4_flop_per_s": "18000e12"}, "known ratios"),
    ("FLOP/s are dense", "accelerators.csv", {"key": "h200-nvl"}, {"tf32_flop_per_s": "989e12"}, "known ratios"),
    ("FLOP/s are dense", "accelerators.csv", {"key": "t4"}, {"bf16_flop_per_s": "65e12"}, "no bf16"),
    ("FLOP/s are dense", "accelerators.csv", {"key": "t4"}, {"memory_bytes_per_s": "0"}, "not positive"),
    ("memory is what a program gets", "accelerators.csv", {"key": "h200-sxm"}, {"memory_bytes": "188000000000"}, "141"),
    ("memory is what a program gets", "accelerators.csv", {"key": "h100-sxm"}, {"memory_bytes": "80"}, "gigabytes"),
    (
        "memory is what a program gets",
        "accelerators.csv",
        {"key": "l4-share-1-8"},
        {"memory_bytes": "24152899584"},
        "8 x",
    ),
    ("machines are sound", "shapes/aws.csv", {"instance_type": "p5.48xlarge"}, {"accelerator": "h1000"}, "h1000"),
    ("machines are sound", "shapes/aws.csv", {"instance_type": "p5.48xlarge"}, {"accelerators": "0"}, "0 accelerators"),
    ("machines are sound", "shapes/aws.csv", {"instance_type": "g6.48xlarge"}, {"scale_up": "8"}, "at most 1"),
    ("machines are sound", "shapes/aws.csv", {"instance_type": "p5.48xlarge"}, {"fabric": "EFA v2"}, "EFA v2"),
    ("machines are sound", "shapes/aws.csv", {"instance_type": "p5.48xlarge"}, {"rdma_interfaces": "16"}, "it has 32"),
    ("machines are sound", "shapes/aws.csv", {"instance_type": "g6.xlarge"}, {"rdma_interfaces": "1"}, "RDMA"),
    (
        "machines are sound",
        "shapes/gcp.csv",
        {"instance_type": "a3-highgpu-8g"},
        {"fabric_bytes_per_s": "9e12"},
        "faster",
    ),
    ("machines are sound", "shapes/gcp.csv", {"instance_type": "a3-highgpu-8g"}, {"accelerators": "4"}, "name says 8"),
    ("machines are sound", "shapes/aws.csv", {"instance_type": "g6.xlarge"}, {"markets": "on-demand | lease"}, "lease"),
    ("machines are sound", "shapes/azure.csv", {"instance_type": "Standard_NC6s_v3"}, {"markets": "spot"}, "retired"),
    ("offers have machines and markets", "offers/aws.csv", P5, {"instance_type": "p9.48xlarge"}, "no such machine"),
    ("offers have machines and markets", "offers/aws.csv", P5, {"market": "purchase"}, "not sold in market"),
    ("offers have machines and markets", "offers/aws.csv", P5, {"effective_to": "2020-01-01"}, "before it starts"),
    ("offers have machines and markets", "offers/aws.csv", P5, {"instance_type": "p5e.48xlarge"}, "not sold on demand"),
    ("prices are prices", "offers/gcp.csv", {"instance_type": "ct6e-standard-1t"}, {"usd_per_hour": "700.0"}, "700.0"),
    ("prices are prices", "offers/gcp.csv", {"instance_type": "ct6e-standard-4t"}, {"usd_per_hour": "2800"}, "bounds"),
    ("prices are prices", "offers/aws.csv", P5, {"usd_per_hour": "0.0"}, "is not a price"),
    ("prices are prices", "offers/aws.csv", P5, {"usd_per_hour": "-3"}, "is not a price"),
    ("spot and commitments are below on-demand", "offers/aws.csv", P5_SPOT, {"usd_per_hour": "55.04"}, "not below"),
    (
        "spot and commitments are below on-demand",
        "offers/aws.csv",
        {"instance_type": "g6.xlarge", "market": "reserved-3y"},
        {"usd_per_hour": "0.6"},
        "three years cost more",
    ),
    (
        "spot and commitments are below on-demand",
        "offers/aws.csv",
        {"instance_type": "g6.xlarge", "market": "reserved-1y"},
        {"usd_per_hour": "0.9"},
        "above on-demand",
    ),
    (
        "prices are steady",
        "offers/aws.csv",
        P5,
        {"effective_from": "2026-09-01", "usd_per_hour": "5.5", "add": True},
        "before",
    ),
    ("prices are steady", "offers/aws.csv", P5, {"usd_per_hour": "6.88"}, "a part of it"),
    (
        "TPU prices are for the machine",
        "offers/gcp.csv",
        {"instance_type": "ct5lp-hightpu-8t", "region": "us-east5", "market": "on-demand"},
        {"usd_per_hour": "1.2"},
        "is not 8 x",
    ),
    (
        "Google's prices include the host",
        "offers/gcp.csv",
        {"instance_type": "a3-megagpu-8g", "region": "us-central1", "market": "on-demand"},
        {"usd_per_hour": "60"},
        "host is missing",
    ),
    ("TPU slices are valid", "slices.csv", {"generation": "v6e", "topology": "4x4"}, {"chips": "8"}, "8 chips"),
    ("TPU slices are valid", "slices.csv", {"generation": "v6e", "topology": "4x4"}, {"vms": "3"}, "3 machines"),
    ("TPU slices are valid", "slices.csv", {"generation": "v6e", "topology": "4x4"}, {"topology": "4x4x1"}, "2 sides"),
    (
        "TPU slices are valid",
        "slices.csv",
        {"generation": "v6e", "topology": "4x4"},
        {"multi_host": "no"},
        "multi_host",
    ),
    (
        "TPU slices are valid",
        "slices.csv",
        {"generation": "v6e", "topology": "4x4"},
        {"machine_type": "ct6e-standard-8t"},
        "no machine",
    ),
    (
        "offers have machines and markets",
        "withheld.csv",
        {"instance_type": "Standard_ND96isr_H200_v5", "region": "northeurope"},
        {"market": "on-demand", "date": "2026-06-18"},
        "withheld and offered",
    ),
    ("TPU slices are valid", "slices.csv", {"api_type": "v4-32"}, {"api_type": "v4-16"}, "does not name"),
    ("regions and zones are known", "offers/aws.csv", P5, {"region": "us-east-9"}, "us-east-9"),
    ("regions and zones are known", "offers/aws.csv", P5_SPOT, {"zone": "usw2-az1"}, "usw2-az1 is not in us-east-1"),
    ("regions and zones are known", "regions.csv", {"region": "europe-west2"}, {"area": "eu"}, "GB"),
    ("regions and zones are known", "regions.csv", {"region": "us-gov-west-1"}, {"access": "open"}, "access"),
    (
        "Azure's list is checked against the quotas",
        "offers/azure.csv",
        {"instance_type": "Standard_ND96asr_v4"},
        {"instance_type": "Standard_ND96asr_A100_v4"},
        "withheld and offered",
    ),
    (
        "Azure's list is checked against the quotas",
        "offers/azure.csv",
        {"instance_type": "Standard_ND96isr_H100_v5", "market": "on-demand"},
        {"confidence": "high"},
        "does not prove",
    ),
    (
        "fees have tiers from zero",
        "fees.csv",
        {"key": "egress.internet", "cloud": "gcp"},
        {"from_quantity": "5"},
        "from 0",
    ),
    ("fees have tiers from zero", "fees.csv", {"key": "nat.hour", "cloud": "azure"}, {"usd": "0"}, "0 is not a price"),
    ("fees have tiers from zero", "fees.csv", {"key": "nat.hour", "cloud": "azure"}, {"usd": "-1"}, "-1"),
    ("fees have tiers from zero", "fees.csv", {"key": "vertex.training"}, {"usd": "1500"}, "percent"),
    ("fees are steady", "fees.csv", {"key": "ebs.gp3.gb_month", "region": "us-west-2"}, {"usd": "0.008"}, "us-west-2"),
    ("fees are steady", "fees.csv", {"key": "pd.balanced", "region": "us-east4"}, {"usd": "0.44"}, "in us-east4"),
    (
        "SageMaker's premium follows its size rule",
        "sagemaker.csv",
        {"instance_type": "g6.xlarge"},
        {"percent": "15"},
        "40",
    ),
    (
        "SageMaker's premium follows its size rule",
        "sagemaker.csv",
        {"instance_type": "g6.xlarge"},
        {"instance_type": "gr6.4xlarge", "percent": "25"},
        "SageMaker",
    ),
    ("quotas are listed", "shapes/aws.csv", {"instance_type": "p5.48xlarge"}, {"quota": "on-demand=L-0"}, "L-0"),
    ("models are sound", "models.csv", {"key": "Qwen/Qwen3-8B"}, {"kv_heads": "5"}, "do not divide"),
    ("models are sound", "models.csv", {"key": "Qwen/Qwen3-8B"}, {"layers": ""}, "missing"),
    ("models are sound", "models.csv", {"key": "Qwen/Qwen3-30B-A3B"}, {"experts_per_token": "999"}, "999 of 128"),
    ("models are sound", "models.csv", {"key": "deepseek-ai/DeepSeek-V3"}, {"v_head_dim": ""}, "latent"),
    ("models are sound", "models.csv", {"key": "Qwen/Qwen3-8B"}, {"assumed": "colour"}, "colour"),
    ("models are sound", "models.csv", {"key": "Qwen/Qwen3-8B"}, {"sliding_window_layers": "99"}, "more layers"),
    ("models are sound", "models.csv", {"key": "Qwen/Qwen2.5-VL-7B-Instruct"}, {"image_tokens": ""}, "image_tokens"),
    ("models are sound", "models.csv", {"key": "resnet-50"}, {"resolution": ""}, "resolution"),
    ("tokens are sold", "token_prices.csv", GROQ, {"seller": "grok"}, "no such seller"),
    ("tokens are sold", "token_prices.csv", GROQ, {"model": "a/model"}, "no such model"),
    ("tokens are sold", "token_prices.csv", GROQ, {"input_usd": "9"}, "are not prices"),
    ("every row is sourced", "token_prices.csv", GROQ, {"source": "same"}, "no source"),
    ("every row is sourced", "sellers.csv", {"seller": "groq"}, {"source": "same"}, "no source"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}: {case[4]}")
def test_a_planted_row_is_found(tmp_path, case):
    name, file, where, cells, word = case
    faults = check(whole.load(plant(tmp_path, file, where=where, **cells)))
    found = [fault.message for fault in faults if fault.path == name]
    assert any(word in message for message in found), faults


def test_every_check_has_a_planted_row():
    assert {case[0] for case in CASES} == set(CHECKS)


@pytest.mark.parametrize(
    ("file", "where", "message"),
    [
        ("accelerators.csv", {"key": "l4"}, "accelerators: two rows for l4"),
        ("shapes/gcp.csv", {"instance_type": "g2-standard-4"}, "shapes: two rows for gcp g2-standard-4"),
        ("models.csv", {"key": "resnet-50"}, "models: two rows for resnet-50"),
        ("regions.csv", {"region": "eu-west-1"}, "regions: two rows for aws eu-west-1"),
        ("sagemaker.csv", {"instance_type": "g6.xlarge"}, "sagemaker: two rows for g6.xlarge"),
    ],
)
def test_a_second_row_of_the_same_key_is_not_loaded(tmp_path, file, where, message):
    with pytest.raises(CatalogError) as raised:
        whole.load(plant(tmp_path, file, where=where, add=True))
    assert message in str(raised.value)
