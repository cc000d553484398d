"""Arguments of an Azure OpenAI account, and what they refuse. Pure."""

import re
from collections.abc import Mapping
from typing import Annotated, NotRequired, TypedDict

import pulumi

from sizewell.components.azure.args import GroupArgs
from sizewell.components.azure.checks import check_region
from sizewell.components.azure.keys.args import CustomerKeyArgs
from sizewell.components.bounds import Pattern
from sizewell.components.faults import Faults
from sizewell.components.forms import PlaceArgs
from sizewell.sizing import catalog as regions
from sizewell.sizing.catalog.lifetimes import load

BY_TOKEN = ("Standard", "DataZoneStandard", "GlobalStandard", "DataZoneBatch", "GlobalBatch")
# Smallest size and step in throughput units: of today's models (learn.microsoft.com/azure/foundry/openai, provisioned
# throughput, March 2026); a small model in one region starts at 25.
BY_HOUR: Mapping[str, tuple[int, int]] = {
    "ProvisionedManaged": (25, 25),
    "DataZoneProvisionedManaged": (15, 5),
    "GlobalProvisionedManaged": (15, 5),
}
DATA_ZONES = ("us", "eu")  # learn.microsoft.com/azure/foundry/openai/how-to/deployment-types
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}[a-zA-Z0-9]")
ACCOUNT = Pattern(r"[a-z0-9][a-z0-9-]{0,62}[a-z0-9]", "2 to 64 lower-case letters, digits and hyphens")


class DeploymentArgs(TypedDict):
    """A model that the account serves."""

    name: str
    """Name used in requests."""
    model: str
    """Model, as gpt-4.1-mini."""
    version: str
    """Its version, as 2025-04-14; it changes only when changed here."""
    sku: str
    """Standard, DataZoneStandard, GlobalStandard and the batches are billed by token; the provisioned ones by the
    hour."""
    capacity: int
    """Maximum thousands of tokens a minute; or throughput units, which are billed whether used or not."""
    purchase: NotRequired[str]
    """confirmed: the hourly price of provisioned throughput is accepted."""
    max_price_usd: NotRequired[float]
    """Maximum US dollars an hour for the throughput units; with purchase."""
    ends: NotRequired[str]
    """ISO date until which they are needed; with purchase."""


class OpenAiAccountArgs(PlaceArgs, GroupArgs):
    """An Azure OpenAI account that is reached from inside the network only."""

    subnet_id: pulumi.Input[str]
    """Private subnet of the endpoint."""
    private_dns_zone_ids: NotRequired[pulumi.Input[dict[str, str]]]
    """Private DNS zones by service: openai."""
    account: Annotated[str, ACCOUNT]
    """Name of the account and of its host, globally unique: 2 to 64 lower-case letters, digits and hyphens."""
    deployments: list[DeploymentArgs]
    """Deployed models."""
    users: NotRequired[list[str]]
    """Object ids of identities that may send requests."""
    key: NotRequired[CustomerKeyArgs]
    """Customer-managed key for stored files and fine-tuned models."""


def check_openai(name: str, args: OpenAiAccountArgs) -> None:
    faults = Faults.of(name, args, OpenAiAccountArgs)
    check_region(faults, args)
    deployments = args.get("deployments") or []
    faults.must(bool(deployments), "deployments", "is empty: the account would have no models")
    names = [deployment.get("name") for deployment in deployments]
    faults.must(len(set(names)) == len(names), "deployments", f"has a name twice: {', '.join(map(str, names))}")
    for number, deployment in enumerate(deployments):
        _check_deployment(faults, deployment, f"deployments[{number}]", str(args.get("region") or ""))
    faults.done()


def _check_deployment(faults: Faults, deployment: Mapping[str, object], at: str, region: str) -> None:
    faults.unknown_keys(deployment, DeploymentArgs, at)
    name, sku, capacity = deployment.get("name"), deployment.get("sku"), deployment.get("capacity")
    faults.must(bool(_NAME.fullmatch(str(name))), f"{at}.name", f"must be 2 to 64 letters and digits, got {name!r}")
    for key in ("model", "version"):
        faults.must(bool(deployment.get(key)), f"{at}.{key}", "is empty: the model would change by itself")
    model, version = deployment.get("model"), deployment.get("version")
    row = load().release("model", f"azure-openai/{model}", str(version))
    faults.must(
        row is None or not row.gone,
        f"{at}.version",
        f"is {model} {version}, which Azure retired on {row.supported_until if row else ''} and deploys no more",
        fix=row.note if row else "",
    )
    known = faults.must(
        sku in BY_TOKEN or sku in BY_HOUR,
        f"{at}.sku",
        f"must be one of {', '.join((*BY_TOKEN, *BY_HOUR))}, got {sku!r}",
    )
    fact = regions.load().region_facts.get(("azure", region))
    faults.must(
        "DataZone" not in str(sku) or fact is None or fact.area in DATA_ZONES,
        f"{at}.sku",
        f"is {sku}, and {region} is in no data zone: Azure has those of the United States and the European Union",
        fix=f"take {str(sku).replace('DataZone', 'Global')}, or a region of a data zone, as eastus2 or swedencentral",
    )
    counted = faults.must(
        isinstance(capacity, int) and not isinstance(capacity, bool) and capacity >= 1,
        f"{at}.capacity",
        f"must be a whole number from 1 on, got {capacity!r}",
    )
    if not known:
        return
    if sku not in BY_HOUR:
        for key in ("purchase", "max_price_usd", "ends"):
            faults.must(key not in deployment, f"{at}.{key}", f"is given, but {sku} is billed by token: nothing to buy")
        return
    least, step = BY_HOUR[str(sku)]
    if counted:
        faults.must(
            int(str(capacity)) >= least and int(str(capacity)) % step == 0,
            f"{at}.capacity",
            f"must be {least} throughput units or more in steps of {step} for {sku}, got {capacity}",
        )
    price, ends = deployment.get("max_price_usd"), deployment.get("ends")
    faults.must(
        deployment.get("purchase") == "confirmed",
        f"{at}.purchase",
        f"must be confirmed, got {deployment.get('purchase')!r}: {capacity} throughput units are billed every hour, "
        "used or not",
        fix="state purchase: confirmed, a price limit and an end, or take a SKU that is billed by token",
    )
    faults.must(
        isinstance(price, int | float) and not isinstance(price, bool) and price > 0,
        f"{at}.max_price_usd",
        f"must be over 0, got {price!r}",
    )
    faults.must(
        bool(re.fullmatch(r"\d{4}-\d\d-\d\d", str(ends))),
        f"{at}.ends",
        f"must be an ISO date (2026-12-31), got {ends!r}",
    )
