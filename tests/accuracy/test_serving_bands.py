"""Bands of serving: made of errors that the fit has not seen, a narrower one only on enough evidence."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from statistics import median

import numpy as np
import pytest

from sizewell.accuracy.cases import CARRIED, Case, read
from sizewell.accuracy.fits import serving
from sizewell.accuracy.fits.bands import Unseen, floors, widths
from sizewell.accuracy.report import validate
from sizewell.accuracy.serving_predictions import described, predict_serving
from sizewell.sizing.predict.performance.serving import wider_groups
from sizewell.sizing.predict.performance.serving_constants import FILE, constants, trying


def group_bands(groups):
    """Bands of made-up errors: group -> (source, log error) of each."""
    return serving.bands(
        Unseen(groups=wider_groups(group), source=source, log_error=error)
        for group, members in groups.items()
        for source, error in members
    )


def test_a_group_is_narrower_than_its_parent_only_from_fifteen_cases_of_two_sources_on():
    found = group_bands(
        {
            "dense|engine": [("a", 0.5), ("b", 0.5), ("c", 0.5)] * 20,
            "dense|prefill compute": [("a", 0.1), ("b", 0.1)] * 7,
            "dense|interconnect": [("a", 0.1)] * 40,
            "experts|engine": [("a", 0.1), ("b", 0.1), ("c", 0.1)] * 5,
        }
    )
    assert "dense|prefill compute" not in found
    assert "dense|interconnect" not in found
    own, around = math.exp(0.1), found["language"][1]
    assert own < found["experts|engine"][1] < around  # few sources hardly tell that predictions are better here
    family = [Unseen(groups=("hopper", "any"), source=name, log_error=0.1) for name in "abc" for _ in range(5)]
    others = [Unseen(groups=("ampere", "any"), source=name, log_error=0.4) for name in "defghi" for _ in range(9)]
    few, many = (widths([*family, *others], least=0.05, narrower=counts)["hopper"].half for counts in (2, 20))
    assert 0.1 < few < 0.25 < many < 0.4


def test_a_group_is_wider_than_its_parent_from_five_cases_on():
    tight = [("a", 0.1), ("b", 0.1), ("c", 0.1)] * 20
    found = group_bands({"vision|compiled": tight, "vision|eager": [("c", 0.9)] * 5})
    assert (
        found["vision"][1] < found["vision|eager"][1] < math.exp(0.9)
    )  # one source tells that it is worse, not how much
    assert "vision|eager" not in group_bands({"vision|compiled": tight, "vision|eager": [("c", 0.9)] * 4})


def test_a_source_with_a_long_table_does_not_decide_alone():
    long_table = [("a", 0.05)] * 100
    three_others = [(name, 0.6) for name in ("b", "c", "d") for _ in range(2)]
    alone = group_bands({"dense|engine": long_table})["dense"][1]
    together = group_bands({"dense|engine": long_table + three_others})["dense"][1]
    assert alone == pytest.approx(math.exp(0.05), abs=1e-3)
    assert together > 1.2  # 6 of 106 cases are off by 0.6: by cases alone the band would stay at 1.05


def test_a_constant_that_no_case_is_left_for_is_its_prior_again_and_others_follow_what_is_left():
    data = json.loads(FILE.read_text(encoding="utf-8"))
    paths = [("families", "hopper", "compute"), ("families", "trainium", "compute")]
    point = np.log([serving.at(data, path) for path in paths])
    # Two cases slow down as the first constant grows and one as the second does; the first two ask for 20 % less.
    slopes = np.array([[-1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    errors = np.array([-0.2, -0.2, 0.0])
    table = serving.Linear(paths, point, errors, slopes, np.abs(slopes), np.ones(3))
    found = serving.refit(table, np.array([1.0, 1.0, 0.0]))
    assert found[0] == pytest.approx(point[0] - 0.2)
    assert math.exp(found[1]) == pytest.approx(serving.prior(paths[1]))


def test_prompts_are_known_better_than_reading_a_cache_and_dense_models_better_than_experts():
    bands = constants().bands
    assert bands["dense|prefill compute"][1] < bands["dense|memory bandwidth (cache)"][1]
    assert bands["dense"][1] < bands["experts"][1]


@pytest.mark.soak
def test_the_bands_are_those_of_the_file(tmp_path, monkeypatch):
    copied = tmp_path / "serving.json"
    copied.write_bytes(FILE.read_bytes())
    monkeypatch.setattr(serving, "FILE", copied)
    assert serving.main(["--bands"]) == 0
    assert copied.read_bytes() == FILE.read_bytes()


def test_one_case_alone_does_not_move_what_a_family_reaches_in_images_and_texts():
    path = ("families", "turing", "samples")
    point = np.log([serving.prior(path)])
    ask = np.array([[-1.0], [-1.0]]), np.array([-0.2, -0.2])  # each asks for 20 % less

    def fitted(cases):
        slopes, errors = (part[:cases] for part in ask)
        table = serving.Linear([path], point, errors, slopes, np.abs(slopes), np.full(cases, 0.9))
        return float(serving.refit(table, np.ones(cases))[0] - point[0])

    assert fitted(1) == pytest.approx(0.0, abs=1e-9)
    assert fitted(2) == pytest.approx(-0.2, abs=1e-6)


@pytest.mark.parametrize(
    ("said", "precision", "engine"),
    [("PyTorch 21.11", "fp16", "eager"), ("PyTorch 21.11", "amp", "autocast"),
     ("PyTorch 2.4, torch.compile", "amp", "pytorch"), ("PyTorch eager 21.03", "fp32", "eager"),
     ("TensorRT-LLM 1.0 PyTorch backend", "fp16", "tensorrt-llm"), ("", "amp", "autocast"), ("", "fp16", "vllm")],
)  # fmt: skip
def test_pytorch_is_eager_unless_somebody_says_that_it_compiled(said, precision, engine):
    """Mixed precision is a mode of training frameworks alone: who states it without an engine has named one."""
    case = next(
        case for case in read([CARRIED / "inference.json"]) if case.id == "dle-bert-inf-a100-amp"
    ).without_engine()
    named = Case(raw={**case.raw, "workload": {**case.workload, "engine": said, "precision": precision}})
    assert described(named)["engine"] == engine


@pytest.mark.parametrize(("precision", "published_ms"), [("fp32", 10.7), ("amp", 12.96)])
def test_one_image_in_eager_pytorch_takes_what_its_host_takes(precision, published_ms):
    """ResNet-50 on T4, no case of the fit nor a figure of its priors: NVIDIA/DeepLearningExamples@729963d,
    PyTorch/Classification/ConvNets/resnet50v1.5/README.md.
    """
    case = next(case for case in read([CARRIED / "inference.json"]) if case.id == "dle-rn50-inf-v100-fp32-b1")
    on_t4 = {"device": "T4", "count": 1, "mem_gb": 16, "per_node": 1}
    asked = Case(raw={**case.raw, "hardware": on_t4, "workload": {**case.workload, "precision": precision}})
    assert 1000 / predict_serving(asked).value == pytest.approx(published_ms, rel=0.25)


def test_a_text_in_one_pass_is_known_as_prompts_are_and_not_as_images():
    """Few encoders are published: until five are known, their band is that of the same matrix products."""
    prompts = [(name, 0.1) for name in "abc" for _ in range(6)]
    found = group_bands({"dense|prefill compute": prompts, "vision|compiled": [("d", 0.6)] * 20})
    assert next(group for group in wider_groups("encoder|compiled") if group in found) == "dense|prefill compute"
    assert found["dense|prefill compute"][1] < found["images"][1]


@pytest.mark.parametrize("engines", [True, False])
def test_no_band_is_narrower_than_what_its_family_of_accelerators_is_off_by(engines):
    """Of time and speed, which are printed by family and kind of case; memory has no family."""
    found: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for row in validate(engines=engines).rows:
        if row.area in ("training time", "serving") and row.predicted and row.error_pct is not None:
            half_pct = 50 * (row.high - row.low) / row.predicted
            for key in ((row.area, row.hw_family), (row.area, row.hw_family, row.kind)):
                found.setdefault(key, []).append((half_pct, abs(row.error_pct)))
    known = {key: [median(column) for column in zip(*own, strict=True)] for key, own in found.items() if len(own) >= 3}
    assert len(known) > 20
    assert {key: both for key, both in known.items() if both[0] < both[1]} == {}


def test_a_family_that_is_far_off_widens_its_bands():
    near = [Unseen(groups=("any",), source="a", log_error=0.05, families=("hopper|dense", "hopper"))] * 3
    far = [Unseen(groups=("any",), source="a", log_error=-0.6, families=("turing|dense", "turing"))] * 3
    found = floors(near + far[:2], far)
    assert found["turing"] > 1.4
    assert found["hopper|dense"] < 1.1
    with trying(replace(constants(), bands={"*": (0.8, 1.25)}, floors=found)):
        band = constants().band
        assert band(("any",), ("turing|experts", "turing"))[1] == found["turing"]
        assert band(("any",), ("hopper|dense", "hopper")) == (0.8, 1.25)
