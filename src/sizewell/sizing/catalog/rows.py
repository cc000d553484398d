"""CSV row to record and back, one explicit tuple of columns per file."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, cast, get_args

from sizewell.sizing.catalog.lineage import lineage
from sizewell.sizing.catalog.records import (
    FAMILY_TRAITS,
    Accelerator,
    Architecture,
    Family,
    Fee,
    Grade,
    Market,
    Offer,
    Processor,
    Quota,
    Region,
    SagemakerPremium,
    Seller,
    Shape,
    Slice,
    Sold,
    TokenPrice,
    Withheld,
    Zones,
)
from sizewell.sizing.catalog.table import CellError, Row, is_iso_day, lines, resolve_source
from sizewell.sizing.errors import Fault

ACCELERATORS = (
    *("key", "vendor", "name", "family", "memory_bytes", "memory_bytes_per_s", "shared_cache_bytes"),
    *("fp32_flop_per_s", "tf32_flop_per_s", "bf16_flop_per_s", "fp16_flop_per_s"),
    *("fp8_flop_per_s", "fp4_flop_per_s", "int8_flop_per_s"),
    *("link", "link_bytes_per_s", "scale_up_max", "tdp_w", "year", "purchase_usd_low", "purchase_usd_high"),
    *("frameworks", "runtime", "processes_per_device", "matrix_width", "exponentials_per_clock", "no_builds"),
    *("aliases", "note", "source", "checked", "confidence"),
)
SHAPES = (
    *("cloud", "instance_type", "accelerator", "accelerators", "vcpus", "memory_bytes"),
    *("network_bytes_per_s", "fabric", "fabric_bytes_per_s", "rdma_interfaces", "scale_up", "local_nvme_bytes"),
    *("architecture", "network_cards", "boot_disk", "temporary_bytes", "cloud_accelerator", "packing"),
    *("traits", "traits_source"),
    *("managed", "markets", "quota", "purchase_usd_low", "purchase_usd_high", "power_w"),
    *("note", "source", "checked", "confidence"),
)
FAMILIES = ("cloud", "pattern", "trait", "source", "checked")
PROCESSORS = (
    *("cloud", "pattern", "name", "cores", "threads_per_core", "clock_hz", "memory_bytes_per_s"),
    *("fp32_flop_per_cycle", "int8_flop_per_cycle", "instructions"),
    *("source", "checked", "confidence"),
)
SLICES = (
    *("generation", "accelerator", "machine_type", "topology", "chips", "chips_per_vm", "vms"),
    *("multi_host", "gke_label", "api_type", "source", "checked"),
)
OFFERS = (
    *("cloud", "instance_type", "region", "zone", "market", "usd_per_hour"),
    *("effective_from", "effective_to", "basis", "source", "confidence", "interruption"),
)
WITHHELD = (
    *("cloud", "instance_type", "region", "zone", "market", "listed_usd_per_hour"),
    *("date", "reason", "source"),
)
SOLD = ("cloud", "instance_type", "region", "source", "checked")
ZONES = ("cloud", "instance_type", "region", "zones", "source", "checked")
REGIONS = ("cloud", "region", "area", "country", "access", "place", "source", "checked")
FEES = (
    *("cloud", "key", "name", "unit", "region", "usd", "from_quantity"),
    *("effective_from", "source", "confidence"),
)
SELLERS = ("seller", "name", "hardware", "sells", "suits", "not_built", "usd_per_hour", "source", "checked")
TOKEN_PRICES = (
    *("seller", "model", "listed_as", "input_usd", "output_usd"),
    *("effective_from", "source", "confidence"),
)
QUOTAS = ("cloud", "scope", "code", "name", "unit", "applies_to", "source", "confidence")
SAGEMAKER = ("instance_type", "percent", "source", "checked", "confidence")
_MODEL_COUNTS = (
    *("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "experts", "experts_per_token"),
    *("expert_ffn", "shared_experts", "dense_layers", "kv_lora_rank", "q_lora_rank", "qk_rope_head_dim"),
    *("qk_nope_head_dim", "v_head_dim", "sliding_window", "sliding_window_layers", "resolution"),
    *("extra_params", "image_tokens"),
)
MODELS = (
    *("key", "kind", *_MODEL_COUNTS, "gated", "tied_embeddings", "max_sequence_length"),
    *("params_stated", "params_active_stated", "forward_flop_per_sample", "assumed", "aliases", "note"),
    *("source", "checked"),
)

PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8")
MARKETS: tuple[str, ...] = get_args(Market)
GRADES: tuple[str, ...] = get_args(Grade)
ARCHITECTURES = ("", "x86_64", "arm64")
INTERRUPTIONS = ("", "<5%", "5-10%", "10-15%", "15-20%", ">20%")


def accelerator(row: Row) -> Accelerator:
    flop_per_s = {p: v for p in PRECISIONS if (v := row.real_or_none(f"{p}_flop_per_s")) is not None}
    return Accelerator(
        key=row.required("key"),
        vendor=row.required("vendor"),
        name=row.required("name"),
        family=row.required("family"),
        memory_bytes=row.count("memory_bytes"),
        memory_bytes_per_s=row.real("memory_bytes_per_s"),
        shared_cache_bytes=row.count_or_none("shared_cache_bytes"),
        flop_per_s=flop_per_s,
        link=row.text("link"),
        link_bytes_per_s=row.real_or_none("link_bytes_per_s"),
        scale_up_max=row.count("scale_up_max"),
        tdp_w=row.real_or_none("tdp_w"),
        year=row.count_or_none("year"),
        purchase_usd=row.span("purchase_usd_low", "purchase_usd_high"),
        frameworks=row.words("frameworks"),
        runtime=row.required("runtime"),
        processes_per_device=row.count("processes_per_device"),
        matrix_width=row.count_or_none("matrix_width"),
        exponentials_per_clock=row.count_or_none("exponentials_per_clock"),
        no_builds=row.text("no_builds"),
        aliases=row.words("aliases"),
        note=row.text("note"),
        source=row.source(),
        checked=row.day("checked"),
        confidence=row.one_of("confidence", GRADES),
    )


def shape(row: Row, *, runtimes: Mapping[str, str]) -> Shape:
    """`runtimes` are those of the accelerators, by key."""
    quota = dict(cast("tuple[str, str]", tuple(word.split("=", 1))) for word in row.words("quota") if "=" in word)
    return Shape(
        cloud=row.required("cloud"),
        instance_type=row.required("instance_type"),
        accelerator=row.text("accelerator"),
        accelerators=row.count("accelerators"),
        vcpus=row.count_or_none("vcpus"),
        memory_bytes=row.count_or_none("memory_bytes"),
        network_bytes_per_s=row.real_or_none("network_bytes_per_s"),
        fabric=row.text("fabric"),
        fabric_bytes_per_s=row.real_or_none("fabric_bytes_per_s"),
        rdma_interfaces=row.count("rdma_interfaces"),
        scale_up=row.count("scale_up"),
        local_nvme_bytes=row.count("local_nvme_bytes"),
        architecture=row.one_of("architecture", ARCHITECTURES),
        network_cards=row.count("network_cards") or row.count("rdma_interfaces") or 1,
        boot_disk=row.text("boot_disk"),
        temporary_bytes=row.count("temporary_bytes"),
        cloud_accelerator=row.text("cloud_accelerator"),
        packing=frozenset(row.words("packing")),
        traits=frozenset(row.words("traits")),
        traits_source="; ".join(resolve_source(word, row.sources) for word in row.words("traits_source")),
        runtime=runtimes.get(row.text("accelerator"), ""),
        managed=frozenset(row.words("managed")),
        markets=frozenset(row.words("markets")),
        quota=quota,
        purchase_usd=row.span("purchase_usd_low", "purchase_usd_high"),
        power_w=row.real_or_none("power_w"),
        note=row.text("note"),
        source=row.source(),
        checked=row.day("checked"),
        confidence=row.one_of("confidence", GRADES),
    )


def family(row: Row) -> Family:
    return Family(
        cloud=row.required("cloud"),
        pattern=row.required("pattern"),
        trait=row.one_of("trait", tuple(FAMILY_TRAITS)),
        source=row.source(),
        checked=row.day("checked"),
    )


def processor(row: Row) -> Processor:
    precisions = {name: row.real_or_none(f"{name}_flop_per_cycle") for name in ("fp32", "int8")}
    return Processor(
        cloud=row.required("cloud"),
        pattern=row.required("pattern"),
        name=row.required("name"),
        cores=row.count("cores"),
        threads_per_core=row.count("threads_per_core"),
        clock_hz=row.real("clock_hz"),
        memory_bytes_per_s=row.real("memory_bytes_per_s"),
        flop_per_cycle={name: value for name, value in precisions.items() if value},
        instructions=row.words("instructions"),
        source=row.source(),
        checked=row.day("checked"),
        confidence=row.one_of("confidence", get_args(Grade)),
    )


def tpu_slice(row: Row) -> Slice:
    return Slice(
        generation=row.required("generation"),
        accelerator=row.required("accelerator"),
        machine_type=row.required("machine_type"),
        topology=row.required("topology"),
        chips=row.count("chips"),
        chips_per_vm=row.count("chips_per_vm"),
        vms=row.count("vms"),
        multi_host=row.flag("multi_host"),
        gke_label=row.text("gke_label"),
        api_type=row.text("api_type"),
        source=row.source(),
        checked=row.day("checked"),
    )


def offer(row: Row) -> Offer:
    """A price. The catalog has thousands of them, so `read_offers` has a shorter way for rows without a fault."""
    return Offer(
        cloud=row.required("cloud"),
        instance_type=row.required("instance_type"),
        region=row.required("region"),
        zone=row.text("zone"),
        market=row.one_of("market", MARKETS),
        usd_per_hour=row.money("usd_per_hour"),
        effective_from=row.day("effective_from"),
        effective_to=row.day("effective_to") if row.text("effective_to") else "",
        basis=row.required("basis"),
        source=row.source(),
        confidence=row.one_of("confidence", GRADES),
        interruption=row.one_of("interruption", INTERRUPTIONS),
    )


def withheld(row: Row) -> Withheld:
    return Withheld(
        cloud=row.required("cloud"),
        instance_type=row.required("instance_type"),
        region=row.required("region"),
        zone=row.text("zone"),
        market=row.required("market"),
        listed_usd_per_hour=row.money("listed_usd_per_hour") if row.text("listed_usd_per_hour") else None,
        date=row.day("date"),
        reason=row.required("reason"),
        source=row.source(),
    )


def zones(row: Row) -> Zones:
    return Zones(
        cloud=row.required("cloud"),
        instance_type=row.text("instance_type"),
        region=row.required("region"),
        zones=row.words("zones"),
        source=row.source(),
        checked=row.day("checked"),
    )


def sold(row: Row) -> Sold:
    return Sold(
        cloud=row.required("cloud"),
        instance_type=row.required("instance_type"),
        region=row.required("region"),
        source=row.source(),
        checked=row.day("checked"),
    )


def region(row: Row) -> Region:
    return Region(
        cloud=row.required("cloud"),
        region=row.required("region"),
        area=row.required("area"),
        country=row.required("country"),
        access=row.one_of("access", ("open", "restricted", "government")),
        place=row.required("place"),
        source=row.source(),
        checked=row.day("checked"),
    )


def fee(row: Row) -> Fee:
    return Fee(
        cloud=row.required("cloud"),
        key=row.required("key"),
        name=row.required("name"),
        unit=row.required("unit"),
        region=row.required("region"),
        usd=row.money("usd"),
        from_quantity=row.money("from_quantity"),
        effective_from=row.day("effective_from"),
        source=row.source(),
        confidence=row.one_of("confidence", GRADES),
    )


def seller(row: Row) -> Seller:
    return Seller(
        seller=row.required("seller"),
        name=row.required("name"),
        hardware=row.required("hardware"),
        sells=row.words("sells"),
        suits=row.required("suits"),
        not_built=row.required("not_built"),
        usd_per_hour=row.money("usd_per_hour") if row.text("usd_per_hour") else None,
        source=row.source(),
        checked=row.day("checked"),
    )


def token_price(row: Row) -> TokenPrice:
    return TokenPrice(
        seller=row.required("seller"),
        model=row.required("model"),
        listed_as=row.required("listed_as"),
        input_usd=row.money("input_usd"),
        output_usd=row.money("output_usd"),
        effective_from=row.day("effective_from"),
        source=row.source(),
        confidence=row.one_of("confidence", GRADES),
    )


def quota(row: Row) -> Quota:
    return Quota(
        cloud=row.required("cloud"),
        scope=row.required("scope"),
        code=row.required("code"),
        name=row.required("name"),
        unit=row.required("unit"),
        applies_to=row.required("applies_to"),
        source=row.source(),
        confidence=row.one_of("confidence", GRADES),
    )


def sagemaker_premium(row: Row) -> SagemakerPremium:
    return SagemakerPremium(
        instance_type=row.required("instance_type"),
        percent=row.money("percent"),
        source=row.source(),
        checked=row.day("checked"),
        confidence=row.one_of("confidence", GRADES),
    )


def model(row: Row) -> Architecture:
    counts: dict[str, Any] = {c: row.count(c) for c in _MODEL_COUNTS if row.cells[c]}
    return Architecture(
        key=row.required("key"),
        kind=row.one_of("kind", ("decoder", "encoder", "vision", "diffusion")),
        traits=lineage(row.required("key")),
        gated=row.flag("gated"),
        tied_embeddings=row.flag("tied_embeddings"),
        max_sequence_length=row.count_or_none("max_sequence_length"),
        params_stated=row.count_or_none("params_stated"),
        params_active_stated=row.count_or_none("params_active_stated"),
        forward_flop_per_sample=row.real_or_none("forward_flop_per_sample"),
        assumed=row.words("assumed"),
        aliases=row.words("aliases"),
        note=row.text("note"),
        source=row.source(),
        checked=row.day("checked"),
        **counts,
    )


_MARKET_SET = frozenset(MARKETS)
_GRADE_SET = frozenset(GRADES)


def read_offers(name: str, text: str, sources: Mapping[str, str], faults: list[Fault]) -> list[Offer]:
    """As `read(..., OFFERS, offer, ...)`, quicker: most of the catalog's rows are offers."""
    records: list[Offer] = []
    days: set[str] = {""}
    for number, cells in lines(name, text, OFFERS, faults):
        cloud, instance_type, place, zone, market, usd, since, until, basis, source, confidence, reclaim = cells
        if since not in days and is_iso_day(since):
            days.add(since)
        try:
            amount = Decimal(usd)
        except InvalidOperation:
            amount = None
        if (
            amount is None
            or not amount.is_finite()
            or not (cloud and instance_type and place and since and basis and source)
            or market not in _MARKET_SET
            or confidence not in _GRADE_SET
            or reclaim not in INTERRUPTIONS
            or since not in days
            or (until and not is_iso_day(until))
            or (source[0] == "@" and source[1:] not in sources)
        ):
            try:
                records.append(offer(Row(dict(zip(OFFERS, cells, strict=True)), sources)))
            except CellError as wrong:
                faults.append(Fault(path=f"{name} row {number}: {wrong.column}", message=str(wrong)))
            continue
        records.append(
            Offer(
                cloud=cloud,
                instance_type=instance_type,
                region=place,
                zone=zone,
                market=market,  # type: ignore[arg-type]
                usd_per_hour=amount,
                effective_from=since,
                effective_to=until,
                basis=basis,
                source=sources[source[1:]] if source[0] == "@" else source,
                confidence=confidence,  # type: ignore[arg-type]
                interruption=reclaim,
            )
        )
    return records


def cells_of(record: object, columns: tuple[str, ...]) -> list[str]:
    """The record as cells of its file, so that `read` gives the same record again; `source` is written out."""
    return [_text(record, column) for column in columns]


def _text(record: Any, column: str) -> str:
    precision = column.removesuffix("_flop_per_s")
    if precision in PRECISIONS:
        return _cell(record.flop_per_s.get(precision))
    if column in ("purchase_usd_low", "purchase_usd_high"):
        span = record.purchase_usd
        return "" if span is None else str(span[column.endswith("high")])
    value = getattr(record, column)
    if column in _MODEL_COUNTS and value == 0:
        return ""
    return _cell(value)


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.12g}"
        case tuple():
            return " | ".join(value)
        case frozenset():
            return " | ".join(sorted(value))
        case dict():
            return " | ".join(f"{key}={value[key]}" for key in sorted(value))
    return str(value)
