"""What the catalog answers: names, offers by date, prices, fees; and the facts that others got wrong."""

from __future__ import annotations

import csv
import hashlib
import re
import shutil
import subprocess
import sys
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizewell.sizing.catalog import load, loading, table
from sizewell.sizing.catalog.history import quotes
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.money import Priced, Unpriced

ON = date(2026, 9, 20)
LATER = date(2026, 11, 20)


@pytest.fixture(scope="module")
def catalog():
    return load()


# --- names


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("h100-sxm", "h100-sxm"),
        ("H100-SXM-80GB", "h100-sxm"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("H100-SXM-96GB-HBM2e-500W", "h100-sxm-96gb"),
        ("A100", "a100-40gb-sxm"),
        ("A100-80GB", "a100-80gb-sxm"),
        ("A100-PCIe-80GB", "a100-80gb-pcie"),
        ("TPU-v3", "tpu-v3"),
        ("L4-24GB", "l4"),
        ("RTX-4090-24GB", "rtx-4090"),
        ("RTX-PRO-6000-96GB", "rtx-pro-6000-bse"),
        ("M2-Ultra-192GB", "m2-ultra-192gb"),
        ("Arc-Pro-B60-dual-48GB", "arc-pro-b60-dual"),
        ("V100-SXM-16GB", "v100-16gb"),
        ("Inferentia1", "inferentia1"),
    ],
)
def test_accelerators_are_found_by_every_published_name(catalog, name, key):
    assert catalog.accelerator(name).key == key
    assert catalog.accelerator(name.upper()).key == key


def test_one_name_may_mean_several_parts(catalog):
    assert [a.key for a in catalog.accelerators_named("A100")] == [
        "a100-40gb-pcie",
        "a100-40gb-sxm",
        "a100-80gb-pcie",
        "a100-80gb-sxm",
    ]
    assert [a.key for a in catalog.accelerators_named("A100-80GB")] == ["a100-80gb-pcie", "a100-80gb-sxm"]
    assert [a.key for a in catalog.accelerators_named("l4")] == ["l4"]  # neither L40 nor shares of an L4
    assert catalog.accelerators_named("abacus") == ()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c: c.accelerator("H1000-SXM"), "unknown accelerator 'H1000-SXM'; did you mean h100-sxm"),
        (
            lambda c: c.model("meta-llama/Lama-3.1-8B"),
            "unknown model 'meta-llama/Lama-3.1-8B'; did you mean meta-llama/",
        ),
        (lambda c: c.shape("aws", "p5.48xlarg"), "unknown aws machine type 'p5.48xlarg'; did you mean p5.48xlarge"),
        (lambda c: c.shape("ibm", "x"), "unknown cloud 'ibm'; the catalog has aws, azure, "),
    ],
)
def test_an_unknown_name_gets_a_suggestion(catalog, ask, message):
    with pytest.raises(KeyError) as raised:
        ask(catalog)
    assert raised.value.args[0].startswith(message)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"),
        ("llama-3.1-8b", "meta-llama/Llama-3.1-8B"),
        ("Llama-2-70B", "meta-llama/Llama-2-70b-hf"),
        ("meta-llama/Llama-3.3-70B", "meta-llama/Llama-3.3-70B-Instruct"),
        ("ResNet-50 v1.5", "resnet-50"),
        ("resnet50", "resnet-50"),
        ("SDXL", "stabilityai/stable-diffusion-xl-base-1.0"),
        ("BERT-large", "google-bert/bert-large-uncased"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "Qwen/Qwen2.5-VL-7B-Instruct"),
    ],
)
def test_models_are_found_by_their_usual_names(catalog, name, key):
    assert catalog.model(name).key == key


# --- offers and prices


def test_prices_that_a_person_can_look_up(catalog):
    """List prices of the sources: the two AWS ones of the Price List of 2026-07-20, Google's of 2026-08-03."""
    assert catalog.price("aws", "p5.48xlarge", "us-east-1", "on-demand", ON).amount == Decimal("55.04")
    assert catalog.price("aws", "g6.xlarge", "us-east-1", "on-demand", ON).amount == Decimal("0.8048")
    assert catalog.price("azure", "Standard_ND96amsr_A100_v4", "eastus", "on-demand", ON).amount == Decimal("32.77")
    assert catalog.price("gcp", "a4-highgpu-8g", "us-central1", "flex-start", ON).amount == Decimal("64.44")
    assert catalog.price("gcp", "ct6e-standard-4t", "us-central1", "on-demand", ON).amount == Decimal("10.8")  # 4 x 2.7
    assert catalog.price("lambda", "gpu_8x_a100_80gb_sxm4", "anywhere", "on-demand", ON).amount == Decimal("22.32")


def test_spot_is_the_median_of_the_zones_and_says_so(catalog):
    spot = catalog.price("aws", "p5.48xlarge", "us-east-1", "spot", ON)
    assert spot.amount == Decimal("18.1597")
    assert spot.source.startswith("median of 5 quotes, 16.9508 to 18.734; ")
    zones = catalog.offers("aws", "p5.48xlarge", region="us-east-1", market="spot", on=ON)
    assert len({offer.zone for offer in zones}) == len(zones) > 1


def test_spot_at_the_on_demand_price_is_no_offer_but_counted(catalog):
    full = [w for w in catalog.withheld if "no spot capacity" in w.reason]
    assert len(full) == 13
    for w in full:
        quoted = catalog.offers(w.cloud, w.instance_type, region=w.region, market="spot")
        assert not [o for o in quoted if o.zone == w.zone]


@pytest.mark.parametrize(
    ("machine", "region", "market", "reason"),
    [
        (("aws", "p5e.48xlarge"), "us-east-2", "on-demand", "no on-demand price is published"),
        (("gcp", "a4-highgpu-8g"), "us-central1", "on-demand", "no on-demand price is published"),
        (("gcp", "a3-highgpu-1g"), "us-central1", "on-demand", "spot, flex-start or reservation only"),
        (("aws", "trn3-gen1-ultraserver"), "us-east-1", "on-demand", "not sold in that market (markets: none)"),
        (("aws", "p6e-gb200.36xlarge"), "us-east-1", "on-demand", "not sold in that market (markets: capacity-block)"),
        (("azure", "Standard_NC6s_v3"), "eastus", "on-demand", "retired"),
        (("gcp", "ct6e-standard-4t"), "us-central2", "on-demand", "sentinel"),
        (("aws", "p5.48xlarge"), "eu-west-1", "on-demand", "no price for p5.48xlarge in eu-west-1, on-demand"),
    ],
)
def test_what_is_not_sold_is_unpriced_with_the_reason(catalog, machine, region, market, reason):
    price = catalog.price(*machine, region, market, ON)
    assert isinstance(price, Unpriced)
    assert reason in price.reason


def test_before_its_first_date_a_price_is_not_known(catalog):
    before = catalog.price("gcp", "g2-standard-4", "us-central1", "on-demand", date(2026, 8, 2))
    assert isinstance(before, Unpriced)
    assert isinstance(catalog.price("gcp", "g2-standard-4", "us-central1", "on-demand", date(2026, 8, 3)), Priced)


def test_capacity_blocks_change_on_their_date(catalog):
    def block(day):
        return catalog.price("aws", "p5en.48xlarge", "us-east-1", "capacity-block", day).amount

    assert block(date(2026, 6, 30)) == Decimal("45.768")
    assert block(date(2026, 7, 1)) == Decimal("54.92")
    assert block(date(2026, 10, 1)) == Decimal("63.158")
    (quote,) = quotes(catalog, "aws", "p5en.48xlarge", region="us-east-1", market="capacity-block", on=ON)
    assert quote.stale(ON)
    assert not quote.stale(date(2026, 7, 20))


def test_regions_that_not_everybody_may_use_are_offered_only_by_name(catalog):
    anywhere = {offer.region for offer in catalog.offers("aws", "p5.48xlarge", market="on-demand", on=ON)}
    assert "us-east-1" in anywhere
    assert not [region for region in anywhere if "gov" in region]
    assert catalog.offers("aws", "p5.48xlarge", region="us-gov-west-1", market="on-demand", on=ON)


@given(
    prices=st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 500)), min_size=1, unique_by=lambda p: p[0], max_size=6
    ),
    asked=st.integers(-5, 70),
)
def test_the_newest_price_of_the_past_is_in_force(prices, asked):
    start = date(2026, 1, 1)
    shape = load().shape("aws", "p5.48xlarge")
    base = load().offers("aws", "p5.48xlarge", region="us-east-1", market="on-demand")[0]
    offers = [_at(base, start + timedelta(days=day), Decimal(amount)) for day, amount in sorted(prices)]
    catalog = _with_offers(offers, shape)
    found = catalog.price("aws", "p5.48xlarge", "us-east-1", "on-demand", start + timedelta(days=asked))
    past = [(day, amount) for day, amount in prices if day <= asked]
    if past:
        assert found.amount == max(past)[1]
    else:
        assert isinstance(found, Unpriced)


def _at(offer, day, amount):
    from dataclasses import replace

    return replace(offer, effective_from=day.isoformat(), usd_per_hour=amount)


def _with_offers(offers, shape):
    from dataclasses import replace

    key = (shape.cloud, shape.instance_type)
    return replace(load(), all_offers=tuple(offers), offers_by_type={key: tuple(offers)})


# --- fees, premiums, slices


def test_a_fee_of_another_region_is_not_guessed(catalog):
    assert catalog.fee("aws", "nat.hour", "us-east-1", ON).amount == Decimal("0.045")
    unknown = catalog.fee("aws", "efs.standard", "eu-west-1", ON)
    assert unknown == Unpriced("aws efs.standard: no price for eu-west-1; known for us-east-1")
    early = catalog.fee("aws", "nat.hour", "us-east-1", date(2019, 1, 1))
    assert early.reason.startswith("aws nat.hour: no price for us-east-1 before 20")
    assert catalog.fee("aws", "ipv4.hour", "eu-west-1", ON).amount == Decimal("0.005")  # one price for all regions
    assert catalog.fee("azure", "managed_disk", "eastus", ON) == Unpriced("azure managed_disk: no price in the catalog")


@pytest.mark.parametrize(
    ("cloud", "regions", "keys", "machine"),
    [
        (
            "aws",
            "us-east-1 us-east-2 us-west-2 eu-west-1 eu-west-2 eu-central-1 ap-northeast-1 ap-south-1 ap-southeast-1",
            "ebs.gp3.gb_month kms.key vpc_endpoint.hour eks.control_plane cloudwatch.alarm s3.standard nat.hour ipv4.hour",
            "m7i.large",
        ),
        (
            "gcp",
            "us-central1 us-east1 us-east4 us-east5 us-west1 us-west4 europe-west1 europe-west4 asia-southeast1 asia-south1",
            "pd.balanced hyperdisk.balanced gcs.standard kms.key gke.control_plane scheduler.job ipv4.hour nat.gb",
            "e2-standard-4",
        ),
        (
            "azure",
            "eastus eastus2 westeurope northeurope swedencentral francecentral",
            "disk.premium_lrs.p10 disk.premium_lrs.p15 blob.hot_lrs blob.hot_zrs nat.hour ipv4.hour private_endpoint.hour",
            "Standard_D4s_v5",
        ),
    ],
)
def test_what_a_stack_bills_beside_its_machines_has_a_price_where_most_offers_are(
    catalog, cloud, regions, keys, machine
):
    """Else the cheapest region loses to one that is fully priced, over a boot disk."""
    unpriced = [
        (region, key)
        for region in regions.split()
        for key in keys.split()
        if not isinstance(catalog.fee(cloud, key, region, LATER), Priced)
    ]
    unpriced += [
        (region, machine)
        for region in regions.split()
        if not isinstance(catalog.price(cloud, machine, region, "on-demand", LATER), Priced)
    ]
    assert unpriced == []


def test_egress_has_tiers(catalog):
    tiers = catalog.fee_tiers("aws", "egress.internet", "us-east-1", ON)
    assert [(tier.from_quantity, tier.usd) for tier in tiers] == [
        (Decimal(0), Decimal(0)),
        (Decimal(100), Decimal("0.09")),
        (Decimal(10240), Decimal("0.085")),
        (Decimal(51200), Decimal("0.07")),
    ]


def test_sagemaker_premiums_by_type_rule_or_not_at_all(catalog):
    assert catalog.sagemaker_premium("ml.p5.48xlarge").amount == 15
    assert catalog.sagemaker_premium("g6.xlarge").amount == 40
    assert catalog.sagemaker_premium("g6.12xlarge").amount == 25
    assert catalog.sagemaker_premiums["g5.xlarge"].confidence == "estimate"
    assert isinstance(catalog.sagemaker_premium("p6-b200.48xlarge"), Unpriced)


def test_tpu_slices(catalog):
    assert Counter(s.generation for s in catalog.slices) == {"tpu7x": 99, "v5p": 96, "v4": 11, "v5e": 9, "v6e": 9}


def test_fast_domains_of_well_known_machines(catalog):
    machines = {
        "aws": "p4d.24xlarge=8 p5.48xlarge=8 g6.48xlarge=1 p5.4xlarge=1 trn1.32xlarge=16 trn2.48xlarge=16 "
        "trn2u.48xlarge=64 p6e-gb200.36xlarge=72",
        "gcp": "a2-megagpu-16g=16 a4x-highgpu-4g=72 ct5lp-hightpu-8t=8 a3-highgpu-8g=8",
        "azure": "Standard_NC48ads_A100_v4=2 Standard_ND96isr_MI300X_v5=8",
        "on-premises": "hgx-h100-8x=8",
        "edge": "l4-edge-server-4x=1",
    }
    for cloud, words in machines.items():
        for word in words.split():
            name, domain = word.split("=")
            assert (name, catalog.shape(cloud, name).scale_up) == (name, int(domain))


# --- the whole


def test_everything_is_sorted_and_read_only(catalog):
    assert list(catalog.accelerators) == sorted(catalog.accelerators)
    assert [(s.cloud, s.instance_type) for s in catalog.shapes] == sorted(
        (s.cloud, s.instance_type) for s in catalog.shapes
    )
    offers = catalog.offers("aws", "p5.48xlarge", on=ON)
    assert list(offers) == sorted(offers, key=lambda o: (o.region, o.market, o.zone))
    with pytest.raises(TypeError):
        catalog.accelerators["x"] = None  # type: ignore[index]


def test_the_digest_is_over_the_bytes_of_the_files(catalog, tmp_path):
    files = sorted(loading.DATA.rglob("*.csv"), key=lambda path: path.relative_to(loading.DATA).as_posix())
    assert catalog.digest == hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    shutil.copytree(loading.DATA, tmp_path, dirs_exist_ok=True)
    copied = load(tmp_path)
    assert (copied.digest, copied.all_offers, copied.shapes) == (catalog.digest, catalog.all_offers, catalog.shapes)
    (tmp_path / "quotas.csv").write_text((tmp_path / "quotas.csv").read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert load(tmp_path).digest != catalog.digest


@pytest.mark.parametrize(
    ("confidence", "day", "moves"),
    [
        ("high", "2026-11-20", True),
        ("medium", "2026-11-20", True),
        ("low", "2026-11-20", False),
        ("estimate", "2026-11-20", False),
        ("high", "2099-02-03", False),  # not yet in force
    ],
)
def test_a_newer_price_moves_the_date_of_the_catalog_unless_it_is_weak(catalog, tmp_path, confidence, day, moves):
    shutil.copytree(loading.DATA, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "offers" / "aws.csv").open("a", encoding="utf-8") as stream:
        stream.write(f"aws,p5.48xlarge,us-east-1,,on-demand,50,{day},,list,a list,{confidence},\n")
    assert load(tmp_path).as_of == (day if moves else catalog.as_of)
    assert catalog.as_of < "2026-11-20"


def test_loading_imports_no_heavy_library():
    code = "import sys, sizewell.sizing.catalog as c; c.load(); print({'numpy', 'pydantic', 'yaml', 'rich', 'pulumi'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_machine_type_is_one_row_in_one_file(tmp_path):
    """The checklist in docs/howto/add-a-machine-type.md."""
    shutil.copytree(loading.DATA, tmp_path, dirs_exist_ok=True)
    row = dict.fromkeys(table.columns_of(Shape), "") | {
        "cloud": "aws",
        "instance_type": "p9.48xlarge",
        "accelerator": "h200-sxm",
        "accelerators": "8",
        "scale_up": "8",
        "architecture": "x86_64",
        "traits_source": "an announcement",
        "markets": "on-demand",
        "source": "an announcement",
        "checked": "2026-11-01",
        "confidence": "medium",
    }
    with (tmp_path / "shapes" / "aws.csv").open("a", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerow(row[column] for column in table.columns_of(Shape))
    from sizewell.sizing.catalog.check import check

    added = load(tmp_path)
    assert check(added) == ()
    assert len(added.shapes) == len(load().shapes) + 1
    assert added.shape("aws", "p9.48xlarge").accelerators == 8
    price = added.price("aws", "p9.48xlarge", "us-east-1", "on-demand", ON)
    assert price == Unpriced("no price for p9.48xlarge in us-east-1, on-demand, on 2026-09-20")


def test_no_limit_of_a_context_is_a_window_or_another_than_the_name_says():
    """An attention window says nothing of how much is read; a model called 32k reads 32,768 or 32,000 tokens."""
    limits = {key: m.max_sequence_length for key, m in load().models.items() if m.max_sequence_length}
    windows = {key for key, limit in limits.items() if load().models[key].sliding_window == limit}
    assert not windows
    for key, limit in limits.items():
        if named := re.search(r"[-_](\d{1,3})k(?:[-_]|$)", key, re.IGNORECASE):
            thousands = int(named[1])
            assert limit in (thousands * 1000, thousands * 1024), key


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("google/gemma-2b", 8192),
        ("google/gemma-7b-it", 8192),
        ("google/codegemma-7b-it", 8192),
        ("mistralai/Mistral-7B-v0.1", 32_768),
        ("mistralai/Mistral-7B-Instruct-v0.1", 32_768),
        ("microsoft/Phi-3.5-mini-instruct", 131_072),
        ("codellama/CodeLlama-13b-Instruct-hf", 16_384),
    ],
)
def test_a_context_is_that_of_the_model_s_own_configuration(model, limit):
    """What a source leaves at its own default is no fact: 4,096 stood for these."""
    assert load().models[model].max_sequence_length == limit
