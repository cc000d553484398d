"""Twelve situations that a reviewer meets, built from line items and plans by hand: no catalog, no clock, no program.

Prices are illustrative; the arithmetic can be checked by eye.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path

from sizewell.preview import records
from sizewell.preview.assemble import assemble
from sizewell.preview.diff import Side, budget_of, compare
from sizewell.preview.guardrails import Limits
from sizewell.preview.reasons import capacity_of, choices_of, ends_of, evidence_of, guarded_of
from sizewell.resources.recorded import Plan, RecordedResource
from sizewell.sizing.money import Interval, LineItem, Priced, Unpriced
from sizewell.sizing.records.decision import Decision

ON = date(2026, 9, 3)
PROVENANCE = records.Provenance(catalog_digest="5f3c9a1be07d4412", catalog_as_of="2026-09-02", age_days=1)
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Counts:
    detected: int = 0
    estimated: int = 0
    free: int = 0
    unpriced: int = 0
    unknown: int = 0
    not_judged: int = 0
    by_use: int = 0


@dataclass(frozen=True)
class HandPricing:
    """A pricing made by hand."""

    items: tuple = ()
    free: tuple = ()
    outside: tuple = ()
    coverage: Counts = Counts()
    hidden: tuple = ()
    by_use: tuple = ()
    elsewhere: frozenset = frozenset()


def dec(text):
    return Decimal(str(text))


def interval(floor, expected, ceiling):
    return Interval(dec(floor), dec(expected), dec(ceiling))


def urn(stack, type_, name, parent=""):
    return f"urn:pulumi:{stack}::petsnap::{parent}{type_}::{name}"


class Sketch:
    """One side of a stack, drawn up component by component."""

    def __init__(self, stack, config=None):
        self.stack, self.config = stack, config or {"aws:region": "us-east-1"}
        self.resources, self.items, self.free, self.outside = [], [], [], []

    def component(self, type_, name, /, **registration):
        address = urn(self.stack, f"sizewell-aws:index:{type_}", name)
        registered = {"name": name, "environment": "prod", "region": "us-east-1", **registration}
        self.resources.append(
            RecordedResource(urn=address, type=f"sizewell-aws:index:{type_}", name=name, custom=False,
                             inputs={"sizewell": registered})
        )  # fmt: skip
        self.free.append((address, f"sizewell-aws:index:{type_}", "groups other resources"))
        return self

    def resource(self, type_, name, parent="", free=False, **more):
        inputs = more.pop("inputs", {})
        address = urn(self.stack, type_, name)
        around = next((r.urn for r in self.resources if r.name == parent), None)
        self.resources.append(
            RecordedResource(urn=address, type=type_, name=name, parent=around, inputs=inputs, **more)
        )
        if free:
            self.free.append((address, type_, "no charge"))
        return self

    def line(self, component, what, unit, price, quantity, **more):
        address = self.resources[-1].urn
        priced = (
            Unpriced(price) if isinstance(price, str) and " " in price else Priced(dec(price), "AWS list", "2026-09-02")
        )
        self.items.append(
            LineItem(component=component, what=what, unit=unit, quantity=interval(*quantity), price=priced,
                     resource=address, **more)
        )  # fmt: skip
        return self

    def side(self):
        unpriced = sum(isinstance(item.price, Unpriced) for item in self.items)
        estimated = len({item.resource for item in self.items}) - unpriced
        return Side(
            plan=Plan(project="petsnap", stack=self.stack, resources=tuple(self.resources), config=self.config),
            pricing=HandPricing(
                tuple(self.items), tuple(self.free), tuple(self.outside),
                Counts(len(self.resources), estimated, len(self.free), unpriced, 0),
            ),
        )  # fmt: skip


def legacy(stack):
    """Four machines around the clock, two volumes, a bucket that is protected."""
    return (
        Sketch(stack)
        .component("GpuNodeGroup", "train-legacy", kind="pool", instanceType="g6e.48xlarge", accelerator="l40s",
                   acceleratorsPerNode=8, market="on-demand", nodesMin=4, nodesInitial=4, nodesMax=4)
        .resource("aws:autoscaling/group:Group", "train-legacy-nodes", "train-legacy")
        .line("train-legacy", "g6e.48xlarge, on-demand, us-east-1", "machine-hour", "30.13118", (2920, 2920, 2920))
        .resource("aws:ebs/volume:Volume", "scratch-a", "train-legacy", inputs={"size": 240})
        .line("train-legacy", "disk, 240 GB, ebs.gp3.gb_month", "GB-month", "0.08", (240, 240, 240))
        .resource("aws:ebs/volume:Volume", "scratch-b", "train-legacy", inputs={"size": 240})
        .line("train-legacy", "disk, 240 GB, ebs.gp3.gb_month", "GB-month", "0.08", (240, 240, 240))
        .resource("aws:iam/role:Role", "train-legacy-role", "train-legacy", free=True)
        .component("CheckpointStore", "ckpt-legacy", kind="checkpoints")
        .resource("aws:s3/bucket:Bucket", "ckpt-legacy-bucket", "ckpt-legacy", protect=True)
        .line("ckpt-legacy", "s3.standard, 1,000 GB", "GB-month", "0.023", (1000, 1000, 1000))
    )  # fmt: skip


def chat(sketch, market="on-demand", price="10.49264", region="us-east-1"):
    return (
        sketch.component("InferencePool", "chat", kind="pool", instanceType="g6e.12xlarge", accelerator="l40s",
                         acceleratorsPerNode=4, market=market, nodesMin=0, nodesInitial=1, nodesMax=2, region=region,
                         schedule="Mon-Fri 07:00-21:00 Europe/London")
        .resource("aws:autoscaling/group:Group", "chat-nodes", "chat")
        .line("chat", f"g6e.12xlarge, {market}, {region}", "machine-hour", price, (0, "303.3333", 1460))
    )  # fmt: skip


def pretrain(sketch):
    return (
        sketch.component("GpuNodeGroup", "pretrain", kind="pool", instanceType="p5.48xlarge", accelerator="h100-sxm",
                         acceleratorsPerNode=8, market="capacity-block", nodesMin=4, nodesInitial=4, nodesMax=4)
        .resource("aws:ec2/capacityBlockReservation:CapacityBlockReservation", "pretrain-block", "pretrain")
        .line("pretrain", "4 x p5.48xlarge, capacity block, 72 h from 2026-09-14 11:30 UTC", "machine-hour", "31.464",
              (288, 288, 288), cadence="once")
    )  # fmt: skip


def scratch(sketch):
    return (
        sketch.component("FsxLustre", "scratch", kind="storage")
        .resource("aws:fsx/lustreFileSystem:LustreFileSystem", "scratch-fs", "scratch", inputs={"storageCapacity": 4800})
        .line("scratch", "4,800 GiB PERSISTENT_2-250", "GB-month", "0.21", (4800, 4800, 4800))
    )  # fmt: skip


def checkpoints(sketch):
    return (
        sketch.component("CheckpointStore", "ckpt", kind="checkpoints")
        .resource("aws:s3/bucket:Bucket", "ckpt-bucket", "ckpt", protect=True, retain_on_delete=True)
        .line("ckpt", "7,168 GB when full: 64 checkpoints x 112 GB", "GB-month", "0.023", (0, 7168, 7168),
              confidence="assumed usage")
    )  # fmt: skip


def plain(stack="llm-prod", **more):
    return chat(scratch(Sketch(stack)), **more)


def decision():
    return Decision.model_validate_json((HERE / "fixtures/decision.json").read_text(encoding="utf-8"))


def months():
    """Three ways to have machines: rent at 3,182.77 a month, commit at 4,825.59, buy for 52,500 and 94 of power."""
    ways = {"rent on demand": ("0", "3182.77"), "commit 1 year": ("0", "4825.59"), "buy": ("52500", "94.00")}
    return tuple(
        records.OwnershipMonth(month=m, usd={name: dec(at) + m * dec(rate) for name, (at, rate) in ways.items()})
        for m in range(37)
    )


def one(before, after, *, limits=None, unblocked="", stack="llm-prod", with_decision=False, **more):
    """A preview of one stack."""
    made = decision() if with_decision else None
    budget = (limits.budgets.get(stack) if limits else None) or budget_of(made)
    compared = compare(
        stack, before.side() if before else None, after.side(), base="main@1a2b3c4" if before else "", decision=made,
        budget=budget, **more,
    )  # fmt: skip
    if made is not None:
        compared = compared.model_copy(
            update={"choices": choices_of(made), "evidence": evidence_of(made), "guarded": guarded_of(made), "ends": ends_of(made), "ownership": months(),
                    "capacity": capacity_of(made)}
        )  # fmt: skip
    return assemble([compared], on=ON, provenance=PROVENANCE, limits=limits or Limits(), unblocked=unblocked)


def passed(*findings):
    return records.PolicyReport(findings=findings, passed=23)


OWNER = records.PolicyFinding(
    policy="gpu-nodes-have-owner", level="advisory", component="chat", message="team e-mail of ml-platform is unverified",
)  # fmt: skip
IDLE = records.PolicyFinding(
    policy="idle-gpu", level="mandatory", component="chat", message="a GPU pool must scale to zero or carry an expiry",
    fix="set nodes_min: 0, or add ttl to the spec",
)  # fmt: skip


def nothing_changed():
    return one(plain(), plain(), policies=passed(OWNER))


def new_stack():
    return one(Sketch("llm-prod"), plain(), policies=passed(OWNER), with_decision=True)


def destroyed_stack():
    return one(legacy("llm-prod"), Sketch("llm-prod"))


def purchase():
    limits = Limits(budgets={"llm-prod": dec(90000)})
    after = checkpoints(scratch(chat(pretrain(Sketch("llm-prod")))))
    return one(legacy("llm-prod"), after, limits=limits, policies=passed(OWNER), with_decision=True)


def spot_to_on_demand():
    return one(plain(market="spot", price="4.19706"), plain())


def region_move():
    after = plain(region="eu-west-1", price="11.6436")
    after.resources = [
        RecordedResource(urn=r.urn, type=r.type, name=r.name, parent=r.parent, custom=r.custom,
                         inputs={**r.inputs, "subnetIds": ["subnet-b"]} if "fsx" in r.type else r.inputs)
        for r in after.resources
    ]  # fmt: skip
    before = plain()
    before.resources = [
        RecordedResource(urn=r.urn, type=r.type, name=r.name, parent=r.parent, custom=r.custom,
                         inputs={**r.inputs, "subnetIds": ["subnet-a"]} if "fsx" in r.type else r.inputs)
        for r in before.resources
    ]  # fmt: skip
    return one(before, after)


def unpriced():
    after = (
        plain()
        .resource("aws:quantum/thing:Thing", "experiment")
        .line("experiment", "aws:quantum/thing:Thing", "?", "no price rule for this type", (1, 1, 1))
    )
    after.outside.append("chat: egress to the internet (chat-nodes): not stated, not in totals")
    return one(plain(), after)


def over_budget():
    return one(
        scratch(Sketch("llm-prod")), plain(), limits=Limits(budgets={"llm-prod": dec(4000)}, increase_percent=dec(50))
    )


def policy_failed():
    return one(scratch(Sketch("llm-prod")), plain(), policies=passed(IDLE, OWNER))


def too_long():
    sketch = Sketch("llm-prod")
    for number in range(900):
        (sketch.component("GpuNodeGroup", f"pool-{number:03}", kind="pool")
         .resource("aws:autoscaling/group:Group", f"nodes-{number:03}", f"pool-{number:03}")
         .line(f"pool-{number:03}", "g6.xlarge, on-demand, us-east-1", "machine-hour", "0.8048", (0, 303 + number, 1460)))  # fmt: skip
    return one(Sketch("llm-prod"), sketch, policies=passed(OWNER))


def price_refresh_only():
    own = plain(price="10.30000")  # what the base's own catalog says
    return one(plain(), plain(), base_at_own_prices=own.side().pricing)


def multi_stack():
    stacks = [
        compare("dev-aws", plain("dev-aws").side(), plain("dev-aws", market="spot", price="4.19706").side(),
                base="main@1a2b3c4", policies=passed()),
        compare("llm-prod", legacy("llm-prod").side(), pretrain(Sketch("llm-prod")).side(), base="main@1a2b3c4",
                policies=passed(OWNER), decision=decision()),
        compare("staging-gcp", Sketch("staging-gcp", {"gcp:region": "us-central1"}).side(),
                plain("staging-gcp").side(), base="main@1a2b3c4", policies=passed(IDLE)),
    ]  # fmt: skip
    return assemble(stacks, on=ON, provenance=PROVENANCE, limits=Limits(total_budget=dec(50000)))


SITUATIONS = {
    make.__name__: make
    for make in (
        nothing_changed, new_stack, destroyed_stack, purchase, spot_to_on_demand, region_move, unpriced, over_budget,
        policy_failed, too_long, price_refresh_only, multi_stack,
    )
}  # fmt: skip
