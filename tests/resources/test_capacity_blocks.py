"""A capacity block is bought once, with its count and price: by its own resource, and not again by the pools in it."""

from datetime import date
from decimal import Decimal

import pytest

from sizewell.resources import Plan, RecordedResource, price
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.catalog import load
from sizewell.sizing.money import Unpriced

BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
ON = date(2026, 11, 22)
RATE = Decimal("41.528")  # p5.48xlarge in us-east-1, per machine-hour of a block


def urn(kind, name):
    return f"urn:pulumi:dev::team::{kind}::{name}"


def made(kind, name, inputs, parent=None, custom=True, **links):
    target = {key: [urn(*value)] for key, value in links.items()}
    return RecordedResource(
        urn=urn(kind, name), type=kind, name=name, inputs=inputs, parent=parent, custom=custom,
        property_dependencies=target,
    )  # fmt: skip


def pool(stands, machines=4, parent=None, **links):
    market = {"instanceType": "p5.48xlarge", "instanceMarketOptions": {"marketType": "capacity-block"}}
    reservation = {"capacityReservationTarget": {"capacityReservationId": stands}}
    template = {**market, "imageId": "ami-1", "capacityReservationSpecification": reservation}
    template_type = "aws:ec2/launchTemplate:LaunchTemplate"
    sizes = {"minSize": 0, "desiredCapacity": 0, "maxSize": machines, "launchTemplate": {"id": UNKNOWN}}
    return [
        made(template_type, "lt", template, parent, **links),
        made("aws:autoscaling/group:Group", "pool", sizes, parent, launchTemplate=(template_type, "lt")),
    ]


def block(parent=None, **tags):
    return made(BLOCK, "block", {"capacityBlockOfferingId": "cb-1", "tags": tags}, parent)


def once(*resources):
    plan = Plan(project="t", stack="dev", resources=resources, config={"aws:region": "us-east-1"})
    lines = [item for item in price(plan, load(), on=ON).items if item.cadence == "once"]
    return {line.resource.rsplit("::")[-1]: line for line in lines}


IN_IT = {"capacityReservationSpecification": (BLOCK, "block")}


def test_a_block_and_its_pool_are_one_purchase():
    lines = once(block(**{"sizewell-block-hours": "72"}), *pool(UNKNOWN, **IN_IT))
    assert lines["block"].what == "capacity block, 4 x p5.48xlarge"
    assert lines["block"].cost().expected == (4 * 72 * RATE).quantize(Decimal("0.01"))
    assert lines["pool"].cost().ceiling == 0
    assert lines["pool"].how == "in block block, which is paid once"


def test_a_block_whose_hours_nobody_says_has_no_price_and_says_how_to_give_it_one():
    lines = once(block(), *pool(UNKNOWN, **IN_IT))
    assert isinstance(lines["block"].price, Unpriced)
    assert lines["block"].price.reason == "the hours of the purchase are not known: tag it sizewell-block-hours"
    assert lines["pool"].cost().ceiling == 0, "a month is no guess at what is bought"


def component_in(stated):
    around = {"capacityBlock": stated, "sizewell": {"name": "work", "kind": "pool", "market": "capacity-block",
                                                    "instanceType": "p5.48xlarge", "nodesMax": 4}}  # fmt: skip
    return made("sizewell-aws:index:GpuNodeGroup", "work", around, custom=False)


def test_a_component_says_how_many_machines_for_how_long():
    component = component_in({"purchase": "confirmed", "durationHours": 72})
    lines = once(component, block(parent=component.urn), *pool(UNKNOWN, parent=component.urn, **IN_IT))
    total = sum(line.cost().ceiling for line in lines.values())
    assert total == sum(line.cost().floor for line in lines.values()) == (4 * 72 * RATE).quantize(Decimal("0.01"))


@pytest.mark.parametrize(("known", "named"), [("cr-1", "in block cr-1"), (UNKNOWN, "in block")])
def test_a_block_that_a_component_adopts_is_not_bought_again(known, named):
    window = {"starts": "2026-12-28T11:30:00Z", "ends": "2026-12-31T11:30:00Z"}
    component = component_in({"id": known, **window})
    line = once(component, *pool(known, parent=component.urn))["pool"]
    assert (line.cost().ceiling, line.how) == (0, f"{named}, which is bought already")


def test_a_pool_in_a_block_of_another_program_says_that_its_hours_are_a_guess():
    lines = once(*pool("cr-1"))
    assert lines["pool"].confidence == "hours of the block not stated, a month assumed"


def test_machines_without_a_group_stand_in_a_block_too():
    each = {
        "ami": "ami-1", "instanceType": "p5.48xlarge", "instanceMarketOptions": {"marketType": "capacity-block"},
        "capacityReservationSpecification": {"capacityReservationTarget": {"capacityReservationId": UNKNOWN}},
    }  # fmt: skip
    machines = [made("aws:ec2/instance:Instance", f"m-{number}", each, **IN_IT) for number in range(2)]
    lines = once(block(**{"sizewell-block-hours": "24"}), *machines)
    assert lines["block"].what == "capacity block, 2 x p5.48xlarge"
    assert [lines[f"m-{number}"].cost().ceiling for number in range(2)] == [0, 0]
