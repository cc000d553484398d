"""What must hold over the whole catalog: one list, run by the tests and before a refresh is committed.

Each check yields sentences, one per thing that is wrong; none yields anything on the shipped data. Most stand for a
trap that a public tool fell into: sparse FLOP/s, sentinels, spot at the on-demand price, two names for one machine.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields

from sizewell.csvtables import is_iso_day
from sizewell.sizing.catalog import check_prices
from sizewell.sizing.catalog.catalog import Catalog, spelling
from sizewell.sizing.catalog.check_prices import place
from sizewell.sizing.catalog.records import MARKETS, PRECISIONS, PROVISIONABLE, TRAITS, Accelerator, Architecture, Shape
from sizewell.sizing.errors import Fault
from sizewell.sizing.providers import CLOUDS

Check = Callable[[Catalog], Iterator[str]]

FABRICS = ("", "efa", "infiniband", "gpudirect-tcpx", "gpudirect-tcpxo", "gpudirect-rdma", "ici")
MANAGED = ("training", "hosting", "processing", "transform", "notebook", "hyperpod", "cloud-run")
# Dense bf16 of parts whose sparse figure, or whose namesake's figure, is printed more often (FLOP/s).
DENSE_BF16 = {
    key: tflop_per_s * 1e12
    for tflop_per_s, keys in (
        *((125, "a10"), (70, "a10g"), (165, "a30 rtx-4090"), (121, "l4"), (181, "l40"), (362, "l40s")),
        *((312, "a100-40gb-sxm a100-80gb-sxm a100-40gb-pcie a100-80gb-pcie"), (756, "h100-pcie"), (835, "h100-nvl")),
        *(
            (989, "h100-sxm h200-sxm gh200 h800-sxm"),
            (2250, "b200 b300"),
            (2500, "gb200 gb300"),
            (1307, "mi300x mi325x"),
        ),
        *((667, "trainium2"), (671, "trainium3"), (197, "tpu-v5e"), (918, "tpu-v6e"), (2307, "tpu7x")),
    )
    for key in keys.split()
}
NO_BF16 = ("t4", "v100-16gb", "v100-32gb", "p100")
RDMA_INTERFACES = {"p4d.24xlarge": 4, "p4de.24xlarge": 4, "p5.48xlarge": 32, "p5en.48xlarge": 16, "p6-b200.48xlarge": 8}
CORES_PER_CHIP_IN_NAME = {"v4": 2, "v5p": 2}  # generations whose names count cores; the others' count chips
EU = frozenset(("AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK").split())  # noqa: SIM905


def check(catalog: Catalog) -> tuple[Fault, ...]:
    """Everything that is wrong with the catalog, by the name of the check; () where it is sound."""
    return tuple(Fault(path=name, message=message) for name, test in CHECKS.items() for message in test(catalog))


def _sourced(catalog: Catalog) -> Iterator[str]:
    """Every row has a source of its own and a date; an estimate is graded as one."""
    for kind, name, source, day, grade in _origins(catalog):
        if not source.strip() or source.strip().lower() in ("same", "unknown", "n/a", "?"):
            yield f"{kind} {name}: no source ({source!r})"
        if re.search(r"\.\./|/work/|/home/|/tmp/", source):
            yield f"{kind} {name}: the source is a local path: {source!r}"
        if day is not None and not is_iso_day(day):
            yield f"{kind} {name}: no date ({day!r})"
        if source.startswith("estimate") and grade == "high":
            yield f"{kind} {name}: an estimate cannot be graded high"
    for offer in catalog.all_offers:
        if offer.basis.startswith("estimate") and offer.confidence in ("high", "medium"):
            yield f"{place(offer)}: an estimated price is graded {offer.confidence}"


def _origins(catalog: Catalog) -> Iterator[tuple[str, str, str, str | None, str]]:
    for a in catalog.accelerators.values():
        yield "accelerator", a.key, a.source, a.checked, a.confidence
    for s in catalog.shapes:
        yield "shape", f"{s.cloud}/{s.instance_type}", s.source, s.checked, s.confidence
    for o in catalog.all_offers:
        yield "offer", place(o), o.source, o.effective_from, o.confidence
    for f in catalog.fees:
        yield "fee", f"{f.cloud}/{f.key}", f.source, f.effective_from, f.confidence
    for tokens in catalog.token_prices:
        yield "token price", f"{tokens.seller}/{tokens.model}", tokens.source, tokens.effective_from, tokens.confidence
    for e in catalog.sellers.values():
        yield "seller", e.seller, e.source, e.checked, ""
    for q in catalog.quotas:
        yield "quota", q.code, q.source, None, q.confidence
    for m in catalog.models.values():
        yield "model", m.key, m.source, m.checked, ""
    for t in catalog.slices:
        yield "slice", f"{t.machine_type} {t.topology}", t.source, t.checked, ""
    for family in catalog.families:
        yield "family", f"{family.cloud} {family.pattern}", family.source, family.checked, ""
    for chip in catalog.processors:
        yield "processor", f"{chip.cloud} {chip.pattern}", chip.source, chip.checked, chip.confidence
    for zones in catalog.zone_facts.values():
        yield "zones", f"{zones.instance_type} {zones.region}", zones.source, zones.checked, ""
    for places in catalog.sold.values():
        for place_sold in places:
            yield "sold", f"{place_sold.instance_type} {place_sold.region}", place_sold.source, place_sold.checked, ""
    for w in catalog.withheld:
        yield "withheld", f"{w.cloud}/{w.instance_type}", w.source, w.date, ""
    for r in catalog.region_facts.values():
        yield "region", f"{r.cloud}/{r.region}", r.source, r.checked, ""
    for p in catalog.sagemaker_premiums.values():
        yield "premium", p.instance_type, p.source, p.checked, p.confidence


def _traits(s: Shape) -> Iterator[str]:
    """What components decide by is stated, in words that they know."""
    if bad := (s.traits - set(TRAITS)) | (s.packing - {*MARKETS, "workload-policy"}):
        yield f"unknown words {sorted(bad)}"
    if s.cloud not in PROVISIONABLE:
        return
    if not s.architecture or not s.traits_source:
        yield "no architecture, or no traits_source"
    if CLOUDS[s.cloud].machines.boot_disk_by_type and not s.boot_disk:
        yield "no boot_disk"
    named = CLOUDS[s.cloud].machines.accelerator_named and s.runtime == "cuda" and "rack" not in s.traits
    if named and not s.cloud_accelerator:
        yield "no cloud_accelerator"
    if s.rdma_interfaces > s.network_cards:
        yield f"{s.rdma_interfaces} RDMA interfaces on {s.network_cards} network cards"


def _unique(catalog: Catalog) -> Iterator[str]:
    """No two rows say the same thing; no name means two things."""
    for kind, keys in (
        ("shape", [(s.cloud, s.instance_type) for s in catalog.shapes]),
        ("slice", [(s.machine_type, s.topology) for s in catalog.slices]),
        ("fee", [(f.cloud, f.key, f.region, f.from_quantity, f.effective_from) for f in catalog.fees]),
        ("quota", [(q.cloud, q.scope, q.code) for q in catalog.quotas]),
        ("place", [(p.cloud, p.instance_type, p.region) for places in catalog.sold.values() for p in places]),
        (
            "offer",
            [
                (o.cloud, o.instance_type, o.region, o.zone, o.market, o.effective_from, o.effective_to)
                for o in catalog.all_offers
            ],
        ),
        ("accelerator name", _spellings(catalog.accelerators.values())),
        ("model name", _spellings(catalog.models.values())),
    ):
        counts: Counter[object] = Counter(keys)
        yield from (f"{kind} {key}: {count} rows" for key, count in counts.items() if count > 1)


def _spellings(records: Iterable[Accelerator | Architecture]) -> list[str]:
    return [name for r in records for name in {spelling(text) for text in (r.key, *r.aliases)}]


def _dense(catalog: Catalog) -> Iterator[str]:
    """FLOP/s are dense: anchors by part, and the ratios between precisions that hardware really has."""
    for key, expected in DENSE_BF16.items():
        a = catalog.accelerators.get(key)
        flop_per_s = a.flop_per_s.get("bf16", 0.0) if a else expected
        if not math.isclose(flop_per_s, expected, rel_tol=0.01):
            yield f"{key}: bf16 is {flop_per_s:.4g} FLOP/s, dense is {expected:.4g}"
    for key in NO_BF16:
        if key in catalog.accelerators and "bf16" in catalog.accelerators[key].flop_per_s:
            yield f"{key}: has no bf16"
    for a in catalog.accelerators.values():
        rate = a.flop_per_s
        for low, high, ratios in (
            ("tf32", "bf16", (1.0, 2.0, 3.7)),
            ("bf16", "fp8", (1.0, 1.95, 2.0, 3.75)),
            ("fp8", "fp4", (1.0, 2.0, 3.0)),
            ("bf16", "int8", (1.0, 2.0, 4.0)),
        ):
            if (a.vendor in ("nvidia", "amd") or a.runtime == "neuron") and low in rate and high in rate:
                ratio = rate[high] / rate[low]
                if not any(math.isclose(ratio, known, rel_tol=0.03) for known in ratios):
                    yield f"{a.key}: {high} is {ratio:.2f} x {low}; known ratios are {ratios}: is one of them sparse?"
        if any(rate[p] <= 0 or p not in PRECISIONS for p in rate) or a.memory_bytes_per_s <= 0:
            yield f"{a.key}: a rate is not positive"


def _memory(catalog: Catalog) -> Iterator[str]:
    """Memory is what a program gets: at most the GiB on the box, and not a tenth below the GB; shares add up."""
    for a in catalog.accelerators.values():
        share = re.fullmatch(r"(.*)-share-1-(\d+)", a.key)
        if share and share[1] in catalog.accelerators:
            whole = catalog.accelerators[share[1]].memory_bytes
            if not 0.9 * whole <= a.memory_bytes * int(share[2]) <= 1.1 * whole:
                yield f"{a.key}: {share[2]} x {a.memory_bytes} bytes is not the memory of {share[1]}"
            continue
        named = re.search(r"(\d+)\s?GB", a.name)
        size = int(named[1]) if named else None
        floor = 0.72 if a.family == "apple-silicon" else 0.9  # Metal leaves the GPU three quarters
        if size and a.family != "battlemage" and not floor * size * 1e9 <= a.memory_bytes <= size * 2**30:
            yield f"{a.key}: {a.memory_bytes} bytes of memory, but its name says {size} GB"
        if a.memory_bytes < 2**30:
            yield f"{a.key}: {a.memory_bytes} bytes of memory; gigabytes by mistake?"


def _shapes(catalog: Catalog) -> Iterator[str]:
    """Machines are made of known parts, and their fast domain, network and markets make sense."""
    for s in catalog.shapes:
        name = f"{s.cloud}/{s.instance_type}"
        a = catalog.accelerators.get(s.accelerator)
        if s.accelerator and a is None:
            yield f"{name}: unknown accelerator {s.accelerator!r}"
        if bool(s.accelerator) != (s.accelerators > 0):
            yield f"{name}: {s.accelerators} accelerators of {s.accelerator!r}"
        if a and not 1 <= s.scale_up <= max(a.scale_up_max, 1):
            yield f"{name}: scale_up {s.scale_up}, {a.key} has at most {a.scale_up_max} in one domain"
        if s.fabric not in FABRICS:
            yield f"{name}: unknown fabric {s.fabric!r}"
        if (s.rdma_interfaces > 0) != (s.fabric not in ("", "ici")) and not s.instance_type.startswith(("u-", "trn3")):
            yield f"{name}: {s.rdma_interfaces} RDMA interfaces on fabric {s.fabric!r}"
        if s.fabric_bytes_per_s and not s.fabric_bytes_per_s <= (s.network_bytes_per_s or 0):
            yield f"{name}: the fabric is faster than the whole network"
        if s.instance_type in RDMA_INTERFACES and s.rdma_interfaces != RDMA_INTERFACES[s.instance_type]:
            yield f"{name}: {s.rdma_interfaces} RDMA interfaces, it has {RDMA_INTERFACES[s.instance_type]}"
        counted = re.search(r"gpu_(\d+)x_|_(\d+)gpu|pu-(\d+)[gt]|-(\d+)[gt]$|gd-(\d+)x|-(\d+)x$", s.instance_type)
        if counted and s.accelerators and int(counted[counted.lastindex or 0]) != s.accelerators:
            yield f"{name}: {s.accelerators} accelerators, its name says {counted[counted.lastindex or 0]}"
        yield from (f"{name}: {fault}" for fault in _traits(s))
        if bad := (s.managed - set(MANAGED)) | (s.markets - set(MARKETS)) | (set(s.quota) - set(MARKETS)):
            yield f"{name}: unknown words {sorted(bad)}"
        if "retired" in s.note and s.markets:
            yield f"{name}: is retired but sold in {sorted(s.markets)}"


def _slices(catalog: Catalog) -> Iterator[str]:
    """TPU slices are valid: chips are the product of the topology and of machines by chips on each."""
    for s in catalog.slices:
        name = f"{s.machine_type} {s.topology}"
        sides = [int(side) for side in s.topology.split("x") if side.isdigit()]
        if math.prod(sides) != s.chips or s.vms * s.chips_per_vm != s.chips:
            yield f"{name}: {s.chips} chips, topology {s.topology}, {s.vms} machines of {s.chips_per_vm}"
        torus = 2 if "2D" in catalog.accelerator(s.accelerator).link else 3
        if len(sides) != torus:
            yield f"{name}: {s.generation} topologies have {torus} sides"
        if s.multi_host != (s.vms > 1):
            yield f"{name}: multi_host is {s.multi_host} with {s.vms} machines"
        machine = next(iter(catalog.with_tpus([s.machine_type])), None)
        if machine is None or (machine.accelerators, machine.accelerator) != (s.chips_per_vm, s.accelerator):
            yield f"{name}: no machine type with {s.chips_per_vm} x {s.accelerator}"
        counted = re.search(r"-(\d+)$", s.api_type)
        if counted and int(counted[1]) != s.chips * CORES_PER_CHIP_IN_NAME.get(s.generation, 1):
            yield f"{name}: {s.api_type} does not name {s.chips} chips"


def _regions(catalog: Catalog) -> Iterator[str]:
    """Regions of the provisioned clouds are known, zones lie in their region, EU means the EU."""
    for o in catalog.all_offers:
        if o.cloud in PROVISIONABLE and (o.cloud, o.region) not in catalog.region_facts:
            yield f"{place(o)}: region {o.region!r} is not in regions.csv"
        cloud = CLOUDS.get(o.cloud)
        if o.zone and cloud and not o.zone.startswith(cloud.regions.offer_zone_prefixes(o.region)):
            yield f"{place(o)}: zone {o.zone} is not in {o.region}"
    for z in catalog.zone_facts.values():
        known = (z.cloud, z.instance_type) in catalog.shapes_by_type
        if not known or (z.cloud, z.region) not in catalog.region_facts:
            yield f"zones.csv: {z.cloud}/{z.instance_type} {z.region}: no such machine in shapes/, or region"
        begins = CLOUDS[z.cloud].regions.zone_prefix(z.region) if z.cloud in CLOUDS else z.region
        if not z.zones or any(not zone.startswith(begins) for zone in z.zones):
            yield f"zones.csv: {z.cloud}/{z.instance_type} {z.region}: {z.zones} are no zones of it"
    for p in (p for places in catalog.sold.values() for p in places):
        if (p.cloud, p.region) not in catalog.region_facts or (p.cloud, p.instance_type) not in catalog.shapes_by_type:
            yield f"sold.csv: {p.cloud}/{p.instance_type} {p.region}: no such machine in shapes/, or region"
    for r in catalog.region_facts.values():
        if (r.area == "eu") != (r.country in EU):
            yield f"{r.cloud}/{r.region}: area {r.area!r}, country {r.country!r}"
        if bool(r.zones) != bool(r.zones_source):
            yield f"{r.cloud}/{r.region}: zones and zones_source are stated together"
        if (r.access == "government") != ("gov" in r.region):
            yield f"{r.cloud}/{r.region}: access {r.access!r}"


def _quotas(catalog: Catalog) -> Iterator[str]:
    """A quota code that a machine names is in the list of quotas."""
    known = {(q.cloud, q.code) for q in catalog.quotas}
    for s in catalog.shapes:
        if s.cloud in CLOUDS and CLOUDS[s.cloud].machines.quota_codes:
            missing = [code for code in s.quota.values() if (s.cloud, code) not in known]
            yield from (f"{s.cloud}/{s.instance_type}: quota {code} is not listed" for code in missing)


def _models(catalog: Catalog) -> Iterator[str]:
    """Model dimensions belong together; a guess is named as one."""
    names = {field.name for field in fields(Architecture)}
    for m in catalog.models.values():
        if m.kind in ("vision", "diffusion"):
            if not (m.forward_flop_per_sample and m.params_stated and m.resolution):
                yield f"{m.key}: needs forward_flop_per_sample, params_stated and resolution"
            continue
        if min(m.layers, m.hidden, m.heads, m.kv_heads, m.head_dim, m.ffn, m.vocab) <= 0:
            yield f"{m.key}: a dimension is missing"
        elif m.heads % m.kv_heads:
            yield f"{m.key}: {m.heads} heads do not divide into {m.kv_heads} KV heads"
        if m.experts and not (0 < m.experts_per_token <= m.experts and m.expert_ffn > 0 and m.dense_layers < m.layers):
            yield f"{m.key}: {m.experts_per_token} of {m.experts} experts of {m.expert_ffn} in {m.layers} layers"
        if m.kv_lora_rank and not (m.qk_rope_head_dim and m.qk_nope_head_dim and m.v_head_dim):
            yield f"{m.key}: latent attention needs its head sizes"
        if m.sliding_window_layers > m.layers:
            yield f"{m.key}: more layers with a window than layers"
        if m.extra_params and m.image_tokens == 0 and m.kind == "decoder" and "cross-attention" not in m.note:
            yield f"{m.key}: extra_params without image_tokens"
        if unknown := set(m.assumed) - names:
            yield f"{m.key}: assumed {sorted(unknown)} are no fields"


CHECKS: dict[str, Check] = {
    "every row is sourced": _sourced,
    "nothing is stated twice": _unique,
    "FLOP/s are dense": _dense,
    "memory is what a program gets": _memory,
    "machines are sound": _shapes,
    "offers have machines and markets": check_prices.offers,
    "prices are prices": check_prices.prices,
    "spot and commitments are below on-demand": check_prices.order,
    "prices are steady": check_prices.steady,
    "TPU prices are for the machine": check_prices.whole_tpu_machines,
    "Google's prices include the host": check_prices.hosts,
    "TPU slices are valid": _slices,
    "regions and zones are known": _regions,
    "Azure's list is checked against the quotas": check_prices.doubtful_lists,
    "fees have tiers from zero": check_prices.fees,
    "fees are steady": check_prices.steady_fees,
    "SageMaker's premium follows its size rule": check_prices.sagemaker,
    "quotas are listed": _quotas,
    "tokens are sold": check_prices.tokens,
    "models are sound": _models,
}
