"""A small catalog of facts that a test can hold in its head, and specs in one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
import yaml

from sizewell.sizing import catalog
from sizewell.sizing.catalog import Catalog
from sizewell.sizing.catalog.records import Offer
from sizewell.sizing.workload.read import WorkloadSpec, parse_spec

ON = date(2026, 11, 20)


@pytest.fixture(scope="session")
def facts() -> Catalog:
    return catalog.load()


@pytest.fixture(scope="session")
def small(facts: Catalog) -> Catalog:
    """Few machine types, so that laws can be tried hundreds of times."""
    keep = {
        ("aws", "g4dn.xlarge"),
        ("aws", "g5.xlarge"),
        ("aws", "g6.xlarge"),
        ("aws", "g6e.xlarge"),
        ("aws", "g6e.12xlarge"),
        ("aws", "p4d.24xlarge"),
        ("aws", "p5.48xlarge"),
        ("gcp", "g2-standard-4"),
        ("gcp", "ct6e-standard-4t"),
        ("azure", "Standard_NC4as_T4_v3"),
        ("azure", "Standard_ND96isr_H100_v5"),
        ("lambda", "gpu_1x_a10"),
        ("aws", "m6i.2xlarge"),
    }
    return with_shapes(facts, keep)


def with_shapes(facts: Catalog, keep: set[tuple[str, str]]) -> Catalog:
    return replace(facts, shapes=tuple(s for s in facts.shapes if (s.cloud, s.instance_type) in keep))


def with_offers(facts: Catalog, offers: Sequence[Offer]) -> Catalog:
    """The catalog with more offers."""
    by_type = {key: list(value) for key, value in facts.offers_by_type.items()}
    for offer in offers:
        rows = by_type.setdefault((offer.cloud, offer.instance_type), [])
        rows.append(offer)
        rows.sort(key=lambda o: (o.region, o.market, o.zone, o.effective_from))
    return replace(facts, offers_by_type={key: tuple(value) for key, value in by_type.items()})


def offer(cloud: str, instance_type: str, region: str, market: str, usd_per_hour: str, **more: Any) -> Offer:
    return Offer(
        **{
            "cloud": cloud,
            "instance_type": instance_type,
            "region": region,
            "zone": "",
            "market": market,
            "usd_per_hour": Decimal(usd_per_hour),
            "effective_from": "2026-01-01",
            "effective_to": "",
            "basis": "list",
            "source": "test",
            "confidence": "high",
            **more,
        }
    )


def spec(**fields: Any) -> WorkloadSpec:
    """A spec from keyword arguments, as YAML would have it."""
    return parse_spec(yaml.safe_dump({"name": "w", **fields}))


def chat(**fields: Any) -> WorkloadSpec:
    return spec(
        **{
            "kind": "inference",
            "model": "meta-llama/Llama-3.1-8B",
            "traffic": {"rps": 4, "input_tokens": 1500, "output_tokens": 300},
            "slo": {"ttft": "2s", "tpot": "100ms", "percentile": "p95"},
            **fields,
        }
    )


def tune(**fields: Any) -> WorkloadSpec:
    return spec(
        **{
            "kind": "fine-tuning",
            "model": "meta-llama/Llama-3.1-8B",
            "training": {
                "method": "lora",
                "lora": {"rank": 16, "targets": "all-linear"},
                "tokens": "50M",
                "sequence_length": 2048,
                "global_batch": 131072,
            },
            "deadline": "3d",
            **fields,
        }
    )


def night(**fields: Any) -> WorkloadSpec:
    return spec(
        **{
            "kind": "batch-inference",
            "model": {"name": "meta-llama/Llama-3.1-8B", "weights": "bf16"},
            "batch": {"records": "1M", "tokens_per_record": 400, "output_tokens_per_record": 10, "window": "8h"},
            **fields,
        }
    )


MakeSpec = Callable[..., WorkloadSpec]
