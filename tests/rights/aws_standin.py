"""An AWS account for automations of Systems Manager: it has state, takes only what botocore's models know, and asks
the service authorization reference what each call needs before it looks at the policies of the role that calls.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aws_policies import Call, Policy, Resource, denied
from aws_reference import action_of, check_inputs, kinds, operation_of

REGION, NUMBER, PROJECT = "us-east-1", "123456789012", "petsnap"
OPTIONAL = ("iam:PassRole",)  # UpdateAutoScalingGroup asks for it where the call names a role; ours never do


class DeniedError(Exception):
    """What botocore raises for a call without the right to it."""


def tags(stack: str) -> dict[str, str]:
    """The tags of a stack, or of `PROJECT/STACK`; none for "".

    >>> tags("theirs/dev-aws")
    {'sizewell-project': 'theirs', 'sizewell-stack': 'dev-aws'}
    """
    project, _, name = stack.rpartition("/")
    return {"sizewell-project": project or PROJECT, "sizewell-stack": name} if stack else {}


def arn(service: str, path: str) -> str:
    return f"arn:aws:{service}:{REGION}:{NUMBER}:{path}"


class Account:
    """What stands in one region: `things` by ARN, each with its tags and state; `failing` operations fail once."""

    def __init__(self, policies: Sequence[Policy], *, failing: Sequence[str] = ()) -> None:
        self.policies = policies
        self.things: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.failing = list(failing)
        self.alarms: dict[str, str] = {}
        self.gone: list[str] = []  # deleted, but its tags are still listed
        self.processors: dict[tuple[str, ...], list[float]] = {}  # EC2's own metric of machines
        self.samples: dict[tuple[str, ...], list[float]] = {}  # of a series, by its dimensions "name=value", by period

    def add(self, service: str, path: str, stack: str = "", **state: Any) -> str:
        name = arn(service, path)
        self.things[name] = {"tags": tags(stack), **state}
        return name

    def client(self, service: str) -> Client:
        return Client(self, service)

    def call(self, service: str, operation: str, inputs: dict[str, Any]) -> dict[str, Any]:
        check_inputs(service, operation, inputs)
        does = getattr(self, f"{service.replace('-', '_')}_{operation}")
        action = action_of(service, operation)
        names, also = does(inputs, ask=True)
        resources = tuple(Resource(arn=one, facts=self.facts(one)) for one in names) if kinds(action) else ()
        others = {key: tuple(Resource(arn=one, facts=self.facts(one)) for one in value) for key, value in also.items()}
        if resources or not kinds(action):
            call = Call(
                action=action,
                resources=resources,
                facts={"aws:RequestedRegion": REGION},
                also=others,
                spared=OPTIONAL,
                source="played",
            )
            if refused := denied(self.policies, call):
                raise DeniedError(f"AccessDeniedException: not authorized to perform {'; '.join(refused)}")
        if operation in self.failing:
            self.failing.remove(operation)
            raise RuntimeError("ThrottlingException: Rate exceeded")
        self.calls.append(f"{service}:{operation}")
        return does(inputs, ask=False)[0]

    def facts(self, name: str) -> dict[str, str]:
        tags = self.things.get(name, {}).get("tags", {})
        return {f"aws:ResourceTag/{key}": value for key, value in tags.items()}

    def named(self, ending: str) -> str:
        for name in self.things:
            if name.endswith(ending):
                return name
        raise RuntimeError(f"ValidationException: Could not find {ending}")

    def state(self, ending: str) -> dict[str, Any]:
        return self.things[self.named(ending)]

    # Each operation: with `ask` the ARNs that it is about and those of its dependent actions, else its answer.

    def autoscaling_DescribeAutoScalingGroups(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        if ask:
            return [], {}
        groups = []
        for name, thing in self.things.items():
            if ":autoScalingGroup:" not in name:
                continue
            tagged = all(thing["tags"].get(one["Name"][4:]) in one["Values"] for one in inputs.get("Filters", ()))
            known = name.rpartition("/")[2] in inputs.get("AutoScalingGroupNames", [name.rpartition("/")[2]])
            if tagged and known:
                groups.append(
                    {
                        "AutoScalingGroupName": name.rpartition("/")[2],
                        "AutoScalingGroupARN": name,
                        "MinSize": thing["least"],
                        "DesiredCapacity": thing["size"],
                        "SuspendedProcesses": [{"ProcessName": one} for one in thing["suspended"]],
                        "Instances": [
                            {"InstanceId": one, "LifecycleState": state} for one, state in thing.get("machines", ())
                        ],
                    }
                )
        return {"AutoScalingGroups": groups}, {}

    def autoscaling_UpdateAutoScalingGroup(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(f"autoScalingGroupName/{inputs['AutoScalingGroupName']}")
        if ask:
            return [name], {}
        sizes = {"MinSize": "least", "DesiredCapacity": "size", "MaxSize": "most"}
        self.things[name].update({sizes[key]: value for key, value in inputs.items() if key in sizes})
        return {}, {}

    def autoscaling_SuspendProcesses(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(f"autoScalingGroupName/{inputs['AutoScalingGroupName']}")
        if ask:
            return [name], {}
        self.things[name]["suspended"] = list(inputs["ScalingProcesses"])
        return {}, {}

    def resourcegroupstaggingapi_GetResources(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        if ask:
            return [], {}
        listed = [
            {"ResourceARN": name}
            for name, thing in self.things.items()
            if all(thing["tags"].get(tag["Key"]) in tag["Values"] for tag in inputs["TagFilters"])
            and ":autoScalingGroup:" not in name
        ]
        return {"ResourceTagMappingList": [*listed, *({"ResourceARN": name} for name in self.gone)]}, {}

    def application_autoscaling_DescribeScalableTargets(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        if ask:
            return [], {}
        targets = [thing for name, thing in self.things.items() if ":scalable-target/" in name]
        return {"ScalableTargets": [{"ResourceId": one["of"], "ScalableDimension": one["dim"]} for one in targets]}, {}

    def application_autoscaling_DeregisterScalableTarget(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = next(one for one, thing in self.things.items() if thing.get("of") == inputs["ResourceId"])
        if ask:
            return [name], {}
        del self.things[name]
        return {}, {}

    def ec2_DescribeFleets(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        if ask:
            return [], {}
        thing = self.state(f"fleet/{inputs['FleetIds'][0]}")
        size = {"TotalTargetCapacity": thing["size"]}
        return {"Fleets": [{"FleetState": "active", "TargetCapacitySpecification": size}]}, {}

    def ec2_ModifyFleet(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(f"fleet/{inputs['FleetId']}")
        if ask:
            return [name], {}
        self.things[name]["size"] = inputs["TargetCapacitySpecification"]["TotalTargetCapacity"]
        return {}, {}

    def ec2_DescribeFleetInstances(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(f"fleet/{inputs['FleetId']}")
        if ask:
            return [name], {}
        machines = [one for one, _ in self.things[name]["machines"]]
        first = int(inputs.get("NextToken", 0))  # one a page
        following = {"NextToken": str(first + 1)} if first + 1 < len(machines) else {}
        return {"ActiveInstances": [{"InstanceId": one} for one in machines[first : first + 1]], **following}, {}

    def ec2_DescribeInstances(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        if ask:
            return [], {}
        thing = self.state(f"instance/{inputs['InstanceIds'][0]}")
        return {"Reservations": [{"Instances": [{"State": {"Name": thing["status"]}}]}]}, {}

    def ec2_TerminateInstances(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(f"instance/{inputs['InstanceIds'][0]}")
        if ask:
            return [name], {}
        self.things[name]["status"] = "terminated"
        return {}, {}

    def eks_DescribeNodegroup(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(f"nodegroup/{inputs['clusterName']}/{inputs['nodegroupName']}/uuid")
        if ask:
            return [name], {}
        thing = self.things[name]
        sizes = {"minSize": thing["least"], "desiredSize": thing["size"], "maxSize": thing["most"]}
        return {"nodegroup": {"scalingConfig": sizes}}, {}

    def eks_UpdateNodegroupConfig(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(f"nodegroup/{inputs['clusterName']}/{inputs['nodegroupName']}/uuid")
        if ask:
            return [name], {}
        sizes = inputs["scalingConfig"]
        self.things[name].update(least=sizes["minSize"], size=sizes["desiredSize"], most=sizes["maxSize"])
        return {}, {}

    def sagemaker_DeleteEndpoint(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        endpoint = inputs["EndpointName"]
        name = self.named(f"endpoint/{endpoint}")
        if ask:
            return [name], {}
        if any(thing.get("endpoint") == endpoint for thing in self.things.values()):
            raise RuntimeError(f"ValidationException: endpoint {endpoint} has inference components")
        if any(thing.get("of", "").startswith(f"endpoint/{endpoint}/") for thing in self.things.values()):
            raise RuntimeError(f"ValidationException: endpoint {endpoint} is registered as scalable")
        del self.things[name]
        return {}, {}

    def sagemaker_DescribeInferenceComponent(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(f"inference-component/{inputs['InferenceComponentName']}")
        if ask:
            return [name], {}
        status = self.things[name]["status"]
        if status == "Deleting":  # it is there for one more look
            del self.things[name]
        return {"InferenceComponentStatus": status}, {}

    def sagemaker_DeleteInferenceComponent(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(f"inference-component/{inputs['InferenceComponentName']}")
        if ask:
            return [name], {}
        self.things[name]["status"] = "Deleting"
        return {}, {}

    def sagemaker_DescribeCluster(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        return (
            ([inputs["ClusterName"]], {})
            if ask
            else ({"ClusterStatus": self.state(inputs["ClusterName"])["status"]}, {})
        )

    def sagemaker_DeleteCluster(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = inputs["ClusterName"]
        if ask:
            return [name], {"eks:DeleteAccessEntry": [self.things[name]["entry"]]}
        self.things[name]["status"] = "Deleting"
        return {}, {}

    def sagemaker_DescribeNotebookInstance(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(f"notebook-instance/{inputs['NotebookInstanceName']}")
        return ([name], {}) if ask else ({"NotebookInstanceStatus": self.things[name]["status"]}, {})

    def sagemaker_StopNotebookInstance(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(f"notebook-instance/{inputs['NotebookInstanceName']}")
        if ask:
            return [name], {}
        self.things[name]["status"] = "Stopped"
        return {}, {}

    def sagemaker_DescribeTrainingJob(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(f"training-job/{inputs['TrainingJobName']}")
        return ([name], {}) if ask else ({"TrainingJobStatus": self.things[name]["status"]}, {})

    def sagemaker_StopTrainingJob(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(f"training-job/{inputs['TrainingJobName']}")
        if ask:
            return [name], {}
        self.things[name]["status"] = "Stopped"
        return {}, {}

    def sagemaker_ListApps(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        if ask:
            return [], {}
        apps = []
        for name, thing in self.things.items():
            _, _, path = name.partition(":app/")
            if path.startswith(inputs["DomainIdEquals"] + "/"):
                domain, user, kind, app = path.split("/")
                apps.append(
                    {
                        "DomainId": domain,
                        "UserProfileName": user,
                        "AppType": kind,
                        "AppName": app,
                        "Status": thing["status"],
                    }
                )
        return {"Apps": apps}, {}

    def sagemaker_DeleteApp(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        name = self.named(
            f"app/{inputs['DomainId']}/{inputs['UserProfileName']}/{inputs['AppType']}/{inputs['AppName']}"
        )
        if ask:
            return [name], {}
        self.things[name]["status"] = "Deleted"
        return {}, {}

    def cloudwatch_ListMetrics(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        if ask:
            return [], {}
        (wanted,) = (f"{one['Name']}={one['Value']}" for one in inputs["Dimensions"])
        names = {key: inputs[key] for key in ("Namespace", "MetricName")}
        listed = [series for series in self.samples if wanted in series]
        pairs = [[one.partition("=") for one in series] for series in listed]
        return {
            "Metrics": [
                {**names, "Dimensions": [{"Name": name, "Value": value} for name, _, value in series]}
                for series in pairs
            ]
        }, {}

    def cloudwatch_GetMetricData(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        if ask:
            return [], {}
        results = []
        for query in inputs["MetricDataQueries"]:
            stat = query["MetricStat"]
            series = tuple(f"{one['Name']}={one['Value']}" for one in stat["Metric"]["Dimensions"])
            moments = range(inputs["StartTime"], inputs["EndTime"], stat["Period"])
            if stat["Metric"].get("Namespace") == "AWS/EC2":
                values = self.processors.get(series, [])
            else:
                values = self.samples[series]
            rows = [pair for pair in zip(moments, values, strict=False) if pair[1] >= 0]
            results.append(
                {"Id": query["Id"], "Timestamps": [at for at, _ in rows], "Values": [value for _, value in rows]}
            )
        return {"MetricDataResults": results}, {}

    def cloudwatch_DescribeAlarms(self, inputs: Any, *, ask: bool) -> Any:  # noqa: N802
        names = inputs["AlarmNames"]
        if ask:
            return [arn("cloudwatch", f"alarm:{name}") for name in names], {}
        return {"MetricAlarms": [{"StateValue": self.alarms[name]} for name in names]}, {}


class Client:
    """A boto3 client of an account."""

    def __init__(self, account: Account, service: str) -> None:
        self._account, self._service = account, service

    def __getattr__(self, method: str) -> Callable[..., dict[str, Any]]:
        operation = operation_of(self._service, method)
        return lambda **inputs: self._account.call(self._service, operation, inputs)

    def get_paginator(self, method: str) -> Any:
        call = getattr(self, method)
        return types.SimpleNamespace(paginate=lambda **inputs: [call(**inputs)])


def run(document: str, account: Account, parameters: Mapping[str, str]) -> Any:
    """What an automation does in an account: scripts, calls and branches, as Systems Manager runs them."""
    program = json.loads(document)
    steps = {step["name"]: step for step in program["mainSteps"]}
    order = [step["name"] for step in program["mainSteps"]]
    known: dict[str, Any] = dict(parameters)
    at: str | None = order[0]
    answer: Any = None
    while at is not None:
        step = steps[at]
        inputs = _filled(step["inputs"], known)
        following = step.get("nextStep")
        if step["action"] == "aws:executeScript":
            answer = _script(inputs, account)
            for output in step.get("outputs", ()):
                known[f"{at}.{output['Name']}"] = _selected({"Payload": answer}, output["Selector"])
        elif step["action"] == "aws:executeAwsApi":
            service, api = inputs.pop("Service"), inputs.pop("Api")
            answer = account.call(service, api, inputs)
            for output in step.get("outputs", ()):
                known[f"{at}.{output['Name']}"] = _selected(answer, output["Selector"])
        elif step["action"] == "aws:branch":
            following = next((choice["NextStep"] for choice in inputs["Choices"] if _chosen(choice)), None)
        else:
            raise AssertionError(f"the stand-in does not know {step['action']}")
        ends = step.get("isEnd") and not (step["action"] == "aws:branch" and following)
        at = None if ends else following
    return answer


def _script(inputs: dict[str, Any], account: Account) -> Any:
    passed = [0.0]

    def sleep(seconds: float) -> None:
        passed[0] += seconds

    clock = types.SimpleNamespace(time=lambda: passed[0], sleep=sleep)
    before = {name: sys.modules.get(name) for name in ("boto3", "time")}
    sys.modules.update({"boto3": account, "time": clock})  # type: ignore[dict-item]
    try:
        space: dict[str, Any] = {}
        exec(compile(inputs["Script"], "automation", "exec"), space)  # noqa: S102  (our own text)
        return space[inputs["Handler"]](inputs["InputPayload"], None)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def _filled(value: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item, known) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, known) for item in value]
    if isinstance(value, str) and value.startswith("{{ ") and value.endswith(" }}"):
        return known[value[3:-3]]
    return value


def _selected(answer: Any, selector: str) -> Any:
    """What a selector finds; in a script's answer what it returned stands under Payload."""
    for part in selector.removeprefix("$.").replace("[", ".[").split("."):
        answer = answer[int(part[1:-1])] if part.startswith("[") else answer[part]
    return answer


def _chosen(choice: Mapping[str, Any]) -> bool:
    return bool(choice["Variable"] == choice["StringEquals"])
