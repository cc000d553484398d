"""What every stack's program makes: goldens that a person reads, and what holds for all resources of all clouds."""

import inspect
import json
import re

import golden_files
import pytest
import sdk_types
from stacks_recording import GOLDENS, STACKS, listing, plain, recorded

CHECKPOINTS = ("checkpoints-dev-aws", "checkpoints-prod-aws", "checkpoints-dev-gcp", "checkpoints-prod-azure")
REFRESH = "SIZEWELL_REFRESH=1 .venv/bin/pytest -q -p no:xdist tests/components/test_stacks.py"
ALL = (*STACKS, *CHECKPOINTS)
LABEL = re.compile(r"[a-z0-9_-]{1,63}")
TAG_KEYS = ("tags", "labels", "resourceLabels", "userLabels")


def custom(stack):
    return [one for one in recorded(stack) if one.custom and not one.type.startswith("pulumi:")]


def only(stack, token, name=None):
    found = [one for one in recorded(stack) if one.type == token and name in (None, one.name)]
    assert len(found) == 1, f"{token}: {[one.name for one in found]}"
    return found[0].inputs


@pytest.mark.parametrize("stack", ALL)
def test_golden(stack):
    golden_files.check(GOLDENS / f"{stack}.txt", listing(recorded(stack)), REFRESH)


@pytest.mark.parametrize("stack", ALL)
def test_every_input_is_one_that_the_sdk_knows(stack):
    for one in custom(stack):
        inputs = {key: value for key, value in plain(one.inputs).items() if value is not None}
        assert sdk_types.faults(one.type, inputs) == [], f"{one.type} {one.name}"


@pytest.mark.parametrize("stack", ALL)
def test_every_resource_has_a_component_and_an_explicit_provider(stack):
    for one in custom(stack):
        assert one.parent is not None
        assert "sizewell-" in one.parent, one.name
        assert one.provider, one.name
        assert "default" not in one.provider.rsplit("::", 2)[-2], one.name


@pytest.mark.parametrize("stack", ALL)
def test_tags_are_legal_on_all_clouds_and_ids_differ(stack):
    ids = []
    for one in custom(stack):
        for key in TAG_KEYS:
            tags = one.inputs.get(key)
            tags = {tag["key"]: tag["value"] for tag in tags} if isinstance(tags, list) else tags or {}
            if "managed-by" not in tags:
                continue
            ours = {name: value for name, value in tags.items() if name.startswith(("sizewell-", "managed-by"))}
            assert all(LABEL.fullmatch(value) for value in ours.values()), (one.name, ours)
            assert {"sizewell-stack", "sizewell-id", "sizewell-owner", "sizewell-environment"} <= ours.keys()
            ids.append(ours["sizewell-id"])
    assert ids
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("stack", ALL)
def test_what_bills_or_could_be_left_over_carries_tags(stack):
    """A sweep after a killed update finds machines, disks, clusters, buckets and gateways by their tags."""
    bills = re.compile(
        r"autoscaling/group:Group|launchTemplate:|vpcEndpoint:|s3/bucket:Bucket|kms/key:Key|container/cluster:|"
        r"storage/bucket:Bucket|ScaleSet|NatGateway|PublicIPAddress|StorageAccount$|ResourceGroup"
    )
    seen = [one for one in custom(stack) if bills.search(one.type)]
    for one in seen:
        assert any(one.inputs.get(key) for key in TAG_KEYS), f"{one.type} {one.name}"
    pools = [one for one in custom(stack) if one.type.endswith("NodePool")]
    for one in pools:
        assert one.inputs["nodeConfig"]["resourceLabels"]["managed-by"] == "sizewell"
    assert seen or pools


@pytest.mark.parametrize("stack", CHECKPOINTS)
def test_a_destroy_reaches_nothing_that_a_checkpoint_needs(stack):
    """Only the writer's identity may go; a bucket without its lock, key or access block would be no store."""
    for one in custom(stack):
        identity = "writer" in one.name or one.type.startswith("gcp:storage/bucketIAMMember")
        assert one.protect is not identity, one.name
        assert one.retain_on_delete is not identity, one.name
    assert sum(one.protect for one in custom(stack)) >= 5


@pytest.mark.parametrize("stack", STACKS)
def test_only_the_current_size_is_left_to_others(stack):
    allowed = {
        "desiredCapacity",
        "sku.capacity",
        "initialNodeCount",
        "nodeCount",
        "nodeConfig",  # of the default pool that is removed at once
        "nodeConfig.labels",
        "nodeConfig.ephemeralStorageLocalSsdConfig",
        "subnets",
    }
    ignored = {key for one in custom(stack) for key in one.ignore_changes}
    assert ignored <= allowed
    assert ignored & {"desiredCapacity", "sku.capacity", "nodeCount"}


@pytest.mark.parametrize("stack", STACKS)
def test_every_pool_states_what_its_resources_cannot_say(stack):
    pools = [one.inputs["sizewell"] for one in recorded(stack) if one.inputs.get("sizewell", {}).get("kind") == "pool"]
    assert pools
    for pool in pools:
        hours = pool["nodeHoursPerMonth"]
        assert hours["floor"] <= hours["ceiling"]
        assert pool["nodesMin"] <= pool["nodesInitial"] <= pool["nodesMax"]
        assert len(pool["decisionDigest"]) == 64
        assert pool["environment"] == stack.split("-")[0]


def test_the_same_decision_gives_the_same_resources_and_bucket_names():
    writer = only("dev-aws", "aws:iam/rolePolicy:RolePolicy", "tune-nodes-checkpoints")["policy"]
    bucket = only("checkpoints-dev-aws", "aws:s3/bucket:Bucket", "tune")["bucket"]
    assert f"arn:aws:s3:::{bucket}/*" in writer
    assert "Delete" not in writer
    first = listing(recorded("dev-aws"))
    recorded.cache_clear()
    assert listing(recorded("dev-aws")) == first


def test_the_three_clouds_have_the_same_shape():
    import importlib

    def names(cloud, module):
        loaded = importlib.import_module(f"sizewell.components.{cloud}.{module}")
        own = {
            name
            for name, value in vars(loaded).items()
            if inspect.isfunction(value) and value.__module__ == loaded.__name__
        }
        return {name for name in own if not name.startswith("_")}

    wanted = {
        "program": {"build", "build_checkpoints", "provider"},
        "args": {"network_args", "pool_args", "checkpoint_store_args", "bucket_name", "zones_of"},
        "checks": {"check_network", "check_pool", "check_checkpoint_store", "check_place"},
    }
    for cloud in ("aws", "gcp", "azure"):
        for module, functions in wanted.items():
            assert functions <= names(cloud, module), f"{cloud}.{module}"
        for module in ("network", "nodes", "storage.checkpoints", "storage.shared", "limits.guards"):
            importlib.import_module(f"sizewell.components.{cloud}.{module}")


# AWS


def test_efa_interfaces_follow_the_network_cards():
    template = only("staging-aws", "aws:ec2/launchTemplate:LaunchTemplate")
    cards = template["networkInterfaces"]
    assert [card["deviceIndex"] for card in cards] == [0, 1, 1, 1]
    assert [card["networkCardIndex"] for card in cards] == [0, 1, 2, 3]
    assert [card["interfaceType"] for card in cards] == ["efa", "efa-only", "efa-only", "efa-only"]
    assert {card["associatePublicIpAddress"] for card in cards} == {"false"}


def test_a_placement_group_stands_only_where_nothing_is_reserved():
    assert only("staging-aws", "aws:ec2/placementGroup:PlacementGroup")["strategy"] == "cluster"
    assert not [one for one in recorded("prod-aws") if one.type.endswith("PlacementGroup")]
    template = only("prod-aws", "aws:ec2/launchTemplate:LaunchTemplate", "pretrain-nodes")
    assert len(template["networkInterfaces"]) == 32
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    target = template["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target == {"capacityReservationId": "cr-0123456789abcdef0"}
    assert "placement" not in template


def test_machines_are_reached_by_nobody():
    for stack in ("dev-aws", "prod-aws"):
        for one in recorded(stack):
            if one.type.endswith("SecurityGroupIngressRule"):
                assert one.inputs.get("cidrIpv4") in (None, "10.40.0.0/16")
            if one.type == "aws:ec2/launchTemplate:LaunchTemplate":
                assert one.inputs["metadataOptions"]["httpTokens"] == "required"
                assert one.inputs["metadataOptions"]["httpPutResponseHopLimit"] == 1
                assert {d["ebs"]["encrypted"] for d in one.inputs["blockDeviceMappings"]} == {"true"}
                assert not one.inputs.get("keyName")
            assert not one.type.endswith(("InternetGateway", "NatGateway", "Eip"))
    default = only("dev-aws", "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup")
    assert default["ingress"] == []
    assert default["egress"] == []


def test_spot_takes_several_types_and_leaves_before_it_is_taken():
    group = only("dev-aws", "aws:autoscaling/group:Group", "tune-nodes")
    policy = group["mixedInstancesPolicy"]
    assert policy["instancesDistribution"]["spotAllocationStrategy"] == "price-capacity-optimized"
    assert policy["instancesDistribution"]["onDemandPercentageAboveBaseCapacity"] == 0
    assert [one["instanceType"] for one in policy["launchTemplate"]["overrides"]] == ["g6e.xlarge", "g6e.2xlarge"]
    assert group["capacityRebalance"] is True
    assert group["waitForCapacityTimeout"] == "0"
    assert all(tag["propagateAtLaunch"] for tag in group["tags"])


def test_silence_is_not_idleness_and_notice_comes_before_the_end():
    notice = only("dev-aws", "aws:cloudwatch/metricAlarm:MetricAlarm", "chat-idle")
    stop = only("dev-aws", "aws:cloudwatch/metricAlarm:MetricAlarm", "chat-idle-stop")
    assert notice["treatMissingData"] == stop["treatMissingData"] == "notBreaching"
    assert notice["evaluationPeriods"] * notice["period"] == 2700
    assert stop["evaluationPeriods"] * stop["period"] == 2700 + 3600
    steps = json.loads(only("dev-aws", "aws:ssm/document:Document", "chat-stop")["content"])["mainSteps"]
    looks, empties = steps[0]["inputs"]["InputPayload"], steps[-1]["inputs"]
    assert (looks["Seconds"], looks["Accelerators"], empties["DesiredCapacity"]) == (2700 + 3600, 1, 0)
    gcp = only("dev-gcp", "gcp:monitoring/alertPolicy:AlertPolicy", "chat-idle")
    threshold = gcp["conditions"][0]["conditionThreshold"]
    assert threshold["evaluationMissingData"] == "EVALUATION_MISSING_DATA_INACTIVE"


def test_prepaid_machines_are_reported_and_not_stopped():
    names = [one.name for one in recorded("prod-aws") if one.type.endswith("MetricAlarm")]
    assert "pretrain-idle" in names
    assert "pretrain-idle-stop" not in names


def test_working_hours_start_and_stop_in_their_own_time_zone():
    start = only("dev-aws", "aws:autoscaling/schedule:Schedule", "chat-start-0")
    end = only("dev-aws", "aws:autoscaling/schedule:Schedule", "chat-end-0")
    assert (start["recurrence"], start["timeZone"], start["desiredCapacity"]) == ("0 7 * * MON-FRI", "Europe/London", 1)
    assert (end["recurrence"], end["desiredCapacity"], end["minSize"]) == ("0 21 * * MON-FRI", 0, 0)
    profiles = only("dev-azure", "azure-native:monitor:AutoscaleSetting")["profiles"]
    assert [one["name"] for one in profiles] == ["start-0", "hours-0", "off-0"]
    assert profiles[2]["capacity"] == {"minimum": "0", "default": "0", "maximum": "0"}
    assert profiles[0]["recurrence"]["schedule"]["timeZone"] == "GMT Standard Time"
    jobs = [one.inputs for one in recorded("dev-gcp") if one.type.endswith("cloudscheduler/job:Job")]
    clocks = {job["schedule"] for job in jobs}
    assert clocks == {"0 21 * * MON-FRI", "0 7 * * MON-FRI", "*/15 * * * *"}  # working hours, and a look at idleness


# Google Cloud


def test_a_multi_host_slice_is_whole_or_not_there():
    pool = only("dev-gcp", "gcp:container/nodePool:NodePool", "pretrain-nodes")
    assert pool["placementPolicy"] == {"type": "COMPACT", "tpuTopology": "4x4"}
    assert pool["autoscaling"]["totalMinNodeCount"] == 0
    assert pool["autoscaling"]["totalMaxNodeCount"] == 4
    assert pool["initialNodeCount"] == 4
    assert not pool.get("nodeCount")
    assert pool["nodeConfig"]["spot"] is True
    assert pool["nodeConfig"]["taints"][0]["key"] == "google.com/tpu"


def test_gpudirect_machines_get_a_network_for_each_interface():
    megagpu = only("prod-gcp", "gcp:container/nodePool:NodePool", "pretrain-nodes")
    assert len(megagpu["networkConfig"]["additionalNodeNetworkConfigs"]) == 8
    highgpu = only("staging-gcp", "gcp:container/nodePool:NodePool", "pretrain-nodes")
    assert len(highgpu["networkConfig"]["additionalNodeNetworkConfigs"]) == 4
    assert only("prod-gcp", "gcp:container/cluster:Cluster")["enableMultiNetworking"] is True


def test_flex_start_is_neither_repaired_nor_fixed_in_number():
    pool = only("staging-gcp", "gcp:container/nodePool:NodePool", "pretrain-nodes")
    assert pool["management"]["autoRepair"] is False
    assert pool["nodeConfig"]["flexStart"] is True
    assert pool["nodeConfig"]["maxRunDuration"] == "604800s"
    assert pool["nodeConfig"]["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}
    assert "placementPolicy" not in pool
    assert "nodeCount" not in pool


def test_the_cloud_protects_prod_only():
    for stack, protected in (("dev-gcp", False), ("staging-gcp", False), ("prod-gcp", True)):
        assert only(stack, "gcp:container/cluster:Cluster")["deletionProtection"] is protected
    unprotected = recorded("prod-gcp", deletion_protection=False)
    cluster = next(one for one in unprotected if one.type == "gcp:container/cluster:Cluster")
    assert cluster.inputs["deletionProtection"] is False


def test_the_cluster_is_private_and_its_nodes_have_an_account_of_their_own():
    cluster = only("prod-gcp", "gcp:container/cluster:Cluster")
    assert cluster["privateClusterConfig"] == {"enablePrivateNodes": True, "enablePrivateEndpoint": True}
    assert cluster["datapathProvider"] == "ADVANCED_DATAPATH"
    assert cluster["removeDefaultNodePool"] is True
    exclusion = cluster["maintenancePolicy"]["maintenanceExclusions"][0]
    assert exclusion["exclusionOptions"]["scope"] == "NO_MINOR_OR_NODE_UPGRADES"
    for one in recorded("prod-gcp"):
        if one.type == "gcp:container/nodePool:NodePool":
            assert one.inputs["nodeConfig"]["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
            assert "serviceAccount" in one.inputs["nodeConfig"]
            assert one.inputs["networkConfig"]["enablePrivateNodes"] is True


# Azure


def test_machines_of_one_job_are_one_infiniband_partition():
    training = only("prod-azure", "azure-native:compute:VirtualMachineScaleSet")
    assert training["singlePlacementGroup"] is True
    assert training["overprovision"] is False
    profile = training["virtualMachineProfile"]
    assert profile["priority"] == "Regular"
    assert profile["securityProfile"] == {"encryptionAtHost": True}
    assert profile["osProfile"]["linuxConfiguration"]["disablePasswordAuthentication"] is True
    address = profile["networkProfile"]["networkInterfaceConfigurations"][0]["ipConfigurations"][0]
    assert "publicIPAddressConfiguration" not in address
    assert profile["scheduledEventsProfile"]["terminateNotificationProfile"]["enable"] is True


def test_azure_spot_is_deleted_and_pays_at_most_the_list_price():
    profile = only("dev-azure", "azure-native:compute:VirtualMachineScaleSet")["virtualMachineProfile"]
    assert (profile["priority"], profile["evictionPolicy"]) == ("Spot", "Delete")
    assert profile["billingProfile"] == {"maxPrice": -1.0}


def test_the_storage_account_is_closed():
    account = only("checkpoints-prod-azure", "azure-native:storage:StorageAccount")
    assert account["minimumTlsVersion"] == "TLS1_2"
    assert account["allowSharedKeyAccess"] is False
    assert account["publicNetworkAccess"] == "Disabled"
    assert account["immutableStorageWithVersioning"]["enabled"] is True
    role = only("checkpoints-prod-azure", "azure-native:authorization:RoleDefinition")
    assert not [one for one in role["permissions"][0]["dataActions"] if "delete" in one]


def test_no_lifecycle_rule_touches_a_current_checkpoint():
    rules = only("checkpoints-dev-aws", "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration", "tune")
    assert all("expiration" not in rule for rule in rules["rules"])
    bucket = only("checkpoints-dev-gcp", "gcp:storage/bucket:Bucket", "pretrain")
    for rule in bucket["lifecycleRules"]:
        assert rule["action"]["type"] == "AbortIncompleteMultipartUpload" or (
            rule["condition"]["withState"] == "ARCHIVED"
        )
    assert bucket["softDeletePolicy"]["retentionDurationSeconds"] >= 604800
    assert bucket["forceDestroy"] is False
    policy = only("checkpoints-prod-azure", "azure-native:storage:ManagementPolicy")["policy"]
    assert list(policy["rules"][0]["definition"]["actions"]) == ["version"]
