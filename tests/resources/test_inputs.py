"""Every input of a type that has a price is priced, a meter of its own, or said to be free: the providers' schemas are
walked, so that an input which a newer provider brings fails here until somebody has looked what is billed for it.
"""

from __future__ import annotations

import ast
import importlib
import json
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path

import pytest

import sizewell.resources
from sizewell import csvtables
from sizewell.resources import Plan, RecordedResource, price, spellings
from sizewell.resources.tables import PRICERS, gaps, meters
from sizewell.resources.tables.meters import FreeInputs
from sizewell.sizing.catalog import load
from sizewell.sizing.money import HOURS_PER_MONTH

ROOM = Path(sizewell.resources.__file__).parent
PACKAGES = {"aws": "pulumi_aws", "gcp": "pulumi_gcp", "azure-native": "pulumi_azure_native"}
GONE = {  # read in states and in programs of other versions; the provider that is installed has none
    "gcp:notebooks/instance:Instance",
    "gcp:notebooks/runtime:Runtime",
    "azure-native:billingbenefits:ReservationOrderAlias",
    "azure-native:billingbenefits:SavingsPlanOrderAlias",
    "azure-native:capacity:ReservationOrder",
}
BILLED = {row.type for row in csvtables.read(gaps.Billed, ROOM / "tables/data/billed.csv")}
FREE = {row.type: set(row.inputs) for row in csvtables.read(FreeInputs, ROOM / "tables/data/free_inputs.csv")}
TYPES = sorted(kind for kind in PRICERS if kind.partition(":")[0] in PACKAGES and kind not in BILLED | GONE)


def inputs_of(token: str) -> set[str]:
    """The inputs of a type in the provider's spelling, from the class of its arguments."""
    package, module, name = token.split(":")
    service = module.partition("/")[0].replace("lambda", "lambda_")
    arguments = getattr(importlib.import_module(f"{PACKAGES[package]}.{service}"), f"{name}Args")
    named = {key: value.fget for key, value in vars(arguments).items() if isinstance(value, property)}
    return {getattr(getter, "_pulumi_name", key) for key, getter in named.items()}


@cache
def words_of_the_prices() -> frozenset[str]:
    """Every text in the code that prices: an input that none of it names is surely not read."""
    files = [*ROOM.glob("*.py"), *(ROOM / "tables").glob("*.py")]
    return frozenset(word for file in files for word in _texts(file))


def _texts(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("kind", TYPES)
def test_every_input_is_priced_metered_or_said_to_be_free(kind: str) -> None:
    metered = {row.path.partition(".")[0] for row in meters.OF_TYPE.get(kind, ())}
    free = FREE[""] | FREE.get(kind, set())
    unknown = inputs_of(kind) - words_of_the_prices() - metered - free
    assert not unknown, (
        f"{kind}: look what is billed for {', '.join(sorted(unknown))}; then meters.csv or free_inputs.csv"
    )
    assert not metered & free, "what is metered is not free"


def test_the_table_of_free_inputs_names_what_there_is() -> None:
    """A row of a type that has no price, or an input that a price reads, would hide what is billed."""
    assert set(FREE) - {""} <= set(TYPES)
    read = {kind: FREE[kind] & words_of_the_prices() for kind in FREE}
    assert not any(read.values()), {kind: names for kind, names in read.items() if names}


@pytest.mark.parametrize("row", meters.ROWS, ids=lambda row: f"{row.types[0]} {row.path}")
def test_a_meter_is_of_a_type_with_a_price_or_a_free_one_and_of_an_input_that_it_has(row: meters.Meter) -> None:
    for kind in row.types:
        assert row.path.partition(".")[0] in inputs_of(kind), kind


SPELLED = json.loads((Path(__file__).parent / "spelled_inputs.json").read_text(encoding="utf-8"))["types"]
ROWS = {**spellings.SPELLINGS, **{spellings.native(row.type): row for row in spellings.CLOUDFORMATION.values()}}


@pytest.mark.parametrize("kind", SPELLED)
def test_every_input_of_another_spelling_is_read_or_said_to_bill_nothing(kind: str) -> None:
    """The same thing under another provider's names: an input that is not moved to where the prices look is lost."""
    row = ROWS[kind]
    moved = {path.partition(">")[0] for path, _ in (*row.moved, *getattr(row, "implied", ()))}
    if isinstance(row, spellings.CloudFormationType):
        moved |= {spellings.first_lower(name) for name in (*dict(row.renamed), row.lifted)}
    metered = {each.path.partition(".")[0] for each in meters.OF_TYPE.get(row.token, ())}
    read = moved | metered | words_of_the_prices() | FREE[""] | FREE.get(row.token, set())
    stated = SPELLED[kind]
    assert set(stated["inputs"]) - read == set(stated["bill nothing"])


def test_every_priced_type_of_another_spelling_is_looked_through() -> None:
    known = {kind for kind, row in ROWS.items() if row.token in PRICERS}
    without = {"aws-native:fsx:FileSystem", "gcp:cloudrun/service:Service", "gcp:tpu/node:Node"}  # of no other provider
    assert known - without == set(SPELLED)


WEB = {  # everyday types of the other providers: what they state here
    "aws-native:apigateway:RestApi": {},
    "aws-native:appsync:GraphQLApi": {},
    "aws-native:certificatemanager:Certificate": {"domainName": "x.com"},
    "aws-native:cloudfront:Distribution": {"distributionConfig": {"enabled": True}},
    "aws-native:cognito:UserPool": {},
    "aws-native:dynamodb:Table": {"billingMode": "PAY_PER_REQUEST"},
    "aws-native:ecr:Repository": {},
    "aws-native:events:Rule": {"scheduleExpression": "rate(1 hour)"},
    "aws-native:kinesisfirehose:DeliveryStream": {},
    "aws-native:kms:Key": {},
    "aws-native:pipes:Pipe": {},
    "aws-native:route53:HostedZone": {"name": "x.com"},
    "aws-native:scheduler:Schedule": {"scheduleExpression": "rate(1 hour)"},
    "aws-native:secretsmanager:Secret": {},
    "aws-native:ssm:Parameter": {"type": "String", "value": "v"},
    "aws-native:stepfunctions:StateMachine": {},
    "azure:appinsights/insights:Insights": {"applicationType": "web"},
    "azure:appservice/staticWebApp:StaticWebApp": {"skuTier": "Free", "skuSize": "Free"},
    "azure:dns/zone:Zone": {"name": "x.com"},
    "azure:keyvault/keyVault:KeyVault": {"skuName": "standard"},
    "azure:mssql/database:Database": {"skuName": "S1"},
    "azure:operationalinsights/analyticsWorkspace:AnalyticsWorkspace": {"sku": "PerGB2018"},
    "azure:storage/account:Account": {"accountTier": "Standard", "accountReplicationType": "LRS"},
}


@pytest.mark.parametrize("kind", WEB)
def test_an_everyday_type_of_another_provider_has_the_price_rule_of_its_twin(kind: str) -> None:
    made = RecordedResource(
        urn=f"urn:pulumi:dev::p::{kind}::r", type=kind, name="r", inputs={"location": "eastus", **WEB[kind]}
    )
    config = {"aws:region": "us-east-1", "aws-native:region": "us-east-1", "azure:location": "eastus"}
    pricing = price(Plan(project="p", stack="dev", resources=(made,), config=config), load(), on=date(2026, 11, 27))
    assert pricing.unknown == ()
    assert pricing.unpriced == ()


def test_what_a_spelling_states_in_its_own_way_is_billed() -> None:
    table = {
        "billingMode": "PROVISIONED", "provisionedThroughput": {"readCapacityUnits": 5, "writeCapacityUnits": 7},
    }  # fmt: skip
    registry = {"location": "eastus", "sku": "Premium", "georeplications": [{"location": "westus"}]}
    resources = tuple(
        RecordedResource(urn=f"urn:pulumi:dev::p::{kind}::r", type=kind, name="r", inputs=inputs)
        for kind, inputs in (
            ("aws-native:dynamodb:Table", table),
            ("azure:containerservice/registry:Registry", registry),
        )
    )
    plan = Plan(project="p", stack="dev", resources=resources, config={"aws-native:region": "us-east-1"})
    quantities = [line.quantity.expected for line in price(plan, load(), on=date(2026, 11, 27)).items]
    assert {5 * HOURS_PER_MONTH, 7 * HOURS_PER_MONTH, 2 * HOURS_PER_MONTH} <= set(quantities)
