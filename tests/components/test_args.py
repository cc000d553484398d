"""Laws of the pure half of the components: arguments, plans, tags, schemas."""

import json
import re

import decisions
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizewell.components import tags
from sizewell.components.aws import instances, policies, user_data
from sizewell.components.azure import scale_sets as azure
from sizewell.components.gcp import args as gcp_args
from sizewell.components.gcp import checks as gcp_checks
from sizewell.components.gcp import node_pools as gcp
from sizewell.components.machines import find_slices
from sizewell.components.settings import Settings
from sizewell.sizing import catalog
from sizewell.sizing.errors import ArgsError

SHAPES = {cloud: [shape for shape in catalog.load().shapes if shape.cloud == cloud] for cloud in ("aws", "gcp")}
SLICES = list(catalog.load().slices)
SETTINGS = Settings(project="sizewell", stack="dev-gcp")


@given(st.text(max_size=300))
def test_a_label_is_legal_on_every_cloud_and_two_stay_two(text):
    label = tags.legal(text)
    assert len(label) <= 63
    assert re.fullmatch(r"[a-z0-9_-]*", label)
    assert tags.legal(label) == label


@given(st.text("abc-", min_size=40, max_size=90), st.text("abc-", min_size=40, max_size=90))
def test_long_names_do_not_collide(first, second):
    if tags.legal(first, limit=200) != tags.legal(second, limit=200):
        assert tags.physical_name(first, limit=30) != tags.physical_name(second, limit=30)


@given(
    st.text("abcdefgh-", min_size=1, max_size=60), st.text("abcdefgh-", min_size=1, max_size=60), st.text(max_size=20)
)
def test_a_store_has_the_same_legal_name_in_both_stacks(stack, workload, salt):
    bucket = tags.store_name(stack=stack, workload=workload, salt=salt)
    assert bucket == tags.store_name(stack=f"checkpoints-{stack}", workload=workload, salt=salt)
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", bucket)
    account = tags.store_name(stack=stack, workload=workload, salt=salt, limit=24, hyphens=False)
    assert re.fullmatch(r"[a-z0-9]{3,24}", account)


@pytest.mark.parametrize(
    ("machine", "region", "zone"),
    [
        ("ct6e-standard-4t", "us-central1", "us-central1-b"),
        ("a3-ultragpu-8g", "us-west1", "us-west1-c"),
        ("g2-standard-4", "us-east1", "us-east1-b"),  # a region without a zone a
        ("g2-standard-4", "us-central1", "us-central1-a"),  # nobody wrote down where
    ],
)
def test_machines_on_google_cloud_go_where_they_are_sold(machine, region, zone):
    pool = decisions.pool("gcp", machine, "", 1, region=region, zones=())
    assert gcp_args.zones_of(pool, preferred=()) == [zone]
    assert gcp_args.zones_of(pool, preferred=(f"{region}-f",)) == [f"{region}-f"]


@pytest.mark.parametrize(
    "shape",
    [one for one in SHAPES["aws"] if one.runtime in ("cuda", "neuron")],  # other drivers are refused
    ids=lambda one: one.instance_type,
)
def test_every_aws_machine_gets_the_interfaces_of_its_cards(shape):
    alone = instances.network_interfaces(shape, gang=False, security_groups=["g"])
    together = instances.network_interfaces(shape, gang=True, security_groups=["g"])
    assert len(alone) == 1
    assert "interface_type" not in alone[0]
    with_efa = [one for one in together if one.get("interface_type", "").startswith("efa")]
    assert len(with_efa) == (shape.rdma_interfaces if shape.fabric == "efa" else 0)
    apart = shape.instance_type == "p6-b300.48xlarge"  # its first card carries IP alone
    assert len(together) - len(with_efa) == (1 if not with_efa or apart else 0)
    assert [one["device_index"] for one in together] == [0] + [0 if apart else 1] * (len(together) - 1)
    assert len({one["network_card_index"] for one in together}) == len(together)
    assert instances.image_for(shape).startswith("resolve:ssm:")


@pytest.mark.parametrize(
    ("instance_type", "cards"),
    [("p4d.24xlarge", 4), ("p5.48xlarge", 32), ("p5e.48xlarge", 32), ("p5en.48xlarge", 16), ("p6-b200.48xlarge", 8)],
)
def test_efa_cards_as_aws_states_them(instance_type, cards):
    shape = catalog.load().shape("aws", instance_type)
    assert len(instances.network_interfaces(shape, gang=True, security_groups=[])) == cards


def tpu_args(one, slices=1, **changes):
    nodes = one.vms * slices
    return {
        "environment": "dev",
        "owner": "x",
        "region": "us-central1",
        "zones": [*catalog.load().zones("gcp", one.machine_type, "us-central1")[:1]] or ["us-central1-a"],
        "project": "p",
        "cluster": "c",
        "service_account": "s",
        "machine_type": one.machine_type,
        "tpu_topology": one.topology,
        "nodes_min": 0,
        "nodes_initial": nodes,
        "nodes_max": nodes,
        "capacity_mode": "on-demand",
        "disk_gib": 100,
        **changes,
    }


@given(st.sampled_from(SLICES), st.integers(1, 3))
@settings(max_examples=150)
def test_every_legal_slice_is_accepted_and_whole(one, slices):
    args = tpu_args(one, slices if one.vms * slices <= 1000 else 1)
    if args["nodes_max"] > 1000:
        return
    legal = find_slices(one.machine_type)
    gcp_checks.check_pool("x", args, None, legal)
    counts = gcp.counts(args, one)
    assert not ("node_count" in counts and "autoscaling" in counts)
    if one.multi_host:
        assert gcp.placement(args, one)["placement_policy"]["tpu_topology"] == one.topology
        assert counts["autoscaling"]["total_max_node_count"] == one.vms
        assert gcp.slices_of(args, one) * one.vms == args["nodes_max"]
    else:
        assert gcp.placement(args, one) == {}


@given(st.sampled_from(SLICES), st.lists(st.integers(1, 40), min_size=2, max_size=3))
@settings(max_examples=150)
def test_every_other_topology_is_refused(one, sides):
    topology = "x".join(map(str, sides))
    legal = find_slices(one.machine_type)
    if topology in {other.topology for other in legal}:
        return
    with pytest.raises(ArgsError, match="does not exist on"):
        gcp_checks.check_pool("x", tpu_args(one, tpu_topology=topology, nodes_max=1, nodes_initial=1), None, legal)


@given(st.sampled_from([one for one in SLICES if one.multi_host and one.vms < 900]), st.integers(1, 900))
def test_a_slice_with_a_machine_too_few_or_too_many_is_refused(one, nodes):
    if nodes % one.vms == 0:
        return
    with pytest.raises(ArgsError, match="has all of its machines or none"):
        gcp_checks.check_pool("x", tpu_args(one, nodes_max=nodes, nodes_initial=0), None, find_slices(one.machine_type))


@given(st.sampled_from(gcp_checks.CAPACITY_MODES), st.booleans())
def test_a_capacity_mode_is_exactly_one(mode, gang):
    pool = decisions.pool("gcp", "a3-ultragpu-8g", "h200-sxm", 8, nodes=(0, 2, 2))
    work = decisions.training("t", pool) if gang else decisions.serving("t", pool)
    args = gcp_args.pool_args(decisions.decision("dev-gcp", work), work, pool, SETTINGS)
    args |= {"capacity_mode": mode, "reservation": "r"}
    config = gcp.capacity(args)
    ways = {
        "spot": bool(config.get("spot")),
        "flex-start": bool(config.get("flex_start")),
        "queued": "max_run_duration" in config and not config.get("flex_start"),
        "reservation": config.get("reservation_affinity", {}).get("consume_reservation_type") == "SPECIFIC_RESERVATION",
    }
    assert [way for way, taken in ways.items() if taken] == ([mode] if mode != "on-demand" else [])
    if mode in ("queued", "reservation"):
        assert gcp.placement(args, None) == {}
    if mode in ("flex-start", "queued"):
        assert "node_count" not in gcp.counts(args, None)


@pytest.mark.parametrize(
    "shape",
    [s for s in SHAPES["gcp"] if s.accelerators and "rack" not in s.traits],
    ids=lambda s: s.instance_type,
)
def test_every_gcp_machine_is_a_tpu_or_has_a_gpu_that_gke_knows(shape):
    assert gcp.is_tpu(shape.instance_type) or gcp.gpu_type(shape.instance_type), shape.instance_type


def test_azure_knows_the_days_and_the_key_of_nobody():
    assert azure.day_names("fri-mon") == ["Friday", "Saturday", "Sunday", "Monday"]
    assert azure.nobody_key().startswith("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI")
    assert azure.nobody_key() == azure.nobody_key()


def test_writers_put_and_get_but_never_delete():
    statements = json.loads(policies.writer_policy(region="us-east-1", bucket="b", key_alias="alias/b"))["Statement"]
    actions = {
        action
        for one in statements
        for action in ([one["Action"]] if isinstance(one["Action"], str) else one["Action"])
    }
    assert {"s3:PutObject", "s3:GetObject", "s3:ListBucket"} <= actions
    assert not [action for action in actions if "Delete" in action or "*" in action]
    data_actions = azure.writer_permissions()[0]["data_actions"]
    assert not [action for action in data_actions if "delete" in action or "*" in action]


def test_a_block_that_became_dearer_is_not_bought():
    assert policies.acceptable("x", offering_id="cb-1", fee_usd=9061.63, limit_usd=9100) == "cb-1"
    with pytest.raises(Exception, match=r"costs 9,200.00 USD, the confirmed maximum is 9,100.00 USD"):
        policies.acceptable("x", offering_id="cb-1", fee_usd=9200, limit_usd=9100)


def test_a_block_in_another_zone_than_the_subnets_is_not_bought():
    here = {"offering_id": "cb-1", "fee_usd": 9000, "limit_usd": 9100, "zones": ["us-east-1a"]}
    assert policies.acceptable("x", zone="us-east-1a", **here) == "cb-1"
    with pytest.raises(Exception, match="is in us-east-1b, the pool's subnets in us-east-1a"):
        policies.acceptable("x", zone="us-east-1b", **here)


def test_user_data_watches_the_accelerator_and_holds_no_secret():
    import base64

    for runtime, metric in (("cuda", "utilization_gpu"), ("neuron", "neuroncore_utilization")):
        text = base64.b64decode(
            user_data.user_data(runtime=runtime, region="us-east-1", group="g", start_script="echo hello")
        ).decode()
        assert metric in text
        assert text.rstrip().endswith("echo hello")
