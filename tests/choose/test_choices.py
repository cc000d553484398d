"""What a decision takes into account beside machines: where data lie, what a block holds, what can be brought up."""

import json
import re
from datetime import date
from typing import get_args

import pytest
import yaml

from sizewell.cli import parallel
from sizewell.sizing.catalog.buildable import refusal
from sizewell.sizing.catalog.records import PROVISIONABLE
from sizewell.sizing.choose.choice import ALIKE, alternatives
from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.choose.fleets_training import least_device_s
from sizewell.sizing.errors import SpecError
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.records.launching import beyond
from sizewell.sizing.workload.model import Training
from sizewell.sizing.workload.read import parse_spec, read_spec

ON = date(2026, 11, 20)
TUNE = {
    "kind": "fine-tuning",
    "model": {"name": "meta-llama/Llama-3.1-8B", "precision": "bf16"},
    "training": {"method": "lora", "samples": 20000, "sequence_length": 1024, "global_batch": 65536},
    "deadline": "3d",
}
PHOTOS = {
    "kind": "training",
    "model": "resnet-50",
    "training": {"samples": "100M", "epochs": 20, "global_batch": 4096, "images": {"resolution": 224}},
    "deadline": "2d",
}
PRETRAIN = {
    "kind": "training",
    "model": {"params": "8B", "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "vocab": 128256},
    "training": {"tokens": "30B", "sequence_length": 4096, "global_batch": "2M"},
    "resources": {"accelerators": ["H100", "H200"]},
}


def spec(**given):
    return parse_spec(yaml.safe_dump({"name": "w", **given}), "test")


def decided(facts, **given):
    answer = decide([spec(**given)], facts, stack="", on=ON)
    assert isinstance(answer, Decision), str(answer)
    return answer.workloads[0]


def test_what_was_chosen_is_logged(facts, caplog):
    decided(facts, **TUNE)
    assert not caplog.records  # silent by default
    caplog.set_level("INFO", "sizewell")
    pool = decided(facts, **TUNE).pools[0]
    (line,) = [record.getMessage() for record in caplog.records if record.name == "sizewell.sizing.choose.decide"]
    assert line.startswith(f"w: {pool.market} {pool.cloud} {pool.instance_type} in {pool.region}, of ")


def test_data_pull_their_machines_to_the_cloud_where_they_lie(facts):
    """12 TB over the internet cost more than the whole run."""
    for start, cloud in (("s3", "aws"), ("gs", "gcp")):
        workload = decided(facts, **PHOTOS, data={"location": f"{start}://petsnap/images", "size": "12TB"})
        assert workload.pools[0].cloud == cloud
        assert not [said for said in workload.assumptions if said.startswith("its data leaves")]


def test_data_that_have_to_leave_their_cloud_say_what_that_costs(facts):
    workload = decided(facts, **PHOTOS, infra=["aws"], data={"location": "gs://petsnap/images", "size": "12TB"})
    (said,) = [said for said in workload.assumptions if said.startswith("its data leaves gcp")]
    # 12 TB are 11,175.87 GB as clouds bill them: 1,024 at 0.12, 9,216 at 0.11, the rest at 0.08
    assert "about 1,211.51 USD a run" in said


def test_a_deadline_on_spot_has_room_for_one_interruption_more_than_is_expected(facts):
    given = TUNE | {"spot_policy": "spot", "infra": ["aws/us-east-1"]}
    given |= {"resources": {"instance_type": "g6e.xlarge", "nodes": 1}}
    alone = decided(facts, **given)
    spare_s = 600 + alone.checkpoint.interval_s + alone.performance.figures["checkpoint_write_s"]
    least_s = alone.performance.value + spare_s
    assert decided(facts, **given | {"deadline": f"{int(least_s / 60) + 1}m"}).pools[0].market == "spot"
    late = decide([spec(**given | {"deadline": f"{int(least_s / 60) - 1}m"})], facts, stack="", on=ON)
    assert not isinstance(late, Decision), "in time on average alone"


def test_a_capacity_block_is_a_deadline(facts):
    block = {"block": {"duration": "72h", "max_price": "30000 USD", "purchase": "confirmed"}}
    workload = decided(facts, **PRETRAIN, capacity=block)
    assert workload.pools[0].market == "capacity-block"
    assert workload.pools[0].nodes_max > 1
    assert workload.performance.value < 72 * 3600


def test_no_job_is_spread_over_azure_machines_without_infiniband(facts):
    wide = {**TUNE, "resources": {"nodes": "2..4"}, "infra": ["azure"]}
    found = size_one(spec(**wide), facts, stack="", on=ON)
    assert found.options
    assert {option.candidate.shape.fabric for option in found.options if option.candidate.buildable} == {"infiniband"}
    alone = [one for one in found.rejections if "which these do not have" in one.reason]
    assert "azure/Standard_NC40ads_H100_v5" in {one.shape for one in alone}


def test_no_machine_of_a_rack_is_chosen_that_no_component_brings_up(facts):
    for given in (TUNE, PRETRAIN):
        options = size_one(spec(**given), facts, stack="", on=ON).options
        racks = {option.cloud for option in options if option.candidate.shape.accelerator in ("gb200", "gb300")}
        assert not racks & {"aws", "azure"}


def test_alternatives_of_a_run_say_what_differs_of_the_run_and_what_of_the_rest(facts):
    workload = decided(facts, **TUNE, infra=["aws/us-east-1"])
    run_usd = workload.cost.per_run_usd
    said = 0
    for other in workload.alternatives:
        for amount, word in re.findall(
            r"([\d,.]+) USD a run(?: and [\d,.]+ USD for supporting resources)? (\w+)", other.why_not
        ):
            said += 1
            sign = {"more": 1, "cheaper": -1}[word]
            assert float(amount.replace(",", "")) == pytest.approx(sign * float(other.usd_per_run - run_usd), abs=0.011)
    assert said >= 3


def test_a_bound_of_a_run_is_below_every_run(facts):
    """Shapes are given up by it without a search."""
    for given in (
        TUNE,
        {**TUNE, "training": {**TUNE["training"], "method": "full"}},
        PHOTOS,
        {**PRETRAIN, "deadline": "9d"},
    ):
        found = size_one(spec(**given), facts, stack="", on=ON)
        job = found.need.training
        least = least_device_s(job, tuple(facts.accelerators.values()))
        for candidate in found.trial.candidates:
            for fleet in candidate.fleets:
                devices = fleet.nodes * candidate.shape.accelerators
                assert fleet.run_s * devices >= least[candidate.accelerator.key], candidate.shape.instance_type


def test_what_a_service_asks_no_price_for_is_not_called_late(facts):
    found = size_one(spec(**TUNE, managed="sagemaker"), facts, stack="", on=ON)
    late = [one for one in found.rejections if "with them more than" in one.reason]
    assert all(float(one.reason.split(" h")[0]) * 1.5 > 72 for one in late)


def test_many_specs_are_answered_in_their_order_by_several_processes(facts):
    named = [spec(**{**TUNE, "name": f"w{number}"}) for number in range(6)]
    done = []
    answers = list(parallel.decide_all(named, ON, done.append))
    assert [answer.workloads[0].spec.name for answer in answers] == [one.name for one in named]
    assert answers[2] == decide([named[2]], facts, stack="", on=ON)
    assert done == [1, 2, 3, 4, 5, 6]


FRONTIER = {
    "kind": "training",
    "model": "meta-llama/Llama-3.1-405B",
    "training": {"tokens": "15T", "sequence_length": 8192, "global_batch": "16M"},
    "deadline": "60d",
}


def test_a_frontier_run_gets_as_many_machines_as_its_deadline_asks_for(facts):
    workload = decided(facts, **FRONTIER, infra=["aws"])
    (pool,) = workload.pools
    assert pool.nodes_max > 128
    assert workload.performance.value <= 60 * 86_400
    half = spec(**FRONTIER, infra=["aws"], resources={"nodes": pool.nodes_max // 2})
    assert not isinstance(decide([half], facts, stack="", on=ON), Decision), "the smallest number that does is taken"


def test_no_job_has_more_machines_than_a_pool_of_its_cloud_holds(facts):
    for cloud, most in (("azure", 100), ("gcp", 1000), ("aws", 2048)):
        asked = spec(**FRONTIER, infra=[cloud], resources={"nodes": "5000.."})
        answer = decide([asked], facts, stack="", on=ON)
        assert not isinstance(answer, Decision)
        assert f"one job runs on at most {most:,} of these machines" in {one.reason for one in answer.nearest}


def test_pictures_are_counted_as_samples(facts):
    figures = decided(facts, **PHOTOS).performance.figures
    assert figures["samples_per_s"] == pytest.approx(4096 / figures["step_s"], rel=1e-3)
    assert "tokens_per_s" not in figures
    many = decided(facts, **PHOTOS, resources={"instance_type": "p5.48xlarge", "nodes": "8"}).performance.figures
    assert 0.98 < many["goodput"] < figures["goodput"] < 1, "64 devices fail more often than 8, and seldom"


def test_virtual_gpus_are_chosen_only_where_their_driver_comes_with_the_service(facts):
    chat = {
        "kind": "inference",
        "model": {"name": "llava-hf/llava-1.5-7b-hf", "weights": "fp16"},
        "traffic": {"rps": 0.5, "input_tokens": 64, "output_tokens": 80},
        "infra": ["azure/eastus"],
        "resources": {"accelerators": ["A10"]},
    }
    asked = spec(**chat)
    answer = decide([asked], facts, stack="", on=ON)
    assert not isinstance(answer, Decision)
    assert any("GRID driver" in one.reason for one in answer.nearest)
    workload = decided(facts, **chat, scheduler="kubernetes")
    assert workload.pools[0].instance_type.startswith("Standard_N")
    assert workload.pools[0].accelerator.startswith("a10")


@pytest.mark.parametrize(
    ("cloud", "instance_type"),
    [("azure", "Standard_NV36ads_A10_v5"), ("gcp", "g4-standard-24")],
)
def test_a_machine_with_a_part_of_a_gpu_has_its_driver_only_in_a_cluster(facts, cloud, instance_type):
    shape = facts.shape(cloud, instance_type)
    family = facts.accelerators[shape.accelerator].family
    assert "GRID driver" in refusal(shape, family=family, scheduler="none", managed="")
    assert refusal(shape, family=family, scheduler="kubernetes", managed="") == ""


def test_every_part_of_a_gpu_is_marked_as_virtual(facts):
    parts = [shape for shape in facts.shapes if "-share-" in shape.accelerator]
    assert parts
    assert all("virtual-gpu" in shape.traits for shape in parts)


def test_no_confidential_machine_is_chosen(facts):
    only = spec(**{**PRETRAIN, "resources": {"instance_type": "Standard_NCC40ads_H100_v5"}})
    answer = decide([only], facts, stack="", on=ON)
    assert not isinstance(answer, Decision)
    assert "confidential virtual machines cannot be provisioned" in {one.reason for one in answer.nearest}


def test_every_optimizer_that_a_spec_may_name_is_sized(facts):
    names = get_args(Training.model_fields["optimizer"].annotation)
    assert len(names) > 6
    needs = {}
    for name in names:
        training = {**TUNE["training"], "method": "full", "optimizer": name}
        need = decided(facts, **(TUNE | {"training": training, "resources": {"accelerators": "h200"}})).memory
        needs[name] = need
    assert needs["adamw-8bit"].breakdown["optimizer"] < needs["adamw"].breakdown["optimizer"]


def test_a_fleet_of_edge_devices_is_no_alternative_to_a_rented_machine(facts):
    """One Jetson does what one T4 does for a few images; 74 of them stand for no MI300X machine."""
    run = spec(
        kind="batch-inference",
        model="BAAI/bge-m3",
        batch={"records": "100M", "tokens_per_record": 512, "window": "24h"},
    )
    few = spec(
        kind="inference", model="resnet-50", traffic={"rps": 20, "images": {"resolution": 224}}, slo={"latency": "30ms"}
    )
    listed = []
    for one in (run, few):
        answer = decide([one], facts, stack="", on=date(2026, 11, 23))  # edge devices have prices since the 22nd
        assert isinstance(answer, Decision)
        listed.append([other.nodes for other in answer.workloads[0].alternatives if other.cloud == "edge"])
    assert max([0, *listed[0]]) <= 4
    assert listed[1]


def test_a_step_that_devices_hardly_divide_says_which_would(facts):
    training = {**PRETRAIN["training"], "sequence_length": 8192, "global_batch": 508 * 8192}
    workload = decided(facts, **(PRETRAIN | {"training": training}))
    assert any("training.global_batch: 4194304 (512 samples)" in said for said in workload.assumptions)
    assert not any("would divide among most" in said for said in decided(facts, **PRETRAIN).assumptions)


def test_records_longer_than_the_model_reads_are_refused(facts):
    batch = {"records": "1M", "tokens_per_record": 8000, "window": "4h"}
    wrong = {"name": "w", "kind": "batch-inference", "model": "google-bert/bert-base-uncased", "batch": batch}
    with pytest.raises(SpecError, match=r"batch.tokens_per_record: input and output are 8000 tokens.*allows 512"):
        parse_spec(yaml.safe_dump(wrong), "test", catalog=facts)


@pytest.mark.parametrize(
    ("wish", "said", "way"),
    [
        ({"resources": {"instance_type": "a3-highgpu-8g"}, "infra": ["aws"]}, "a3-highgpu-8g is sold by gcp, infra has aws", "add gcp"),
        ({"resources": {"accelerators": "mi300x"}, "infra": ["gcp"]}, "mi300x is sold by azure, .*infra has gcp", "add azure"),
        ({"resources": {"accelerators": "l4", "gpu": "80GB.."}}, "80GB.. and resources.accelerators: l4 exclude", "keep one"),
        ({"resources": {"accelerators": "l4", "instance_type": "p5.48xlarge"}}, "l4 and resources.instance_type: p5.48xlarge", "keep one"),
    ],
)  # fmt: skip
def test_wishes_that_exclude_each_other_are_refused_before_any_search(facts, wish, said, way):
    service = {
        "kind": "inference",
        "model": "Qwen/Qwen3-8B",
        "traffic": {"rps": 2, "input_tokens": 500, "output_tokens": 100},
    }
    with pytest.raises(SpecError, match=said) as caught:
        parse_spec(yaml.safe_dump({"name": "w", **service, **wish}), "test", catalog=facts)
    assert caught.value.faults[0].fix.startswith(way)


CONFIG = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000,
    "intermediate_size": 11008, "max_position_embeddings": 4096,
}  # fmt: skip


@pytest.mark.parametrize(
    ("stretch", "tokens", "refused"),
    [
        (None, 4000, False),
        (None, 32000, True),
        ({"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 4096}, 32000, False),
        ({"type": "yarn", "factor": 4.0}, 32000, True),
        ({"type": "longrope", "long_factor": [1.0, 1.1]}, 4000, False),
    ],
)
def test_texts_longer_than_a_configuration_allows_are_refused(facts, tmp_path, stretch, tokens, refused):
    config = CONFIG | ({"rope_scaling": stretch} if stretch else {})
    (tmp_path / "config.json").write_text(json.dumps(config))
    traffic = {"rps": 1, "input_tokens": tokens, "output_tokens": 50}
    service = {"name": "w", "kind": "inference", "model": {"config": "config.json"}, "traffic": traffic}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(service))
    if refused:
        with pytest.raises(
            SpecError, match=r"traffic.input_tokens: input and output are 32050 tokens, config.json allows"
        ):
            read_spec(tmp_path / "s.yaml", facts)
    else:
        assert read_spec(tmp_path / "s.yaml", facts).model.config


def test_a_bound_between_tokens_is_refused_where_there_are_none(facts):
    traffic = {"rps": 2, "input_tokens": 500, "output_tokens": 0}
    with pytest.raises(SpecError, match=r"slo.tpot: bounds the time between output tokens"):
        spec(kind="inference", model="Qwen/Qwen3-8B", traffic=traffic, slo={"tpot": "30ms"})


def test_a_cache_format_that_the_engine_lacks_is_not_replaced_silently(facts):
    """vLLM stores no 8-bit integers: its command is given fp8, and the answer says it."""
    service = {"kind": "inference", "traffic": {"rps": 2, "input_tokens": 500, "output_tokens": 100}}
    for given, said in (({}, True), ({"engine": "vllm"}, True), ({"kv": "fp8"}, False), ({"engine": "sglang"}, False)):
        model = {"name": "meta-llama/Llama-3.1-8B", "kv": given.get("kv", "int8")}
        engine = {"engine": given["engine"]} if "engine" in given else {}
        notes = decided(facts, **service, model=model, **engine).assumptions
        assert ("KV cache in fp8: vllm has no int8 there" in notes) == said, notes


def test_memory_whose_band_is_over_the_limit_does_not_fit(facts):
    """70B in fp8 on one H100 of 80 GB runs with luck; on an H200 nobody needs to ask."""
    service = {
        "kind": "inference",
        "traffic": {"rps": 0.2, "input_tokens": 1000, "output_tokens": 300},
        "model": {"name": "meta-llama/Llama-3.1-70B", "weights": "fp8"},
        "slo": {"ttft": "20s", "tpot": "200ms"},
    }
    for instance_type, fits in (("p5.4xlarge", False), ("p5en.48xlarge", True)):
        one = spec(**service, resources={"instance_type": instance_type})
        best = size_one(one, facts, stack="", on=ON).best()
        assert (best is not None) == fits
        assert best is None or best.fleet.memory.high_bytes <= best.fleet.usable_bytes


def test_a_run_whose_band_passes_its_deadline_is_said_to_be_doubtful(facts):
    """Of the same machines: a deadline inside the band of the run's time, and one beyond it."""
    on = {"resources": {"instance_type": "p5.48xlarge", "nodes": 1}}
    night = {"batch": {"records": "20M", "tokens_per_record": 500, "output_tokens_per_record": 5}}
    label = {"kind": "batch-inference", "model": "meta-llama/Llama-3.1-8B-Instruct", **on}
    bare = decided(facts, **PRETRAIN | on, deadline="365d").performance
    slow = decided(facts, **label, batch={**night["batch"], "window": "10d"}).performance
    for limit, speed, given in (
        ("deadline", bare, lambda s: {**PRETRAIN, **on, "deadline": f"{s:.0f}s"}),
        ("window", slow, lambda s: {**label, "batch": {**night["batch"], "window": f"{s:.0f}s"}}),
    ):
        for allowed_s, doubtful in (((speed.value + speed.high) / 2, True), (speed.high * 1.05, False)):
            workload = decided(facts, **given(allowed_s))
            assert workload.performance.high == pytest.approx(speed.high, rel=0.01)
            said = [
                line for line in workload.assumptions if line.startswith(f"may end after its {limit}: its 80 % band")
            ]
            assert bool(said) == doubtful, (limit, workload.assumptions)


def test_a_notebook_s_accelerators_are_on_one_machine_where_one_has_as_many(facts):
    """Two of 24 GB: a kernel sees those of its own machine alone, however cheap two machines of one each are."""
    pair = {"kind": "notebook", "infra": ["gcp"], "resources": {"gpu": "24GB..", "gpus": 2}}
    pool = decided(facts, **pair).pools[0]
    assert (pool.nodes_max, pool.accelerators_per_node) == (1, 2)
    for resources, remarked in (({"gpu": "24GB..", "nodes": 2}, False), ({"gpu": "24GB..", "gpus": 3}, True)):
        workload = decided(facts, **{**pair, "resources": resources})
        assert workload.pools[0].nodes_max > 1
        assert any("a notebook works on one machine" in line for line in workload.assumptions) == remarked


def test_a_machine_that_costs_too_much_says_what_of_it_is_the_run(facts):
    """A run of a few dollars is not said to cost the month of the private endpoints beside it."""
    sizing = size_one(spec(**TUNE), facts, stack="", on=ON)
    reasons = [r.reason for r in sizing.rejections if r.cause.value == "dearer" and r.cloud in PROVISIONABLE]
    assert reasons
    for reason in reasons:
        run, beside, best = (float(usd.replace(",", "")) for usd in re.findall(r"([0-9,.]+) USD", reason))
        assert "USD a run even without communication and" in reason  # the month's, apart from the run's
        assert run + beside > best


def test_photos_that_processors_decode_are_known_no_better_than_decoding(facts):
    """How fast a virtual CPU decodes is published within a factor of 1.5 either way, whatever the devices are."""
    batch = {"records": "50M", "window": "8h", "images": {"resolution": 224}}
    speed = decided(facts, kind="batch-inference", model="resnet50", batch=batch).performance
    assert (speed.bottleneck, speed.grade) == ("host decoding", "roofline")
    assert (speed.low / speed.value, speed.high / speed.value) == pytest.approx((2 / 3, 1.5), rel=0.01)


def test_of_times_that_predictions_cannot_tell_apart_the_cheaper_is_chosen(facts):
    """QLoRA of 70B for time: B200 and B300 are within 1 % of each other, and 100 USD a run apart."""
    training = {"method": "qlora", "samples": "20k", "epochs": 2, "sequence_length": 2048, "global_batch": 65536}
    one = parse_spec(
        yaml.safe_dump(
            {"name": "x", "kind": "fine-tuning", "model": "meta-llama/Llama-3.3-70B-Instruct", "objective": "time",
             "training": training}
        ),
        catalog=facts,
    )  # fmt: skip
    sizing = size_one(one, facts, stack="", on=ON)
    chosen = sizing.best()
    built = [o for o in sizing.options if o.candidate.buildable]
    fastest = min(o.seconds for o in built)
    alike = [o for o in built if o.seconds <= fastest * ALIKE]
    assert len(alike) > 1
    assert chosen.rank_usd == min(o.rank_usd for o in alike) < max(o.rank_usd for o in alike)
    assert chosen.seconds <= fastest * ALIKE
    half = next(a for a in alternatives(sizing, chosen) if a.instance_type == chosen.instance_type)
    assert half.nodes == chosen.fleet.nodes // 2
    assert re.fullmatch(r"[\d.]+ USD a run cheaper; 1\.\d x as long", half.why_not)


def test_what_the_entry_scripts_refuse_is_said_where_it_is_chosen(facts):
    """A decision names what its launch will ask a command for: the same list as `launch` refuses by."""
    tuned = {**TUNE, "training": {**TUNE["training"], "method": "qlora"}}
    for given, expected in ((TUNE, False), (tuned, True)):
        workload = decided(facts, **given)
        said = [note for note in workload.assumptions if "command of your own" in note]
        assert bool(said) == expected
        assert bool(beyond(workload.task, workload.framework, workload.parallelism)) == expected
        if expected:
            assert "task.method is qlora" in said[0]
            assert "FSDP-QLoRA" in said[0]


def test_a_format_without_units_is_said(facts):
    served = {"kind": "inference", "traffic": {"rps": 4, "input_tokens": 1500, "output_tokens": 300}}
    model = {"name": "meta-llama/Llama-3.1-8B", "weights": "fp8"}
    for named, said in (("A100", True), ("H100", False)):
        notes = decided(facts, **served, model=model, resources={"accelerators": [named]}).assumptions
        assert [n for n in notes if n.endswith("stored in fp8 and computed in bf16")] != [] or not said
        assert any("has no fp8 units" in note for note in notes) == said


def test_the_processors_that_decode_a_run_s_images_are_said(facts):
    workload = decided(facts, **PHOTOS)
    [said] = [note for note in workload.assumptions if note.startswith("decoding ")]
    per_s, busy = (float(word.replace(",", "")) for word in re.findall(r"([\d,]+) (?=images|of the)", said))
    assert per_s == pytest.approx(workload.performance.figures["samples_per_s"], rel=0.01)
    assert busy == pytest.approx(per_s / 120 / workload.pools[0].nodes_initial, rel=0.05)
    assert not [note for note in decided(facts, **TUNE).assumptions if note.startswith("decoding ")]
