"""What of a service's offers a resource names that the service ends: runtimes, releases of data services, and SKUs.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import canonical, flag, get, items

Offer = tuple[str, str, str]  # kind, name and version of a row of releases.csv

MESH: Final = ("runtime", "aks/istio")  # kind and name of the rows of AKS's service mesh, by revision
# Type of a data service -> (name of the rows, input with the version); {engine} is that of `engine_of`.
DATABASES: Final = {
    "aws:msk/cluster:Cluster": ("aws:msk/kafka", "kafkaVersion"),
    "aws:neptune/cluster:Cluster": ("aws:neptune/neptune", "engineVersion"),
    "aws:mq/broker:Broker": ("aws:mq/{engine}", "engineVersion"),
    "aws:docdb/cluster:Cluster": ("aws:docdb/docdb", "engineVersion"),
    "aws:elasticache/replicationGroup:ReplicationGroup": ("aws:elasticache/{engine}", "engineVersion"),
    "aws:elasticache/cluster:Cluster": ("aws:elasticache/{engine}", "engineVersion"),
    "aws:opensearch/domain:Domain": ("aws:opensearch/{engine}", "engineVersion"),
    "aws:elasticsearch/domain:Domain": ("aws:opensearch/elasticsearch", "elasticsearchVersion"),
}


def engine_of(inputs: Mapping[str, Any], version: str) -> tuple[object, str]:
    """The engine and the version of a data service, which some state in one word.

    >>> engine_of({}, "POSTGRES_9_6"), engine_of({"engineType": "RabbitMQ"}, "3.12.13")
    (('postgres', '9.6'), ('rabbitmq', '3.12.13'))
    >>> engine_of({"engine": "sqlserver-se"}, "15.00.4455.2.v1")
    ('sqlserver', '15.00.4455.2.v1')
    """
    engine, _, number = version.lower().partition("_")
    if engine.isalpha() and number[:1].isdigit():
        return engine, number.replace("_", ".")
    stated = inputs.get("engine", inputs.get("engineType"))
    if not isinstance(stated, str):
        return stated, version
    edition = re.match(r"(sqlserver|oracle)-", stated.lower())
    return edition[1] if edition else stated.lower(), version


# Kind -> what to do once it has ended.
INSTEAD: Final = {
    "runtime": "name a runtime that is supported (sizewell ages show --kind runtime)",
    "sku": "name the SKU that took its place",
    "service": "take another service in its place",
}
_OF_AZURE: Final = "take an image of a system that is supported, such as Ubuntu 24.04 or Debian 12"
# How a type begins -> systems that it can have in place of one that has ended.
_SYSTEMS: Final = {
    "azure-native:containerservice:": "set osSKU to Ubuntu or AzureLinux, or to a newer one of Windows",
    "azure:containerservice/": "set os_sku to Ubuntu or AzureLinux, or to a newer one of Windows",
    "aws:eks/": "take an ami_type of Amazon Linux 2023 or Bottlerocket",
    "kubernetes:karpenter.k8s.aws/": "take the alias al2023 or bottlerocket",
    "aws:batch/": "take ECS_AL2023 or ECS_AL2023_NVIDIA",
    "aws:sagemaker/": "take the newest platform_identifier, notebook-al2023-v1",
    "gcp:": "take an image of a system that is supported, such as Debian 12, Ubuntu 24.04 or Rocky Linux 9",
    "azure-native:": _OF_AZURE,
    "azure:": _OF_AZURE,
    "": "take an image of a system that is supported, such as Amazon Linux 2023 or Ubuntu 24.04",
}


# Images that have a driver, or run other programs -> one of the same kind, since another would be of no use.
_ALIKE: Final = (
    (r"ubuntu-hpc", "take ubuntu-hpc of a newer Ubuntu, which has the driver: SKU 2204 or 2404"),
    (
        r"/ecs/optimized-ami/.*gpu",
        "take ECS's image with the driver: /aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id",
    ),
    (
        r"/eks/optimized-ami/.*gpu",
        "take EKS's image with the driver: /aws/service/eks/optimized-ami/VERSION/amazon-linux-2023/x86_64/nvidia",
    ),
    (
        r"deep ?learning (?!.*neuron)|/service/deeplearning/(?!.*neuron)",
        "take the Deep Learning AMI of Amazon Linux 2023 or of a newer Ubuntu, which has the driver",
    ),
    (
        r"\.dkr\.ecr\.[\w-]+\.amazonaws\.com",
        "take a newer release of AWS's Deep Learning Containers, on Ubuntu 22.04 or Amazon Linux 2023",
    ),
    (r"windows\W?server|windows-cloud/|windows_server", "take Windows Server 2022 or 2025"),
    (r"neuron", "take the Neuron image of Amazon Linux 2023 or of a newer Ubuntu, which has the driver"),
    (
        r"deeplearning-platform-release|ml-images|\bcommon-cu\d|-gpu-",
        "take a newer Deep Learning VM, which has the driver, such as family common-cu128-ubuntu-2204-nvidia-570",
    ),
)


def system_instead(type_: str, image: str) -> str:
    """What to do once the system in an image of a resource has ended.

    >>> system_instead("azure-native:compute:VirtualMachine", "debian:debian-10:10")
    'take an image of a system that is supported, such as Ubuntu 24.04 or Debian 12'
    >>> system_instead("azure-native:compute:VirtualMachine", "microsoft-dsvm:ubuntu-hpc:2004")
    'take ubuntu-hpc of a newer Ubuntu, which has the driver: SKU 2204 or 2404'
    """
    kept = (words for pattern, words in _ALIKE if re.search(pattern, image, re.IGNORECASE))
    return next(kept, "") or next(words for begins, words in _SYSTEMS.items() if type_.startswith(begins))


_OF_CODE: Final = ("sourceConfiguration", "codeRepository", "codeConfiguration", "codeConfigurationValues", "runtime")
# Type -> (name of the rows, path of the runtime).
_RUNTIMES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "aws:lambda/function:Function": ("aws/lambda", ("runtime",)),
    "aws-native:lambda:Function": ("aws/lambda", ("runtime",)),
    "gcp:cloudfunctions/function:Function": ("gcp/functions", ("runtime",)),
    "gcp:cloudfunctionsv2/function:Function": ("gcp/functions", ("buildConfig", "runtime")),
    "gcp:appengine/standardAppVersion:StandardAppVersion": ("gcp/app-engine", ("runtime",)),
    "aws:apprunner/service:Service": ("aws/app-runner", _OF_CODE),
    "aws-native:apprunner:Service": ("aws/app-runner", _OF_CODE),
}
# Type -> (name of the rows, path of the release), which has one number and a word before or behind it.
_RELEASES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "aws:emr/cluster:Cluster": ("aws/emr", ("releaseLabel",)),
    "aws-native:emr:Cluster": ("aws/emr", ("releaseLabel",)),
    "aws:emrserverless/application:Application": ("aws/emr", ("releaseLabel",)),
    "aws-native:emrserverless:Application": ("aws/emr", ("releaseLabel",)),
    "aws:glue/job:Job": ("aws/glue", ("glueVersion",)),
    "aws-native:glue:Job": ("aws/glue", ("glueVersion",)),
    "gcp:dataproc/cluster:Cluster": ("gcp/dataproc", ("clusterConfig", "softwareConfig", "imageVersion")),
    "gcp:dataproc/workflowTemplate:WorkflowTemplate": (
        "gcp/dataproc", ("placement", "managedCluster", "config", "softwareConfig", "imageVersion"),
    ),
    "gcp:composer/environment:Environment": ("gcp/composer", ("config", "softwareConfig", "imageVersion")),
    "aws:kinesisanalyticsv2/application:Application": ("aws/flink", ("runtimeEnvironment",)),
    "aws-native:kinesisanalyticsv2:Application": ("aws/flink", ("runtimeEnvironment",)),
    "azure-native:synapse:BigDataPool": ("azure/synapse-spark", ("sparkVersion",)),
    "azure:synapse/sparkPool:SparkPool": ("azure/synapse-spark", ("sparkVersion",)),
    "azure-native:hdinsight:Cluster": ("azure/hdinsight", ("properties", "clusterVersion")),
    "azure:hdinsight/sparkCluster:SparkCluster": ("azure/hdinsight", ("clusterVersion",)),
    "azure:hdinsight/hadoopCluster:HadoopCluster": ("azure/hdinsight", ("clusterVersion",)),
    "azure:hdinsight/hBaseCluster:HBaseCluster": ("azure/hdinsight", ("clusterVersion",)),
    "azure:hdinsight/kafkaCluster:KafkaCluster": ("azure/hdinsight", ("clusterVersion",)),
    "azure:hdinsight/interactiveQueryCluster:InteractiveQueryCluster": ("azure/hdinsight", ("clusterVersion",)),
}  # fmt: skip
_CANARY: Final = ("aws:synthetics/canary:Canary", "aws-native:synthetics:Canary")
_SITES: Final = ("azure-native:web:WebApp", "azure-native:web:WebAppSlot")
_STACKS: Final = ("azure:appservice/linuxFunctionApp:LinuxFunctionApp", "azure:appservice/linuxWebApp:LinuxWebApp")
# Key of classic Azure's applicationStack -> language of the rows.
_LANGUAGES: Final = {
    "dotnetVersion": "dotnet", "nodeVersion": "node", "phpVersion": "php", "powershellCoreVersion": "powershell",
    "pythonVersion": "python",
}  # fmt: skip
# Types of Elastic Beanstalk, which states its platform in a sentence.
_BEANSTALK: Final = (
    "aws:elasticbeanstalk/environment:Environment",
    "aws:elasticbeanstalk/configurationTemplate:ConfigurationTemplate",
    "aws-native:elasticbeanstalk:Environment", "aws-native:elasticbeanstalk:ConfigurationTemplate",
)  # fmt: skip
_CODEBUILD: Final = ("aws:codebuild/project:Project", "aws-native:codebuild:Project")
_VPN: Final = {"azure-native:network:VirtualNetworkGateway": ("sku", "name"),
               "azure:network/virtualNetworkGateway:VirtualNetworkGateway": ("sku",)}  # fmt: skip
# Type -> (name of the rows, path of the SKU).
_SKUS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "azure-native:network:LoadBalancer": ("azure/load-balancer", ("sku", "name")),
    "azure:lb/loadBalancer:LoadBalancer": ("azure/load-balancer", ("sku",)),
    "azure-native:network:PublicIPAddress": ("azure/public-ip", ("sku", "name")),
    "azure:network/publicIp:PublicIp": ("azure/public-ip", ("sku",)),
    "azure-native:containerservice:ManagedCluster": ("azure/aks-load-balancer", ("networkProfile", "loadBalancerSku")),
    "azure:containerservice/kubernetesCluster:KubernetesCluster": (
        "azure/aks-load-balancer", ("networkProfile", "loadBalancerSku"),
    ),
    "azure-native:containerservice:AgentPool": ("azure/aks-pool", ("type",)),
    "azure-native:network:ApplicationGateway": ("azure/application-gateway", ("sku", "tier")),
    "azure:network/applicationGateway:ApplicationGateway": ("azure/application-gateway", ("sku", "tier")),
    "azure-native:cdn:Profile": ("azure/cdn", ("sku", "name")),
    "azure:cdn/profile:Profile": ("azure/cdn", ("sku",)),
    "azure-native:storage:StorageAccount": ("azure/storage-account", ("kind",)),
    "azure:storage/account:Account": ("azure/storage-account", ("accountKind",)),
    "azure-native:maps:Account": ("azure/maps", ("sku", "name")),
    "azure:maps/account:Account": ("azure/maps", ("skuName",)),
    "azure-native:web:StaticSite": ("azure/static-site", ("sku", "name")),
    "azure-native:sql:Database": ("azure/sql-database", ("sku", "name")),
    "azure:mssql/database:Database": ("azure/sql-database", ("skuName",)),
    "azure-native:databricks:Workspace": ("azure/databricks", ("sku", "name")),
    "azure:databricks/workspace:Workspace": ("azure/databricks", ("sku",)),
    "azure-native:cognitiveservices:Account": ("azure/cognitive-account", ("kind",)),
    "azure:cognitive/account:Account": ("azure/cognitive-account", ("kind",)),
    "aws:rds/cluster:Cluster": ("aws/aurora-engine-mode", ("engineMode",)),
    "aws-native:rds:DbCluster": ("aws/aurora-engine-mode", ("engineMode",)),
    "aws:rds/instance:Instance": ("aws/rds-certificate-authority", ("caCertIdentifier",)),
    "aws:rds/clusterInstance:ClusterInstance": ("aws/rds-certificate-authority", ("caCertIdentifier",)),
    "aws:docdb/clusterInstance:ClusterInstance": ("aws/rds-certificate-authority", ("caCertIdentifier",)),
    "aws-native:rds:DbInstance": ("aws/rds-certificate-authority", ("caCertificateIdentifier",)),
}  # fmt: skip


def offers(resource: RecordedResource) -> Iterator[Offer]:
    """Every runtime and SKU that is stated.

    >>> of = RecordedResource(urn="", type="aws:lambda/function:Function", name="f", inputs={"runtime": "python3.9"})
    >>> list(offers(of))
    [('runtime', 'aws/lambda', 'python3.9')]
    """
    type_, inputs = canonical(resource.type), resource.inputs
    if type_ in _RUNTIMES:
        name, path = _RUNTIMES[type_]
        if isinstance(runtime := get(inputs, *path), str):
            yield "runtime", name, runtime
    elif type_ in _RELEASES:
        name, path = _RELEASES[type_]
        stated = re.search(r"\d+(?:\.\d+)*", str(get(inputs, *path, default="")).replace("_", "."))
        if stated is not None and get(inputs, *path) != "SQL-1_0":  # of Kinesis itself, beside FLINK-1_8
            yield "runtime", name, stated[0]
    elif type_ in _BEANSTALK:
        yield from _beanstalk(str(inputs.get("solutionStackName")))
    elif type_ in _CANARY:
        yield from _canary(str(inputs.get("runtimeVersion")))
    elif type_ in _FLOW_LOGS:
        if _of_group(resource):
            yield "sku", "azure/flow-log", "of a network security group"
    elif type_ in _DISKS:
        disks = [disk for path in _DISKS[type_] for disk in _listed(get(inputs, *path))]
        if any(get(disk, key) not in (None, [], ()) for disk in disks for key in _BLOBS):
            yield "sku", "azure/disk", "unmanaged"
    elif type_ in _CODEBUILD:
        image = get(inputs, "environment", "image")
        if isinstance(image, str) and image.startswith("aws/codebuild/"):
            yield "runtime", "aws/codebuild", image.removeprefix("aws/codebuild/").replace(":", " ")
    elif type_ in _VPN:
        if get(inputs, "gatewayType", default=inputs.get("type")) in ("Vpn", None):
            yield from _sku("azure/vpn-gateway", get(inputs, *_VPN[type_]))
    elif type_ in _SITES or type_ in _STACKS:
        host = _host(inputs)
        if host is not None:
            yield "runtime", "azure/functions-host", host
        for language, version in _stack(inputs) if type_ in _STACKS else _site(inputs):
            functions = "FunctionApp" in type_ or "functionapp" in str(inputs.get("kind"))
            yield "runtime", f"azure/{'functions' if functions else 'app-service'}", f"{language} {version}"
    elif type_ in _SKUS:
        name, path = _SKUS[type_]
        yield from _sku(name, get(inputs, *path))
        profiles = items(inputs.get("agentPoolProfiles"))
        for profile in () if isinstance(profiles, Unknown) else profiles:
            yield from _sku("azure/aks-pool", get(profile, "type"))
        yield from _add_ons(inputs)
    elif type_ in _CONTAINERS:
        yield from _container_gpus(inputs)


def _canary(stated: str) -> Iterator[Offer]:
    """The runtime of a canary, whose first ones name no framework.

    >>> [version for name in ("syn-nodejs-puppeteer-3.9", "syn-1.0", "syn-nodejs-2.2") for _, _, version in _canary(name)]
    ['nodejs-puppeteer 3.9', 'nodejs-puppeteer 1.0', 'nodejs-puppeteer 2.2']
    """  # noqa: E501
    named = re.fullmatch(r"syn-([a-z-]*?)-?(\d+\.\d+)", stated)
    if named is not None:
        framework = "nodejs-puppeteer" if named[1] in ("", "nodejs") else named[1]
        yield "runtime", "aws/synthetics", f"{framework} {named[2]}"


_FLOW_LOGS: Final = (
    "azure-native:network:FlowLog", "azure:network/networkWatcherFlowLog:NetworkWatcherFlowLog",
)  # fmt: skip


def _of_group(log: RecordedResource) -> bool:
    """Whether a flow log is of a network security group, whose id says so, or the type of what it depends on."""
    stated = [log.inputs.get(key) for key in ("targetResourceId", "networkSecurityGroupId")]
    made = [
        urn for key in ("targetResourceId", "networkSecurityGroupId") for urn in log.property_dependencies.get(key, ())
    ]
    return any("networksecuritygroup" in each.lower() for each in (*stated, *made) if isinstance(each, str))


_STORAGE: Final = ("storageProfile", "osDisk"), ("storageProfile", "dataDisks")
# Type of machines -> paths of their disks, each of one disk or of several.
_DISKS: Final = {
    "azure-native:compute:VirtualMachine": _STORAGE,
    "azure-native:compute:VirtualMachineScaleSet": tuple(("virtualMachineProfile", *path) for path in _STORAGE),
    "azure:compute/virtualMachine:VirtualMachine": (("storageOsDisk",), ("storageDataDisks",)),
    "azure:compute/scaleSet:ScaleSet": (("storageProfileOsDisk",),),
}
_BLOBS: Final = ("vhd", "vhdUri", "vhdContainers")  # where a disk is one in a storage account


def _listed(stated: Any) -> tuple[Any, ...]:
    listed = items(stated) if isinstance(stated, list | tuple) else (stated,)
    return () if isinstance(listed, Unknown) else tuple(listed)


def _add_ons(inputs: Mapping[str, Any]) -> Iterator[Offer]:
    """The add-ons of AKS that are switched on.

    >>> [version for _, _, version in _add_ons({"addonProfiles": {"kubeDashboard": {"enabled": True}}})]
    ['kubeDashboard']
    """
    profiles = inputs.get("addonProfiles")
    stated = {name: get(profiles, name, "enabled") for name in (profiles if isinstance(profiles, Mapping) else ())}
    stated["httpApplicationRouting"] = stated.get("httpApplicationRouting", inputs.get("httpApplicationRoutingEnabled"))
    stated["openServiceMesh"] = stated.get("openServiceMesh", inputs.get("openServiceMeshEnabled"))
    stated["podIdentity"] = get(inputs, "podIdentityProfile", "enabled")
    for name, enabled in stated.items():
        if flag(enabled) is True:
            yield "sku", "azure/aks-add-on", name


_CONTAINERS: Final = ("azure-native:containerinstance:ContainerGroup", "azure:containerservice/group:Group")


def _container_gpus(inputs: Mapping[str, Any]) -> Iterator[Offer]:
    """The GPUs of Azure Container Instances."""
    listed = items(inputs.get("containers"))
    for container in () if isinstance(listed, Unknown) else listed:
        for holder in (get(container, "resources", "requests"), container):
            gpu = get(holder, "gpu")
            if isinstance(kind := get(gpu, "sku"), str):
                yield "sku", "azure/container-group-gpu", kind


def _beanstalk(stated: str) -> Iterator[Offer]:
    """The system and the language of a platform.

    >>> [version for _, _, version in _beanstalk("64bit Amazon Linux 2 v3.5.0 running Python 3.8")]
    ['Amazon Linux 2', 'python 3.8']
    """
    system = re.search(r"Amazon Linux( 2023| 2|) ?(?:\d{4}\.\d\d )?v", stated)
    language = re.search(r"running (Python|Node\.js|PHP|Ruby) (\d+(?:\.\d+)?)", stated)
    if system is not None:
        yield "runtime", "aws/beanstalk", f"Amazon Linux{system[1] or ' AMI'}"
    if language is not None:
        yield "runtime", "aws/beanstalk", f"{language[1].lower().removesuffix('.js')} {language[2]}"


def _host(inputs: Mapping[str, Any]) -> str | None:
    """The major version of the host of Azure Functions, where its settings state one.

    >>> _host({"siteConfig": {"appSettings": [{"name": "FUNCTIONS_EXTENSION_VERSION", "value": "~3"}]}})
    '3'
    """
    version = inputs.get("functionsExtensionVersion")
    settings = items(get(inputs, "siteConfig", "appSettings"))
    for each in () if isinstance(settings, Unknown) else settings:
        if get(each, "name") == "FUNCTIONS_EXTENSION_VERSION":
            version = get(each, "value")
    stated = re.fullmatch(r"~?(\d+)(?:\..*)?", version) if isinstance(version, str) else None
    return stated and stated[1]


def _sku(name: str, stated: object) -> Iterator[Offer]:
    if isinstance(stated, str):  # of a database with its number of cores
        yield "sku", name, re.sub(r"(?<=_Fsv2)_\d+$", "", stated) if stated != "basic" else "Basic"


def _site(inputs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of an App Service, whose runtime is one word as Python|3.9."""
    version = get(inputs, "siteConfig", "linuxFxVersion")
    found = re.fullmatch(r"(\w+)(?:-isolated|core)?\|(\d+(?:\.\d+)?)(?:\D.*)?", str(version), re.IGNORECASE)
    if isinstance(version, str) and found is not None:
        language, number = found[1].lower().removesuffix("core"), found[2]
        yield language, number.removesuffix(".0") if language == "dotnet" else number


def _stack(inputs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, language in _LANGUAGES.items():
        version = get(inputs, "siteConfig", "applicationStack", key)
        if isinstance(version, str):
            yield language, version.removesuffix(".0") if language == "dotnet" else version.removesuffix("-lts")
