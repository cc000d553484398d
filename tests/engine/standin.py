"""A stand-in for a cloud provider's plugin: `python standin.py PACKAGE` speaks the provider protocol over gRPC.

It keeps its cloud in a JSON file, `$SIZEWELL_STANDIN/<package>.json`, checks inputs against the SDK's own types,
refuses
what the cloud would refuse (refusals.py; a second one of a name, deleting what is protected or still in use) and does
as
`$SIZEWELL_STANDIN/orders.json` tells: `[{"call": "create", "type": "aws:ec2/...", "then": "fail|hang|lose", "times": 1,
"message": "InsufficientInstanceCapacity"}]`, or all of a `"package"`. "lose": the cloud has done it, but the answer
never arrives; "each": true
does it to every resource once.
With `SIZEWELL_STANDIN_TRUSTS=1` it takes inputs as they are: a preview is then as fast as a provider lets it be.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import importlib.metadata
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import refusals
from google.protobuf import json_format, struct_pb2
from google.protobuf.empty_pb2 import Empty

from sizewell.sdk import protocol

# The engine starts the plugin of every installed SDK, used or not, for each command; most only say their version.
plugin_pb2, provider_pb2, provider_pb2_grpc = protocol.modules("plugin_pb2", "provider_pb2", "provider_pb2_grpc")
_IMPORTING = threading.Lock()


def sdk() -> Any:
    """What the SDK says about types; imported at the first call."""
    with _IMPORTING:
        import sdk_types

        return sdk_types


UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
# Inputs whose change the cloud can only follow by building a new one.
REPLACES = {
    "bucket", "name", "location", "region", "accountName", "resourceGroupName", "containerName", "vmScaleSetName",
    "launchTemplateName", "namePrefix", "availabilityZone", "cidrBlock", "ipCidrRange", "cluster", "tpuTopology",
}  # fmt: skip
# Types of which the cloud refuses a second one of the same name, and the input that carries the name.
UNIQUE = {
    "aws:s3/bucket:Bucket": "bucket",
    "aws:iam/role:Role": "name",
    "aws:iam/policy:Policy": "name",
    "aws:iam/instanceProfile:InstanceProfile": "name",
    "aws:autoscaling/group:Group": "name",
    "aws:ec2/launchTemplate:LaunchTemplate": "name",
    "aws:kms/alias:Alias": "name",
    "aws:cloudwatch/logGroup:LogGroup": "name",
    "gcp:compute/network:Network": "name",
    "gcp:compute/subnetwork:Subnetwork": "name",
    "gcp:storage/bucket:Bucket": "name",
    "gcp:container/cluster:Cluster": "name",
    "gcp:serviceaccount/account:Account": "accountId",
    "azure-native:storage:StorageAccount": "accountName",
    "azure-native:resources:ResourceGroup": "resourceGroupName",
    "azure-native:compute:VirtualMachineScaleSet": "vmScaleSetName",
    "azure-native:containerservice:ManagedCluster": "resourceName",
    "azure-native:machinelearningservices:Workspace": "workspaceName",
    "azure-native:keyvault:Vault": "vaultName",
    "azure-native:containerregistry:Registry": "registryName",
    "azure-native:cognitiveservices:Account": "accountName",
    "azure-native:storagecache:AmlFilesystem": "amlFilesystemName",
}
UNIMPORTABLE = ("gcp:workflows/workflow:Workflow",)  # as its page says
CLUSTERS = (
    "aws:eks/cluster:Cluster",
    "gcp:container/cluster:Cluster",
    "azure-native:containerservice:ManagedCluster",
)


class Cloud:
    """The resources of one package, in a file that survives the plugin's process."""

    def __init__(self, folder: Path, package: str) -> None:
        self.path = folder / f"{package}.json"
        self.orders_path = folder / "orders.json"
        self.lock_path = folder / "lock"
        folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def open(self) -> Iterator[dict[str, Any]]:
        with self.lock_path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            resources = json.loads(self.path.read_text()) if self.path.exists() else {}
            yield resources
            temporary = self.path.with_suffix(".tmp")
            temporary.write_text(json.dumps(resources, indent=1, sort_keys=True))
            temporary.replace(self.path)

    def order(self, call: str, token: str, urn: str) -> dict[str, Any] | None:
        """The order for this call, if there is one; it is used up `times` times, or once for each resource."""
        if not self.orders_path.exists():
            return None
        with self.lock_path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            orders = json.loads(self.orders_path.read_text())
            for order in orders:
                package = order.get("package", token.partition(":")[0])
                if order["call"] != call or order.get("type", token) != token or not token.startswith(f"{package}:"):
                    continue
                if order.get("each"):
                    left = urn not in order.setdefault("done", [])
                    order["done"] = [*order["done"], urn] if left else order["done"]
                else:
                    left = order.get("times", 1) > 0
                    order["times"] = order.get("times", 1) - 1
                if left:
                    self.orders_path.write_text(json.dumps(orders))
                    return dict(order)
        return None


def plain(struct: struct_pb2.Struct) -> dict[str, Any]:
    return json_format.MessageToDict(struct)


def outputs_of(token: str, name: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """What the cloud answers: the inputs and what it made up beside them; Azure gives identities back as a map."""
    if token == "gcp:projects/serviceIdentity:ServiceIdentity":  # one agent of a service, whoever asks for it
        name = f"{inputs.get('service')}-of-{inputs.get('project')}"
    outputs = {**sdk().computed_outputs(token, name, inputs), **inputs}
    if token == "aws:eks/nodeGroup:NodeGroup":
        outputs["resources"] = [{"autoscalingGroups": [{"name": f"eks-{name}"}]}]
    if token == "aws:eks/cluster:Cluster":
        outputs["certificateAuthority"] = {"data": "c3RhbmQtaW4="}
        outputs["vpcConfig"] = {**outputs["vpcConfig"], "clusterSecurityGroupId": f"sg-{name}"}
    outputs |= azure_outputs(token, name)
    identity = outputs.get("identity")
    if isinstance(identity, dict) and isinstance(identity.get("userAssignedIdentities"), list):
        named = {one: {} for one in identity["userAssignedIdentities"]}
        outputs["identity"] = {**identity, "userAssignedIdentities": named}
    if isinstance(identity, dict) and "SystemAssigned" in str(identity.get("type")):
        outputs["identity"] = {**outputs["identity"], "principalId": f"principal-{name}", "tenantId": "tenant"}
    return outputs


def azure_outputs(token: str, name: str) -> dict[str, Any]:
    """Nested answers of Azure that components go on with."""
    if token == "azure-native:containerservice:ManagedCluster":
        kubelet = {"objectId": f"kubelet-of-{name}"}
        return {
            "oidcIssuerProfile": {"enabled": True, "issuerURL": f"https://oidc/{name}/"},
            "identityProfile": {"kubeletidentity": kubelet},
        }
    if token == "azure-native:monitor:AzureMonitorWorkspace":
        endpoint = f"https://{name}.prometheus.monitor.azure.com"
        return {"metrics": {"internalId": name, "prometheusQueryEndpoint": endpoint}}
    if token == "azure-native:storagecache:AmlFilesystem":
        return {"clientInfo": {"mgsAddress": "10.120.128.4", "mountCommand": "mount", "lustreVersion": "2.15"}}
    return {}


def kubeconfig_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """A cluster's kubeconfig as Azure gives it: YAML in base64."""
    name = arguments.get("resourceName", "cluster")
    cluster = {"server": f"https://{name}.privatelink.eastus.azmk8s.io", "certificate-authority-data": "c3RhbmQtaW4="}
    text = json.dumps({"clusters": [{"name": name, "cluster": cluster}]})  # JSON is YAML
    return {"kubeconfigs": [{"name": "clusterUser", "value": base64.b64encode(text.encode()).decode()}]}


def wire(value: dict[str, Any]) -> struct_pb2.Struct:
    struct = struct_pb2.Struct()
    struct.update(value)
    return struct


class StandIn(provider_pb2_grpc.ResourceProviderServicer):
    def __init__(self, package: str, cloud: Cloud) -> None:
        self.package = package
        self.cloud = cloud

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.ProviderHandshakeResponse(
            accept_secrets=False, accept_resources=False, accept_outputs=False
        )

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        try:
            version = importlib.metadata.version(f"pulumi-{self.package}")
        except importlib.metadata.PackageNotFoundError:  # a program that needs no more than Pulumi's own SDK
            version = "0.0.0"
        return plugin_pb2.PluginInfo(version=version)

    def Attach(self, request: Any, context: Any) -> Any:  # noqa: N802
        return Empty()

    def GetSchema(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.GetSchemaResponse(schema=json.dumps({"name": self.package}))

    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.ConfigureResponse(acceptSecrets=False, supportsPreview=False)

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        return Empty()

    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
        answers: dict[str, dict[str, Any]] = {
            "aws:index/getAvailabilityZones:getAvailabilityZones": {
                "names": [f"us-east-1{letter}" for letter in "abcdf"],
                "zoneIds": [f"use1-az{n}" for n in range(1, 6)],
                "id": "us-east-1",
                "region": "us-east-1",
                "groupNames": [],
            },
            "aws:index/getCallerIdentity:getCallerIdentity": {
                "accountId": "123456789012",
                "arn": "arn:aws:iam::123456789012:user/stand-in",
                "id": "123456789012",
                "userId": "AIDASTANDIN",
            },
            "aws:index/getPartition:getPartition": {"partition": "aws", "dnsSuffix": "amazonaws.com", "id": "aws"},
            "aws:index/getRegion:getRegion": {"name": "us-east-1", "region": "us-east-1", "id": "us-east-1"},
            "aws:ssm/getParameter:getParameter": {"value": "ami-0123456789abcdef0", "type": "String", "id": "ami"},
            "gcp:organizations/getProject:getProject": {"projectId": "stand-in", "number": "123456789012", "id": "p"},
            "gcp:organizations/getClientConfig:getClientConfig": {"project": "stand-in", "region": "us-central1"},
            "gcp:storage/getProjectServiceAccount:getProjectServiceAccount": {
                "emailAddress": "service-123456789012@gs-project-accounts.iam.gserviceaccount.com",
                "member": "serviceAccount:service-123456789012@gs-project-accounts.iam.gserviceaccount.com",
                "id": "p",
                "project": "stand-in",
            },
            "aws:ec2/getCapacityBlockOffering:getCapacityBlockOffering": {
                "capacityBlockOfferingId": "cb-0123456789abcdef0",
                "upfrontFee": "9061.63",
                "availabilityZone": "us-east-1a",
                "id": "cb",
            },
            "aws:ec2/getVpc:getVpc": {"id": "vpc-0123456789abcdef0", "cidrBlock": "172.31.0.0/16", "default": True},
            "aws:resourcegroupstaggingapi/getResources:getResources": {"resourceTagMappingLists": [], "id": "none"},
            "aws:index/getAvailabilityZone:getAvailabilityZone": {"name": "us-east-1a", "id": "us-east-1a"},
            "azure-native:authorization:getClientConfig": {
                "clientId": "00000000-0000-0000-0000-000000000001",
                "objectId": "00000000-0000-0000-0000-000000000002",
                "subscriptionId": "00000000-0000-0000-0000-000000000003",
                "tenantId": "00000000-0000-0000-0000-000000000004",
            },
        }
        stated = plain(request.args)
        if request.tok == "azure-native:containerservice:listManagedClusterUserCredentials":
            answers[request.tok] = kubeconfig_of(stated)
        if request.tok == "gcp:serviceaccount/getAccount:getAccount":
            name = stated.get("accountId", "")
            answers[request.tok] = {
                "id": name,
                "name": name,
                "email": f"{name}@stand-in",
                "member": name,
                "uniqueId": "1",
            }
        if request.tok == "azure-native:managedidentity:getUserAssignedIdentity":
            name = stated.get("resourceName", "")
            answers[request.tok] = {"id": name, "name": name, "principalId": f"principal-{name}", "clientId": name}
        if request.tok not in answers:
            return provider_pb2.InvokeResponse(
                failures=[provider_pb2.CheckFailure(property="", reason=f"the stand-in does not know {request.tok}")]
            )
        return provider_pb2.InvokeResponse(**{"return": wire({**plain(request.args), **answers[request.tok]})})

    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        token = request.urn.split("::")[2].split("$")[-1]
        inputs = plain(request.news)
        trusts = os.environ.get("SIZEWELL_STANDIN_TRUSTS")
        wrong = [] if trusts else [*sdk().faults(token, inputs), *refusals.refusals(token, inputs)]
        failures = [provider_pb2.CheckFailure(property=where, reason=reason) for where, reason in wrong]
        name_key = UNIQUE.get(token)
        if name_key and name_key not in inputs:  # autonaming, deterministic here
            name = request.urn.split("::")[-1]
            inputs[name_key] = f"{name}-{hashlib.sha256(request.urn.encode()).hexdigest()[:7]}".replace("_", "-")
        return provider_pb2.CheckResponse(inputs=wire(inputs), failures=failures)

    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        old, new = plain(request.old_inputs), plain(request.news)
        keys = sorted(
            key for key in old.keys() | new.keys() if old.get(key) != new.get(key) and not key.startswith("__")
        )
        replaces = [key for key in keys if key in REPLACES]
        result = provider_pb2.DiffResponse.DIFF_SOME if keys else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=result, diffs=keys, replaces=replaces)

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        token, inputs = request.type or request.urn.split("::")[2].split("$")[-1], plain(request.properties)

        name = request.urn.split("::")[-1]
        if request.preview:
            unknown = dict.fromkeys(sdk().computed_outputs(token, name, inputs), UNKNOWN)
            return provider_pb2.CreateResponse(properties=wire({**outputs_of(token, name, inputs), **unknown}))

        def do() -> tuple[str, dict[str, Any]]:
            with self.cloud.open() as resources:
                own = refusals.identity(token, inputs)
                alike = {key: one for key, one in resources.items() if one["type"] == token}
                for key, other in alike.items():
                    if own is None or refusals.identity(token, other["inputs"]) != own:
                        continue
                    if token not in refusals.UPSERTS:
                        context.abort(grpc.StatusCode.ALREADY_EXISTS, f"{' '.join(own[:2])} exists already")
                    resources[key] = {"type": token, "name": name, "inputs": inputs, "urn": request.urn}
                    return key, outputs_of(token, name, inputs)
                if refused := refusals.beside(token, inputs, [one["inputs"] for one in alike.values()]):
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, refused)
                identity = f"{name}-{len(resources):04d}{os.getpid():x}{time.monotonic_ns() % 65536:04x}"
                resources[identity] = {"type": token, "name": name, "inputs": inputs, "urn": request.urn}
            return identity, outputs_of(token, name, inputs)

        identity, outputs = self._obey("create", token, request.urn, context, do)
        return provider_pb2.CreateResponse(id=identity, properties=wire(outputs))

    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        token = request.urn.split("::")[2].split("$")[-1]
        with self.cloud.open() as resources:
            own = (
                resources.get(request.id, {}).get("type") == token
            )  # a bucket's settings are read by the bucket's name
            key = request.id if own else refusals.named(token, request.id, resources)
            found = resources.get(key)
        if found is None:
            return provider_pb2.ReadResponse()
        if token in UNIMPORTABLE and not plain(request.properties):  # a refresh brings the state's
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{token} does not support import")
        outputs = outputs_of(token, found["name"], found["inputs"])
        return provider_pb2.ReadResponse(id=key, properties=wire(outputs), inputs=wire(found["inputs"]))

    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        token, inputs = request.urn.split("::")[2].split("$")[-1], plain(request.news)

        if request.preview:
            return provider_pb2.UpdateResponse(
                properties=wire(outputs_of(token, request.urn.split("::")[-1], {**plain(request.olds), **inputs}))
            )

        def do() -> dict[str, Any]:
            with self.cloud.open() as resources:
                if request.id not in resources:
                    context.abort(grpc.StatusCode.NOT_FOUND, f"{request.id} does not exist")
                resources[request.id]["inputs"] = inputs
            return outputs_of(token, request.urn.split("::")[-1], inputs)

        return provider_pb2.UpdateResponse(properties=wire(self._obey("update", token, request.urn, context, do)))

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        token = request.urn.split("::")[2].split("$")[-1]

        def do() -> Empty:
            with self.cloud.open() as resources:
                found = resources.get(request.id)
                if found is None:
                    return Empty()
                if any(found["inputs"].get(key) is True for key in refusals.DELETION_PROTECTION):
                    context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"{request.id} has deletion protection on")
                users = [
                    other["urn"]
                    for identity, other in resources.items()
                    if identity != request.id and request.id in _strings(other["inputs"])
                ]
                if users:
                    context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"DependencyViolation: in use by {users[0]}")
                del resources[request.id]
            if token in CLUSTERS:  # what is inside of it goes with it
                stack = request.urn.split("::")[0]
                with Cloud(self.cloud.path.parent, "kubernetes").open() as inside:
                    for key in [key for key, each in inside.items() if each["urn"].split("::")[0] == stack]:
                        del inside[key]
            return Empty()

        return self._obey("delete", token, request.urn, context, do)

    def _obey(self, call: str, token: str, urn: str, context: Any, do: Callable[[], Any]) -> Any:
        order = self.cloud.order(call, token, urn)
        if order is None:
            return do()
        if order["then"] == "fail":
            context.abort(grpc.StatusCode.UNKNOWN, order.get("message", "told to fail"))
        if order["then"] == "lose":
            do()
            context.abort(grpc.StatusCode.UNAVAILABLE, "the answer was lost")
        do()  # "hang": the cloud does it, the answer takes for ever
        time.sleep(3600)
        return None


def _strings(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return {text for item in value.values() for text in _strings(item)}
    if isinstance(value, list):
        return {text for item in value for text in _strings(item)}
    return set()


def _end_with(parent: int) -> None:
    """A plugin whose engine was killed ends, also in the middle of a call that hangs."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def serve(package: str) -> None:
    """Say the port and answer on it until the process ends."""
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=32), options=[("grpc.max_receive_message_length", 1 << 28)]
    )
    cloud = Cloud(Path(os.environ["SIZEWELL_STANDIN"]), package)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(StandIn(package, cloud), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    serve(sys.argv[1])
