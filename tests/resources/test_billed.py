"""Services whose bill rows of billed.csv say: a month of each as worked out by hand from the price of its parts."""

from decimal import Decimal

import pytest

from sizewell.resources import UNKNOWN
from sizewell.resources.tables.gaps import fee_key
from sizewell.sizing.money import Unpriced
from tests.resources.test_ai_types import make, priced

MSK = "aws:msk/cluster:Cluster"
SEARCH = "aws:opensearch/domain:Domain"
AZURE = "azure-native"
REDIS, SQL = f"{AZURE}:redis:Redis", f"{AZURE}:sql:Database"
GIB = 2**30
STORAGE = {"storageInfo": {"ebsStorageInfo": {"volumeSize": 1000}}}
RULES = [{"name": "a"}, {"name": "b", "statement": {"managedRuleGroupStatement": {
    "vendorName": "AWS", "name": "AWSManagedRulesBotControlRuleSet"}}}]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "inputs", "region", "usd"),
    [
        (MSK, {"numberOfBrokerNodes": 4, "brokerNodeGroupInfo": {"instanceType": "kafka.m5.24xlarge", **STORAGE}},
         "us-east-1", "29833.60"),  # 4 x 730 x 10.08 and 4,000 GB at 0.10
        (SEARCH, {"clusterConfig": {"instanceType": "m5.large.search", "instanceCount": 3}}, "eu-west-1", "346.02"),
        (SEARCH, {"clusterConfig": {"instanceType": "c4.2xlarge.search", "instanceCount": 3,
                                    "dedicatedMasterEnabled": True, "dedicatedMasterType": "c4.8xlarge.search",
                                    "dedicatedMasterCount": 1, "warmEnabled": True, "warmCount": 2,
                                    "warmType": "ultrawarm1.medium.search"},
                  "ebsOptions": {"ebsEnabled": True, "volumeSize": 400, "volumeType": "gp2"}},
         "us-east-1", "3508.32"),  # 1,285.53 + 1,713.31 + 347.48 and 3 x 54.00: each node has its disk
        (SEARCH, {"clusterConfig": {"instanceType": "m5.large.search", "dedicatedMasterCount": 3}}, "us-east-1",
         "103.66"),  # masters that are not switched on
        ("aws:mq/broker:Broker", {"engineType": "ActiveMQ", "hostInstanceType": "mq.m5.large",
                                  "deploymentMode": "ACTIVE_STANDBY_MULTI_AZ"}, "us-east-1", "420.48"),
        ("aws:mq/broker:Broker", {"hostInstanceType": "mq.t2.micro"}, "us-east-1", "21.90"),
        ("aws:docdb/clusterInstance:ClusterInstance", {"instanceClass": "db.r5.4xlarge"}, "us-east-2", "1617.68"),
        ("aws:neptune/clusterInstance:ClusterInstance", {"instanceClass": "db.r4.large"}, "eu-west-2", "297.84"),
        ("aws:redshift/cluster:Cluster", {"nodeType": "dc2.large", "numberOfNodes": 4}, "us-east-1", "730.00"),
        ("aws:redshift/cluster:Cluster", {"nodeType": "ra3.4xlarge", "numberOfNodes": 2, "multiAz": True},
         "us-east-1", "9519.20"),
        ("aws:route53/zone:Zone", {"name": "example.com"}, "eu-west-1", "0.50"),
        ("aws:route53/resolverEndpoint:ResolverEndpoint", {"ipAddresses": [{}, {}]}, "us-east-1", "182.50"),
        ("aws:wafv2/webAcl:WebAcl", {"scope": "REGIONAL", "rules": RULES}, "eu-west-1", "17.00"),  # 5 + 2 + 10
        ("aws:wafv2/ruleGroup:RuleGroup", {"capacity": 9, "rules": [{}]}, "us-east-1", "1.00"),
        (f"{AZURE}:web:AppServicePlan", {"sku": {"name": "P1v3", "capacity": 2}, "reserved": True}, "", "226.30"),
        (f"{AZURE}:web:AppServicePlan", {"sku": {"name": "B2"}}, "", "109.50"),  # Windows where nothing says Linux
        ("azure:appservice/servicePlan:ServicePlan", {"skuName": "P1v3", "osType": "Linux"}, "", "113.15"),
        (f"{AZURE}:apimanagement:ApiManagementService", {"sku": {"name": "Premium", "capacity": 4}}, "", "11180.68"),
        (f"{AZURE}:network:AzureFirewall", {"sku": {"tier": "Premium"}}, "", "1277.50"),
        (f"{AZURE}:network:VirtualNetworkGateway", {"sku": {"name": "VpnGw5"}}, "", "2664.50"),
        (f"{AZURE}:search:Service", {"sku": {"name": "basic"}, "replicaCount": 2, "partitionCount": 2}, "", "294.92"),
        (f"{AZURE}:redisenterprise:RedisEnterprise", {"sku": {"name": "Balanced_B3"}}, "", "94.90"),
        (f"{AZURE}:redisenterprise:RedisEnterprise",
         {"sku": {"name": "Balanced_B3"}, "highAvailability": "Disabled"}, "", "47.45"),
        (f"{AZURE}:servicebus:Namespace",
         {"sku": {"name": "Premium", "capacity": 4}, "location": "westeurope"}, "", "2708.30"),
        (f"{AZURE}:eventhub:Namespace", {"sku": {"name": "Standard", "capacity": 20}}, "", "438.00"),
        (f"{AZURE}:dns:Zone", {"location": "global"}, "", "0.50"),
        (REDIS, {"sku": {"name": "Premium", "family": "P", "capacity": 2}, "shardCount": 3, "replicasPerPrimary": 2},
         "", "3646.35"),
        (REDIS, {"sku": {"name": "Standard", "family": "C", "capacity": 3}}, "", "328.50"),
        (REDIS, {"sku": {"name": "Basic", "family": "C", "capacity": 4}}, "", "153.30"),
        (SQL, {"sku": {"name": "S1", "tier": "Standard"}}, "", "29.43"),
        (SQL, {"sku": {"name": "S12"}, "maxSizeBytes": 500 * GIB}, "", "4458.09"),  # 250 GB above what is included
        (SQL, {"sku": {"name": "GP_Gen5", "capacity": 4}, "maxSizeBytes": 5 * GIB}, "", "737.12"),  # log included
        (SQL, {"sku": {"name": "GP_Gen5_4"}, "maxSizeBytes": 5 * GIB, "licenseType": "BasePrice"}, "", "445.22"),
        (SQL, {"sku": {"name": "GP_Gen5", "capacity": 4}, "maxSizeBytes": 5 * GIB, "zoneRedundant": True}, "",
         "1004.55"),
        (SQL, {"sku": {"name": "HS_Gen5", "capacity": 2}, "highAvailabilityReplicaCount": 2}, "", "800.05"),  # no licence
        ("gcp:redis/instance:Instance", {"memorySizeGb": 25, "tier": "STANDARD_HA"}, "", "839.50"),
        ("gcp:redis/instance:Instance", {"memorySizeGb": 1}, "", "35.77"),
        ("gcp:redis/cluster:Cluster", {"shardCount": 3, "replicaCount": 2, "nodeType": "REDIS_SHARED_CORE_NANO"}, "",
         "208.93"),
        ("gcp:dns/managedZone:ManagedZone", {"dnsName": "example.com."}, "", "0.20"),
    ],
)  # fmt: skip
def test_a_service_costs_what_its_parts_do(kind, inputs, region, usd):
    pricing = priced(make(kind, inputs), config={"aws:region": region} if region else None)
    assert not pricing.unpriced
    assert round(pricing.cost().run_rate.usd_per_month.expected, 2) == Decimal(usd)


@pytest.mark.parametrize(
    ("kind", "inputs", "why"),
    [
        (MSK, {"numberOfBrokerNodes": 3}, "its kind is not stated (brokerNodeGroupInfo.instanceType)"),
        (MSK, {"numberOfBrokerNodes": UNKNOWN, "brokerNodeGroupInfo": {"instanceType": "kafka.t3.small"}}, "deploy"),
        (MSK, {"numberOfBrokerNodes": 3, "brokerNodeGroupInfo": {"instanceType": UNKNOWN}}, "only after deployment"),
        (MSK, {"brokerNodeGroupInfo": {"instanceType": "kafka.z9.large"}}, "msk.kafka.z9.large"),
        (SEARCH, {"clusterConfig": {"warmEnabled": UNKNOWN}}, "known only after deployment"),
        (SEARCH, {"ebsOptions": {"ebsEnabled": True}}, "no size is stated"),
        (REDIS, {"sku": {"name": "Premium", "family": "P", "capacity": 2}, "shardCount": UNKNOWN}, "deployment"),
        (REDIS, {"sku": {"name": "Standard", "family": "C", "capacity": 6}}, "redis.standard.c6"),
        (SQL, {}, "no size is stated"),
        (SQL, {"sku": {"name": "DW100c"}}, "not known"),
        (SQL, {"sku": {"name": "GP_S_Gen5_1"}}, "vcpu_hours"),
        ("gcp:redis/instance:Instance", {"memorySizeGb": 5, "tier": "STANDARD_HA",
                                         "readReplicasMode": "READ_REPLICAS_ENABLED"}, "no price here"),
        (f"{AZURE}:search:Service", {"sku": {"name": UNKNOWN}}, "only after deployment"),
        ("aws:wafv2/webAcl:WebAcl", {"ruleJson": "[{}]"}, "not in the catalog"),
    ],
)  # fmt: skip
def test_what_is_not_known_of_a_service_is_no_price(kind, inputs, why):
    lines = priced(make(kind, inputs)).items
    assert any(isinstance(line.price, Unpriced) and why in line.price.reason for line in lines), lines


def test_a_machine_of_a_cluster_without_fees_for_io_has_the_price_of_that():
    cluster = make("aws:neptune/cluster:Cluster", {"clusterIdentifier": "c", "storageType": "iopt1"}, "c")
    inputs = {"clusterIdentifier": UNKNOWN, "instanceClass": "db.t3.medium"}
    machine = make("aws:neptune/clusterInstance:ClusterInstance", inputs, "m", clusterIdentifier=cluster)
    cost = priced(cluster, machine, config={"aws:region": "eu-west-2"}).cost()
    assert round(cost.run_rate.usd_per_month.expected, 2) == Decimal("110.23")


def test_the_key_of_a_fee_has_what_a_resource_states():
    assert fee_key("a.{os?linux:windows}", {"os": "false"}) == "a.windows"
    assert fee_key("a.{kind=b}", {}) == "a.b"
    assert fee_key("a.{kind}", {}) is None
    assert fee_key("a.{sku.name}", {"sku": UNKNOWN}) is UNKNOWN


def test_what_a_service_gives_away_is_free():
    for kind, inputs in (
        (f"{AZURE}:search:Service", {"sku": {"name": "free"}}),
        (SQL, {"elasticPoolId": "pool", "sku": {"name": "ElasticPool"}}),
        (f"{AZURE}:web:AppServicePlan", {"sku": {"name": "F1"}}),
    ):
        pricing = priced(make(kind, inputs))
        assert pricing.items == ()
        assert pricing.free


CERTIFICATE, STAGE = "aws:acm/certificate:Certificate", "aws:apigateway/stage:Stage"
COSMOS = f"{AZURE}:cosmosdb"


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        (CERTIFICATE, "free"),
        ("aws:acm/certificateValidation:CertificateValidation", "free"),
        ("aws:route53/record:Record", "free"),
        ("aws:elasticache/subnetGroup:SubnetGroup", "free"),
        ("aws:apigateway/method:Method", "free"),
        ("aws:backup/vault:Vault", "by use"),
        ("aws:cloudtrail/trail:Trail", "by use"),
        ("aws-native:route53:RecordSet", "free"),
        ("aws-native:lambda:Permission", "free"),
        ("gcp:dns/recordSet:RecordSet", "free"),
        ("gcp:secretmanager/secret:Secret", "free"),
        ("gcp:secretmanager/secretVersion:SecretVersion", "by use"),
        ("gcp:certificatemanager/certificate:Certificate", "by use"),
        (f"{AZURE}:dns:RecordSet", "free"),
        (f"{AZURE}:sql:FirewallRule", "free"),
        (f"{AZURE}:servicebus:Queue", "free"),
        (f"{AZURE}:recoveryservices:Vault", "by use"),
        (f"{COSMOS}:DatabaseAccount", "by use"),
        (f"{COSMOS}:SqlResourceSqlDatabase", "free"),
        ("azure:core/resourceGroup:ResourceGroup", "free"),
        ("azure:network/virtualNetwork:VirtualNetwork", "free"),
    ],
)
def test_what_only_configures_or_bills_by_use_is_no_gap(kind: str, state: str) -> None:
    found = priced(make(kind, {}))
    assert (len(found.free), len(found.by_use), len(found.items)) == ((1, 0, 0) if state == "free" else (0, 1, 0))


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        (CERTIFICATE, {"certificateAuthorityArn": "arn:aws:acm-pca:us-east-1:1:certificate-authority/a"}),
        (CERTIFICATE, {"options": {"export": "ENABLED"}}),
        (STAGE, {"cacheClusterEnabled": True, "cacheClusterSize": "0.5"}),
        ("aws:kinesis/stream:Stream", {"shardCount": 2}),
        ("aws:kinesis/stream:Stream", {"streamModeDetails": {"streamMode": "ON_DEMAND"}}),
        ("aws:shield/subscription:Subscription", {}),
        (f"{AZURE}:cdn:Profile", {"sku": {"name": "Premium_AzureFrontDoor"}}),
        (f"{COSMOS}:SqlResourceSqlDatabase", {"options": {"throughput": 400}}),
        (f"{COSMOS}:SqlResourceSqlContainer", {"options": {"autoscaleSettings": {"maxThroughput": 4000}}}),
        (f"{COSMOS}:SqlResourceSqlContainer", {"accountName": "elsewhere"}),
    ],
)
def test_what_an_input_of_it_bills_is_not_free(kind: str, inputs: dict[str, object]) -> None:
    found = priced(make(kind, inputs))
    assert found.items
    assert not found.free
    assert not found.unknown


def test_a_container_is_billed_with_the_account_or_the_database_that_it_shares() -> None:
    serverless = make(f"{COSMOS}:DatabaseAccount", {"capabilities": [{"name": "EnableServerless"}]}, "account")
    container = make(f"{COSMOS}:SqlResourceSqlContainer", {"accountName": UNKNOWN}, accountName=serverless)
    assert not priced(serverless, container).unpriced
    database = make(f"{COSMOS}:SqlResourceSqlDatabase", {"options": {"throughput": 400}}, "db")
    shared = make(f"{COSMOS}:SqlResourceSqlContainer", {"databaseName": UNKNOWN}, databaseName=database)
    assert [urn for urn, *_ in priced(database, shared).unpriced] == [database.urn]
    assert priced(database, shared, rates=[{"fee": "cosmosdb.ru_hour", "usd": "0.00008"}]).cost().unpriced == ()


EMR, DATAPROC = "aws:emr/cluster:Cluster", "gcp:dataproc/cluster:Cluster"
ALIVE = {"keepJobFlowAliveWhenNoSteps": True}
MASTER = {"masterInstanceGroup": {"instanceType": "m5.xlarge"}}
T4_NODES = {"instanceType": "g4dn.xlarge", "instanceCount": 4}
WORKERS = {
    "numInstances": 2,
    "machineType": "n1-standard-8",
    "accelerators": [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 1}],
}


@pytest.mark.parametrize(
    ("kind", "inputs", "floor", "expected"),
    [
        # 4 x 0.526 and 0.192 by the hour; a cluster that ends after its steps, or when it is idle, may cost nothing
        (EMR, {**MASTER, **ALIVE, "coreInstanceGroup": T4_NODES}, "1676.08", "1676.08"),
        (EMR, {**MASTER, "coreInstanceGroup": T4_NODES}, "0.00", "1676.08"),
        (EMR, {**MASTER, **ALIVE, "autoTerminationPolicy": {"idleTimeout": 3600}}, "0.00", "140.16"),
        (EMR, {**ALIVE, "masterInstanceFleet": {"targetOnDemandCapacity": 1,
                                                "instanceTypeConfigs": [{"instanceType": "m5.xlarge"}]}},
         "140.16", "140.16"),
        ("aws:emr/instanceGroup:InstanceGroup", T4_NODES, "1535.92", "1535.92"),
        # a master, 2 workers and their T4s at 0.19, 0.379998 and 0.35, less 30 % for
        # sustained use, and 500 GB each at 0.04, the service's own size
        (DATAPROC, {"region": "us-central1", "clusterConfig": {
            "masterConfig": {"machineType": "n1-standard-4"}, "workerConfig": WORKERS}}, "903.15", "903.15"),
        (f"{AZURE}:hdinsight:Cluster", {"properties": {"computeProfile": {"roles": [
            {"name": "workernode", "targetInstanceCount": 2, "hardwareProfile": {"vmSize": "Standard_NC4as_T4_v3"}}]}}},
         "767.96", "767.96"),
    ],
)  # fmt: skip
def test_machines_of_a_cluster_for_data_are_priced_beside_its_surcharge(
    kind: str, inputs: dict[str, object], floor: str, expected: str
) -> None:
    found = priced(make(kind, inputs))
    month = found.cost().run_rate.usd_per_month
    assert (str(month.floor), str(month.expected)) == (floor, expected)
    service = "EMR" if "emr" in kind else "Dataproc" if "dataproc" in kind else "HDInsight"
    without = [line.what for line in found.items if isinstance(line.price, Unpriced)]
    assert {what.partition(",")[0] for what in without} == {f"{service} surcharge"}


@pytest.mark.parametrize(
    ("ends", "floor"), [({"autoTerminationPolicy": {"idleTimeout": 3600}}, "0.00"), ({}, "1676.08")]
)
def test_a_group_of_its_own_ends_with_its_cluster(ends: dict[str, object], floor: str) -> None:
    cluster = make(EMR, {**MASTER, **ALIVE, **ends}, "c")
    group = make("aws:emr/instanceGroup:InstanceGroup", {**T4_NODES, "clusterId": UNKNOWN}, "g", clusterId=cluster)
    month = priced(cluster, group).cost().run_rate.usd_per_month
    assert (str(month.floor), str(month.expected)) == (floor, "1676.08")


def test_a_policy_that_scales_a_cluster_for_data_moves_its_ceiling() -> None:
    cluster = make(EMR, {**MASTER, **ALIVE, "coreInstanceGroup": T4_NODES}, "c")
    limits = {"computeLimits": [{"unitType": "Instances", "minimumCapacityUnits": 1, "maximumCapacityUnits": 10}]}
    policy = make("aws:emr/managedScalingPolicy:ManagedScalingPolicy", {"clusterId": UNKNOWN, **limits}, "p",
                  clusterId=cluster)  # fmt: skip
    assert str(priced(cluster, policy).cost().run_rate.usd_per_month.ceiling) == "3979.96"  # 10 x 0.526 and 0.192


def test_apps_of_a_studio_are_named_with_the_rate_of_the_machine_that_it_sets() -> None:
    apps = {"jupyterLabAppSettings": {"defaultResourceSpec": {"instanceType": "ml.g5.xlarge"}}}
    studio = make("aws:sagemaker/domain:Domain", {"defaultUserSettings": apps})
    assert priced(studio).outside == ("it: apps on ml.g5.xlarge (it): 1.4084 USD/h each while open, not in totals",)
    used = priced(studio, usage=[{"resource": "it", "machine_hours": 100}])
    assert str(used.cost().run_rate.usd_per_month.expected) == "140.84"


@pytest.mark.parametrize(
    ("wanted", "most", "base", "above", "usd"),
    [
        # 12 hours on 5 days are 260 of a month: 1.006 on demand and 0.4125 on spot for each machine
        (2, 4, 1, 0, "368.81"),
        (4, 8, 2, 50, "891.93"),  # the base of 2 and one of the other two
        (2, 10, 2, 0, "523.12"),
    ],
)
def test_the_base_of_a_mixed_group_is_filled_first_by_what_runs(
    wanted: int, most: int, base: int, above: int, usd: str
) -> None:
    template = make("aws:ec2/launchTemplate:LaunchTemplate", {"instanceType": "g5.xlarge"}, "lt")
    shares = {"onDemandBaseCapacity": base, "onDemandPercentageAboveBaseCapacity": above}
    policy = {"launchTemplate": {"launchTemplateSpecification": {"launchTemplateId": UNKNOWN}},
              "instancesDistribution": shares}  # fmt: skip
    group = make(
        "aws:autoscaling/group:Group",
        {"minSize": 0, "maxSize": most, "desiredCapacity": wanted, "mixedInstancesPolicy": policy},
        "g",
        mixedInstancesPolicy=template,
    )
    up, down = (
        make("aws:autoscaling/schedule:Schedule",
             {"autoscalingGroupName": UNKNOWN, "recurrence": f"0 {hour} * * 1-5", "desiredCapacity": size},
             f"at-{hour}", autoscalingGroupName=group)
        for hour, size in ((7, wanted), (19, 0))
    )  # fmt: skip
    assert str(priced(template, group, up, down).cost().run_rate.usd_per_month.expected) == usd


def test_a_pool_of_aks_is_in_the_region_of_its_cluster_or_of_the_classic_provider() -> None:
    cluster = make("azure:containerservice/kubernetesCluster:KubernetesCluster",
                   {"location": "eastus", "defaultNodePool": {"vmSize": "Standard_D4s_v3", "nodeCount": 1}}, "aks")  # fmt: skip
    sizes = {"vmSize": "Standard_NC4as_T4_v3", "nodeCount": 1, "kubernetesClusterId": UNKNOWN}
    pool = make(
        "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool", sizes, "p",
        kubernetesClusterId=cluster,
    )  # fmt: skip
    for resources, place in (((cluster, pool), {}), ((pool,), {"azure:location": "eastus"})):
        found = priced(*resources, config={"azure-native:location": "", **place})
        assert [str(line.cost().expected) for line in found.items if line.what.startswith("Standard_NC4")] == ["383.98"]


def test_machines_of_gpu_profiles_are_no_zero_while_their_price_is_not_known() -> None:
    profiles = [{"name": "big", "workloadProfileType": "NC24-A100", "minimumCount": 0, "maximumCount": 2}]
    env = make(f"{AZURE}:app:ManagedEnvironment", {"workloadProfiles": profiles}, "env")
    app = make(f"{AZURE}:app:ContainerApp", {"environmentId": UNKNOWN, "workloadProfileName": "big"}, "app",
               environmentId=env)  # fmt: skip
    found = priced(env, app)
    assert [urn for urn, *_ in found.unpriced] == [env.urn]
    assert [urn for urn, *_ in found.free] == [app.urn]


RUN, RUN_V1 = "gcp:cloudrunv2/service:Service", "gcp:cloudrun/service:Service"


def kept(least: int, most: int | None = None, **resources: object) -> dict[str, object]:
    limits = {"limits": {"cpu": "2000m", "memory": "1Gi"}, **resources}
    scaling = {"minInstanceCount": least, **({} if most is None else {"maxInstanceCount": most})}
    return {"location": "us-central1", "template": {"containers": [{"resources": limits}], "scaling": scaling}}


@pytest.mark.parametrize(
    ("kind", "inputs", "month"),
    [
        # 2 vCPU at 0.000018 and 1 GiB at 0.000002 a second are 94.61 and 5.26 a month for each instance
        (RUN, kept(1), ("99.87", "99.87", "99.87")),
        (RUN, kept(2, 5), ("199.73", "199.73", "499.32")),
        (RUN, kept(1, cpuIdle=True), None),  # idle CPU has a rate of its own
        (RUN, {"location": "us-central1", "template": {"containers": [{}], "scaling": {"minInstanceCount": 1}}}, None),
        (RUN_V1, {"location": "us-central1", "template": {
            "metadata": {"annotations": {"autoscaling.knative.dev/minScale": "1",
                                         "run.googleapis.com/cpu-throttling": "false"}},
            "spec": {"containers": [{"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}]}}},
         ("99.87", "99.87", "99.87")),
        (RUN_V1, {"location": "us-central1", "template": {
            "metadata": {"annotations": {"autoscaling.knative.dev/minScale": "1"}},
            "spec": {"containers": [{"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}]}}}, None),
    ],
)  # fmt: skip
def test_instances_of_cloud_run_that_are_kept_bill_their_cpu_and_memory(
    kind: str, inputs: dict[str, object], month: tuple[str, str, str] | None
) -> None:
    found = priced(make(kind, inputs))
    if month is None:
        assert found.unpriced
        return
    usd = found.cost().run_rate.usd_per_month
    assert (str(usd.floor), str(usd.expected), str(usd.ceiling)) == month
