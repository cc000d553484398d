"""Laws of deciding: they hold for every spec, catalog and price, not for examples."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sizewell.sizing.catalog import Catalog
from sizewell.sizing.choose.candidates import NEARLY, WORTH_THE_WAIT, Candidate, Cause, try_all
from sizewell.sizing.choose.choice import ALIKE
from sizewell.sizing.choose.decide import NothingFits, decide, size_one
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.money import total
from sizewell.sizing.records.decision import Decision

from .conftest import ON, chat, night, offer, spec, tune, with_offers

SLOW = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
SPECS = [
    chat(),
    chat(traffic={"concurrent_users": 500, "think_time": "20s", "input_tokens": 800, "output_tokens": 200}),
    chat(model={"name": "meta-llama/Llama-3.1-70B", "weights": "int4"}),
    chat(model="resnet50", traffic={"rps": 3}, slo={"latency": "200ms"}),
    tune(),
    tune(spot_policy="spot"),
    tune(spot_policy="on-demand"),
    tune(objective="time"),
    tune(objective="balanced"),
    night(),
    spec(kind="notebook", resources={"gpu": "24GB.."}),
]


@pytest.mark.parametrize("one", SPECS, ids=lambda s: f"{s.kind}-{s.objective}-{s.spot_policy}")
def test_every_shape_is_a_candidate_or_a_rejection_exactly_once(facts: Catalog, small: Catalog, one):
    facts = facts if one.objective == "cost" else small  # speed at any price is searched without bounds
    sizing = size_one(one, facts, stack="", on=ON)
    names = [(c.shape.cloud, c.shape.instance_type) for c in sizing.trial.candidates]
    names += [(r.cloud, r.instance_type) for r in sizing.trial.rejections]
    assert Counter(names) == Counter((s.cloud, s.instance_type) for s in facts.shapes)
    assert all(r.reason for r in sizing.trial.rejections)


@pytest.mark.parametrize("one", SPECS, ids=lambda s: f"{s.kind}-{s.objective}-{s.spot_policy}")
def test_the_rejections_of_a_decision_and_what_has_options_cover_the_catalog(small: Catalog, one):
    sizing = size_one(one, small, stack="", on=ON)
    with_options = {(o.cloud, o.instance_type) for o in sizing.options}
    rejected = [(r.cloud, r.instance_type) for r in sizing.rejections]
    assert not with_options & set(rejected)
    assert len(rejected) == len(set(rejected))
    assert with_options | set(rejected) == {(s.cloud, s.instance_type) for s in small.shapes}


def test_pruning_by_bounds_chooses_what_trying_everything_chooses(small: Catalog):
    need = requirements(tune(), small)
    everything = try_all(need, small, ON)
    assert not any(r.cause is Cause.DEARER for r in everything.rejections)
    pruned = size_one(tune(), small, stack="", on=ON)
    best = pruned.best()
    assert best is not None
    from sizewell.sizing.choose.pricing import options_of

    options = [o for c in everything.candidates if c.buildable for o in options_of(c, pruned.setting, need.markets)]
    assert min(o.order for o in options) == best.order


@pytest.mark.parametrize("one", SPECS, ids=lambda s: f"{s.kind}-{s.objective}-{s.spot_policy}")
def test_the_same_input_gives_the_same_bytes(small: Catalog, one):
    first, second = (decide([one], small, stack="dev-x", on=ON) for _ in range(2))
    assert isinstance(first, Decision)
    assert isinstance(second, Decision)
    assert first.to_json() == second.to_json()


@pytest.mark.parametrize("one", SPECS, ids=lambda s: f"{s.kind}-{s.objective}-{s.spot_policy}")
def test_line_items_sum_to_the_cost_and_bounds_are_in_order(small: Catalog, one):
    decision = decide([one], small, stack="prod-x", on=ON)
    assert isinstance(decision, Decision)
    for workload in decision.workloads:
        cost = total(line.item() for line in workload.line_items)
        assert cost.run_rate.usd_per_month == workload.cost.run_rate.interval()
        assert cost.one_off.usd == workload.cost.one_off.interval()
        assert workload.memory.per_device_bytes == sum(workload.memory.breakdown.values())
        assert workload.performance.low <= workload.performance.value <= workload.performance.high
        for pool in workload.pools:
            assert (workload.guard is not None) == bool(pool.accelerator)  # a guard measures accelerators
            assert 0 <= pool.nodes_min <= pool.nodes_initial <= pool.nodes_max
            assert pool.cloud in ("aws", "gcp", "azure")


@SLOW
@given(
    kind=st.sampled_from(["chat", "tune", "night"]),
    shape=st.sampled_from(
        [("aws", "g6.xlarge"), ("aws", "p5.48xlarge"), ("gcp", "g2-standard-4"), ("lambda", "gpu_1x_a10")]
    ),
    market=st.sampled_from(["on-demand", "spot"]),
    region=st.sampled_from(["us-east-1", "us-central1", "eu-west-1", "eastus", "nowhere-1"]),
    usd=st.decimals("0.01", "60", places=2),
)
@example(kind="night", shape=("aws", "p5.48xlarge"), market="on-demand", region="us-central1", usd=Decimal("7.86"))
def test_another_offer_never_raises_the_cost(small: Catalog, *, kind, shape, market, region, usd):
    """The least cost never rises; what is chosen is the plainest of what costs nearly as little, within a stated share."""
    one = {"chat": chat, "tune": tune, "night": night}[kind]()
    before = size_one(one, small, stack="", on=ON)
    richer = with_offers(small, [offer(*shape, region, market, str(usd))])
    after = size_one(one, richer, stack="", on=ON)
    was, now = (min(o.rank_usd for o in sizing.options if o.candidate.buildable) for sizing in (before, after))
    assert now <= was * (1 + 1e-12)
    chosen, instead = before.best(), after.best()
    assert chosen is not None
    assert instead is not None
    most = NEARLY * (WORTH_THE_WAIT if kind == "night" else 1)
    assert instead.rank_usd <= most * chosen.rank_usd
    if instead.rank_usd > chosen.rank_usd * (1 + 1e-12):
        assert instead.plainness < chosen.plainness or instead.fleet.nodes < chosen.fleet.nodes or chosen.scarce


@settings(SLOW, max_examples=8)
@given(st.integers(1, 400), st.integers(1, 400), st.sampled_from(["time", "balanced"]))
def test_a_larger_budget_never_gives_a_worse_plan(small: Catalog, one, other, objective):
    low, high = sorted((one, other))
    plans = []
    for budget in (low, high):
        sizing = size_one(tune(objective=objective, budget={"per_run": f"{budget} USD"}), small, stack="", on=ON)
        best = sizing.best()
        assert best is not None
        assert best.run_usd is not None
        plans.append((best.run_usd <= budget, best))
    (low_inside, low_plan), (high_inside, high_plan) = plans
    if low_inside:
        assert high_inside
        merit = (lambda o: o.seconds) if objective == "time" else (lambda o: o.seconds * o.rank_usd)
        alike = ALIKE if objective == "time" else 1.0  # of times that are alike the cheaper one counts as the faster
        assert merit(high_plan) <= merit(low_plan) * alike * (1 + 1e-12)


@SLOW
@given(st.floats(0.1, 200), st.floats(1.0, 5.0), st.integers(50, 3000), st.integers(10, 600))
def test_more_traffic_never_needs_fewer_replicas(small: Catalog, rps, factor, prompt, answer):
    replicas = []
    for rate in (rps, rps * factor):
        one = chat(
            traffic={"rps": rate, "input_tokens": prompt, "output_tokens": answer}, slo={"ttft": "5s", "tpot": "200ms"}
        )
        sizing = size_one(one, small, stack="", on=ON)
        replicas.append({c.shape.instance_type: c.fleets[0] for c in sizing.trial.candidates})
    less, more = replicas
    for name, fleet in less.items():
        if name in more and more[name].devices_per_replica == fleet.devices_per_replica:
            assert more[name].replicas >= fleet.replicas
        if name in more:
            assert more[name].nodes >= fleet.nodes


@SLOW
@given(st.integers(1, 72), st.integers(1, 72))
def test_more_time_never_costs_more(small: Catalog, one, other):
    hours = sorted((one, other))
    costs = []
    for deadline in hours:
        best = size_one(tune(deadline=f"{deadline}h"), small, stack="", on=ON).best()
        costs.append(best.total_usd if best else float("inf"))
    assert costs[1] <= costs[0] * (1 + 1e-9)


def test_the_order_of_the_catalog_changes_nothing(small: Catalog):
    from dataclasses import replace

    turned = replace(small, shapes=tuple(reversed(small.shapes)))
    for one in (chat(), tune(), night()):
        first, second = (decide([one], c, stack="dev-x", on=ON) for c in (small, turned))
        assert isinstance(first, Decision)
        assert isinstance(second, Decision)
        a, b = json.loads(first.to_json()), json.loads(second.to_json())
        assert a["workloads"][0]["pools"] == b["workloads"][0]["pools"]
        assert a["workloads"][0]["rejections"] == b["workloads"][0]["rejections"]


def test_online_serving_is_never_put_on_spot(facts: Catalog):
    for one in (chat(), chat(model="resnet50", traffic={"rps": 3}, slo={"latency": "200ms"})):
        decision = decide([one], facts, stack="prod-x", on=ON)
        assert isinstance(decision, Decision)
        assert decision.workloads[0].pools[0].market == "on-demand"
        spots = [a for a in decision.workloads[0].alternatives if a.market == "spot"]
        assert all("interruption" in a.why_not for a in spots)


def test_what_no_component_builds_is_never_chosen(small: Catalog):
    gift = with_offers(small, [offer("lambda", "gpu_1x_a10", "all", "on-demand", "0.0001")])
    decision = decide([chat()], gift, stack="", on=ON)
    assert isinstance(decision, Decision)
    workload = decision.workloads[0]
    assert workload.pools[0].cloud in ("aws", "gcp", "azure")
    assert any(a.cloud == "lambda" and "lambda cannot be provisioned" in a.why_not for a in workload.alternatives)


def test_nothing_fits_is_an_answer_with_a_way_out(facts: Catalog):
    one = chat(model="meta-llama/Llama-3.1-70B", resources={"gpu": "16GB..24GB", "nodes": 1})
    answer = decide([one], facts, stack="dev-aws", on=ON)
    assert isinstance(answer, NothingFits)
    assert answer.nearest
    assert answer.relax
    assert all(rejection.shortfall >= 1 for rejection in answer.nearest)
    assert "nothing fits" in str(answer)


def test_a_stack_stands_on_one_cloud(facts: Catalog):
    both = [chat(name="chat"), tune(name="tune")]
    named = decide(both, facts, stack="staging-gcp", on=ON)
    assert isinstance(named, Decision)
    assert {pool.cloud for workload in named.workloads for pool in workload.pools} == {"gcp"}
    shared = [line for w in named.workloads for line in w.line_items if "control plane" in line.what]
    regions = {pool.region for w in named.workloads for pool in w.pools}
    assert len(shared) == len(regions)
    free = decide(both, facts, stack="staging", on=ON)
    assert isinstance(free, Decision)
    assert len({pool.cloud for workload in free.workloads for pool in workload.pools}) == 1


def test_expiry_and_environment_come_from_ttl_and_name(facts: Catalog):
    decision = decide([chat(ttl="21d")], facts, stack="staging-aws", on=ON)
    assert isinstance(decision, Decision)
    assert (decision.environment, str(decision.expires_at)) == ("staging", "2026-12-11")


@pytest.mark.parametrize(
    ("stack", "promised", "cold", "silent"), [("dev-aws", 0, 0, 0), ("staging-aws", 1, 0, 0), ("prod-aws", 1, 1, 1)]
)
def test_a_service_that_promises_answers_keeps_one_machine_up_unless_a_cold_start_is_allowed(
    facts: Catalog, stack, promised, cold, silent
):
    """Development, or `idle: {action: scale-to-zero}` in staging, says that a cold start is all right."""
    specs = (chat(), chat(idle={"action": "scale-to-zero"}), chat(slo={"percentile": "p95"}))
    for one, least in zip(specs, (promised, cold, silent), strict=True):
        decision = decide([one], facts, stack=stack, on=ON)
        assert isinstance(decision, Decision)
        assert decision.workloads[0].pools[0].nodes_min == least


def test_the_cost_of_a_run_is_its_hours_times_its_price(facts: Catalog):
    decision = decide([tune()], facts, stack="dev-x", on=ON)
    assert isinstance(decision, Decision)
    workload = decision.workloads[0]
    machines = next(line for line in workload.line_items if line.unit == "machine-hour" and line.component == "w")
    assert machines.usd_per_unit is not None
    assert workload.cost.per_run_usd is not None
    hours = Decimal(str(workload.performance.value)) / 3600 * workload.pools[0].nodes_initial
    assert abs(workload.cost.per_run_usd - hours * machines.usd_per_unit) < Decimal("0.02")


def test_a_candidate_has_room_and_meets_its_level(facts: Catalog):
    sizing = size_one(chat(), facts, stack="", on=ON)
    level = sizing.need.level
    assert level is not None
    for candidate in sizing.trial.candidates:
        assert isinstance(candidate, Candidate)
        fleet = candidate.fleets[0]
        assert fleet.memory.total_bytes <= fleet.usable_bytes * 1.05
        assert fleet.serving is not None
        assert fleet.serving.ttft_s <= (level.ttft_s or 1e9)
        assert fleet.serving.tpot_s <= (level.tpot_s or 1e9)
        assert fleet.serving.requests_per_s <= fleet.replica_rate
