"""Conservation: what devices hold together is at least what the model is; what is in flight fits what there is.

Over every model of the catalog and every legal layout, not over examples.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.predict.architecture import params_total
from sizewell.sizing.predict.layouts.space import space
from sizewell.sizing.predict.memory import (
    Layouts,
    model_states,
    serving_memory,
    serving_parts,
    serving_usable_bytes,
    usable_bytes,
    weight_bytes,
)
from sizewell.sizing.predict.memory.columns import fullest_stages
from sizewell.sizing.predict.memory.states import stage_states
from sizewell.sizing.predict.performance.serving import sequences_that_fit, serving
from sizewell.sizing.records.jobs import Cluster, Layout, ServingEstimate, ServingJob, TrainingJob

CATALOG = load()
# Bytes that a stored weight takes at the least, by method: nothing is stored in less than 4 bits.
LEAST_BYTES = {"pretrain": 2.0, "lora": 2.0, "qlora": 0.5}


@pytest.mark.parametrize("method", LEAST_BYTES)
def test_the_devices_of_a_layout_together_hold_every_weight(method):
    checked = 0
    for key, a in CATALOG.models.items():
        sequence = 4096 if a.kind in ("decoder", "encoder") else 0
        job = TrainingJob(architecture=a, method=method, sequence_length=sequence, global_batch=64, lora_rank=16)
        for devices in (1, 2, 8, 64):
            table = space(job, devices, 8, 8)
            if not len(table):
                continue
            layouts = Layouts.of_space(table.columns)
            stages = [np.asarray(stage_states(job, layouts, stage).weights) for stage in fullest_stages(a, layouts)]
            held = devices * np.maximum.reduce(stages)
            worst = int(np.argmin(held))
            assert held[worst] >= 0.999 * LEAST_BYTES[method] * params_total(a), (key, table.layout(worst))
            checked += len(table)
    assert checked > 10_000


def test_experts_of_an_adapter_run_are_not_divided_twice():
    deepseek = CATALOG.model("deepseek-ai/DeepSeek-V3")
    job = TrainingJob(architecture=deepseek, method="lora", sequence_length=4096, global_batch=64, lora_rank=16)
    states = model_states(job, Layout(data=8, expert=8, zero_stage=3))
    assert states.weights / 2**30 == pytest.approx(2 * 671e9 / 8 / 2**30, rel=0.01)  # 156 GiB each, not 23


@pytest.mark.parametrize("weights", ["fp32", "bf16", "fp8", "int4"])
def test_the_devices_of_a_replica_together_hold_every_weight(weights):
    bytes_each = {"fp32": 4.0, "bf16": 2.0, "fp8": 1.0, "int4": 0.5}[weights]
    for key, a in CATALOG.models.items():
        for tensor in (1, 2, 4, 8):
            for pipeline in (1, 2, 4):
                if a.layers and (a.heads % tensor or a.layers < pipeline):
                    continue
                job = ServingJob(architecture=a, weights=weights)
                held = tensor * pipeline * weight_bytes(job, tensor=tensor, pipeline=pipeline)
                assert held >= 0.999 * bytes_each * params_total(a), (key, tensor, pipeline)


# Every device on which anything can be computed, measured or not.
DEVICES = sorted(key for key, a in CATALOG.accelerators.items() if a.flop_per_s and a.memory_bytes_per_s)


def test_every_family_of_the_catalog_is_looked_at():
    families = {a.family for a in CATALOG.accelerators.values() if a.flop_per_s}
    assert families == {CATALOG.accelerator(key).family for key in DEVICES}
    assert {
        "gaudi",
        "cdna2",
        "cdna3",
        "cdna4",
        "trainium",
        "inferentia",
        "tpu",
        "blackwell",
        "ai100",
        "maia",
    } <= families


@pytest.mark.parametrize("device", DEVICES)
def test_what_is_in_flight_fits_into_what_is_usable(device):
    accelerator = CATALOG.accelerator(device)
    cluster = Cluster(accelerator=accelerator, per_node=8, nodes=1, scale_up=8)
    served = 0
    some = list(CATALOG.models.items())[sum(map(ord, device)) % 4 :: 4]  # the devices between them have every model
    for key, a in some:
        language = a.kind in ("decoder", "encoder") and not a.forward_flop_per_sample
        plain = ServingJob(architecture=a, input_tokens=2000 if language else 0)
        jobs = [plain, replace(plain, weights="int8"), replace(plain, output_tokens=300)]
        for job in jobs if a.kind == "decoder" else jobs[:2]:
            for tensor in (1, 4, 8):
                if a.heads % tensor or (tensor > 1 and a.kind != "decoder"):
                    continue
                fit = sequences_that_fit(job, cluster, tensor=tensor)
                if not fit:
                    continue
                parts = serving_parts(job, tensor=tensor, accelerator=accelerator)
                usable = serving_usable_bytes(job, parts, accelerator)
                full = serving_memory(job, tensor=tensor, sequences=fit, accelerator=accelerator)
                assert full.total_bytes <= usable + len(full.breakdown), (key, tensor, job.output_tokens)
                assert usable <= usable_bytes(accelerator)
                estimate = serving(job, cluster, tensor=tensor)
                assert isinstance(estimate, ServingEstimate)
                assert estimate.batch <= max(1, fit), (key, tensor)
                served += 1
    assert served > 20 or accelerator.memory_bytes < 20e9, served
