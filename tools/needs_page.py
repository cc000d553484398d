"""docs/reference/needs.md: what each component needs of an account before it can be built, and who judges it.

Derived from the recorded forms of the components' tests and from the tables that `sizewell doctor --cloud` asks by: one
place says it.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from component_reference import GOLDENS, recorded_forms
from golden_files import whole

from sizewell.clouds.preflight import azure, gcp, rights
from sizewell.components.inventory import clouds, component_classes

HEADINGS = {"aws": "AWS", "azure": "Azure", "gcp": "Google Cloud", "kubernetes": "Any Kubernetes cluster"}
# What `doctor` asks of a machine type's quota; services have quotas of their own.
QUOTAS = {
    "aws": "vCPU of the family and market, by its code, less what others use",
    "azure": "cores of the family, all cores, low-priority cores, less what is in use",
    "gcp": "accelerators of the region, less what is in use",
}
SERVICE_QUOTAS = {
    **dict.fromkeys(
        ("aws:AsyncEndpoint", "aws:HyperPodCluster", "aws:Notebook", "aws:RealtimeEndpoint", "aws:TrainingPipeline"),
        "machines of the type and use in SageMaker, by the quota's name, less what CloudWatch counts as in use",
    ),
    **dict.fromkeys(
        ("azure:AmlComputeCluster", "azure:AmlComputeInstance", "azure:AmlOnlineEndpoint"),
        "cores of the family and of the region in Azure ML, less what is in use",
    ),
    **dict.fromkeys(
        ("gcp:CloudRunGpu", "gcp:VertexEndpoint", "gcp:VertexTraining"),
        "accelerators of the service's metric in the region, less what Cloud Monitoring counts as in use",
    ),
}
JUDGES = {
    "aws": "service authorization reference, botocore, parliament, CloudFormation's schemas, Checkov",
    "azure": "operations by provider, type and verb; the SDK's types; Checkov",
    "gcp": "permissions by method (tests/rights), discovery documents of workflows' calls, Checkov",
    "kubernetes": "the operators' own definitions (launch/kinds.py), Checkov",
}
INTRODUCTION = """\
# What components need

Generated from the recorded forms in `tests/components/*/goldens` and from what `sizewell doctor STACK --cloud` asks by
(`make generate`). **Rights** are those that building takes, as doctor compares them; types that it does not compare are
counted. **Features** are switched on in an account: those of an Azure subscription, and on AWS the roles of its own
services. The first use makes these where `iam:CreateServiceLinkedRole` is allowed for the service, but for that of EC2
Fleet, which has to stand before (`aws iam create-service-linked-role --aws-service-name ec2fleet.amazonaws.com`).
What runs afterwards (guards, expiries, machines) has roles of its own, judged right by right in `tests/rights/`.
"""


STOCK = """\
## What `sizewell stock` reads

The same with `size --in-stock` and `doctor --cloud` ([Can it be had now?](../howto/can-it-be-had-now.md)). What is
denied is "unknown", with the right by its name; the rest is answered all the same. Only what a pool's market has an
answer to is asked: of on-demand machines the first row of each cloud and its quotas.
"""


def page() -> str:
    """The whole page."""
    forms = recorded_forms()
    parts = [INTRODUCTION]
    for cloud in clouds():
        parts += [f"## {HEADINGS[cloud]}\n", f"Judges: {JUDGES[cloud]}.\n"]
        lines = ["| component | APIs, providers | features | rights | not compared | quota |", "| --- " * 6 + "|"]
        for one in component_classes(cloud):
            types = Counter[str]()
            for counts in forms.get(one.token(), {}).values():
                types.update(counts)
            if types:
                pool = cloud in QUOTAS and _kind(one.token()) == "pool"
                lines.append(_line(cloud, one.token(), tuple(types), pool=pool))
        parts.append("\n".join([*lines, ""]))
    return "\n".join([*parts, *_stock()])


def _stock() -> list[str]:
    """What `sizewell stock`, `size --in-stock` and doctor read of each cloud's stock."""
    from sizewell.clouds.stock.asking import STOCKS

    lines = [STOCK, "| cloud | asked | rights |", "| --- " * 3 + "|"]
    for cloud, module in STOCKS.items():
        for source, held in module.SOURCES.items():
            lines.append(f"| {HEADINGS[cloud]} | {source} | {', '.join(f'`{right}`' for right in held)} |")
    return [*lines, ""]


def _line(cloud: str, token: str, types: tuple[str, ...], *, pool: bool) -> str:
    own = [kind for kind in types if kind.split(":")[0] in (cloud, "azure-native")]
    held = sorted({rights.RIGHTS[kind].right for kind in own if kind in rights.RIGHTS})
    left = [kind for kind in own if kind not in rights.RIGHTS]
    linked = _linked_roles(token, own)
    cells = (
        f"`{token}`",
        ", ".join(_apis(cloud, own)) or "–",
        ", ".join([*_features(token), *linked]) or "–",
        ", ".join(f"`{right}`" for right in [*held, *(["iam:CreateServiceLinkedRole"] if linked else [])]) or "–",
        f"{len(left)} of {len(own)} types",
        SERVICE_QUOTAS.get(f"{cloud}:{token.rpartition(':')[2]}") or (QUOTAS[cloud] if pool else "–"),
    )
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _apis(cloud: str, types: list[str]) -> list[str]:
    if cloud == "gcp":
        modules = {kind.removeprefix("gcp:").partition("/")[0] for kind in types}
        return sorted({gcp.APIS[module] for module in modules if module in gcp.APIS})
    if cloud == "azure":
        modules = {kind.split(":")[1] for kind in types}
        found = {azure.PROVIDERS[module] for module in modules if module in azure.PROVIDERS}
        return sorted(found | ({"Microsoft.Insights"} if "monitor" in modules else set()))
    return []


def _linked_roles(token: str, types: list[str]) -> list[str]:
    """Service-linked roles of an AWS account that the component's resources take."""
    return sorted({rights.LINKED[kind].role for kind in (token, *types) if kind in rights.LINKED})


def _features(token: str) -> list[str]:
    """Features of an Azure subscription that some form of the component switches on."""
    found = set()
    for path in _goldens(token):
        text = whole(path)
        if re.search(r"(enableEncryptionAtHost|encryptionAtHost): true", text):
            found.add("/".join(azure.ENCRYPTION))
        if token.endswith(":AksOperators") and "infiniband: true" in text:
            found.add("/".join(azure.INFINIBAND))
    return sorted(found)


def _kind(token: str) -> str:
    """What a component registers itself as, in any of its forms."""
    for path in _goldens(token):
        if match := re.search(r"^    kind: (\S+)$", whole(path), re.MULTILINE):
            return match[1]
    return ""


def _goldens(token: str) -> list[Path]:
    """Forms that tests keep of one component alone."""
    return [
        path
        for path in sorted(GOLDENS.glob("*/goldens/*.txt"))
        if re.findall(r"^(sizewell-\S+)", whole(path), re.MULTILINE) == [token]
    ]
