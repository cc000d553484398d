"""Collectives by hand: ring volumes, hierarchy, meshes, tori, deduplicated dispatch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizewell.sizing.predict.performance import collectives as c


def fabric(**changes):
    base = {
        "inner_bytes_per_s": 300e9, "host_bytes_per_s": 20e9, "outer_bytes_per_s": 40e9, "inner_latency_s": 0.0,
        "outer_latency_s": 0.0, "fast": 8, "domain": 8, "axes": 1, "mesh": 0,
    }  # fmt: skip
    return c.Fabric(**{**base, **changes})


def test_a_ring_moves_all_but_its_own_part():
    assert float(c.all_gather(8e9, 8, 1, fabric())) == pytest.approx(7e9 / 300e9)
    assert float(c.all_reduce(8e9, 8, 1, fabric())) == pytest.approx(14e9 / 300e9)
    assert float(c.all_gather(8e9, 1, 1, fabric())) == 0.0


def test_between_machines_each_device_brings_its_own_share_through_its_own_port():
    # Eight devices share a machine: each fetches an eighth of the seven eighths that lie elsewhere.
    slow = fabric(outer_bytes_per_s=10e9)
    assert float(c.all_gather(64e9, 64, 1, slow)) == pytest.approx(64e9 / 8 * 7 / 8 / 10e9)
    # Alone in its machine, a device fetches everything itself.
    assert float(c.all_gather(64e9, 8, 8, fabric())) == pytest.approx(64e9 * 7 / 8 / 40e9)


def test_without_a_fast_link_the_host_carries():
    assert float(c.all_gather(8e9, 4, 1, fabric(fast=1, domain=4))) == pytest.approx(6e9 / 20e9)
    assert float(c.all_gather(8e9, 2, 1, fabric(fast=2, domain=8))) == pytest.approx(4e9 / 300e9)


def test_a_small_group_of_a_mesh_has_few_links():
    assert float(c.all_gather(8e9, 2, 1, fabric(mesh=1))) == pytest.approx(4e9 / (300e9 / 7))
    assert float(c.all_gather(8e9, 8, 1, fabric(mesh=1))) == pytest.approx(7e9 / 300e9)


def test_on_a_torus_a_ring_has_the_links_of_its_axis():
    whole = fabric(axes=3, domain=512, fast=512)
    assert float(c.all_gather(8e9, 8, 1, whole)) == pytest.approx(7e9 / 100e9)
    assert float(c.all_gather(512e9, 512, 1, whole)) == pytest.approx(511e9 / 300e9)


def test_a_token_travels_once_to_each_machine_that_it_needs():
    plain = float(c.all_to_all(8e9, 32, 1, fabric()))
    once = float(c.all_to_all(8e9, 32, 1, fabric(), 8.0))
    assert plain == pytest.approx(8e9 * 24 / 32 / 40e9)
    assert once == pytest.approx(8e9 / 8 * 3 * (1 - 0.75**8) / 40e9)


@given(
    size=st.floats(1e3, 1e11),
    group=st.sampled_from((1, 2, 4, 8, 16, 64, 512)),
    stride=st.sampled_from((1, 2, 8)),
    factor=st.floats(1.0, 10.0),
    kind=st.sampled_from((c.all_gather, c.all_reduce, c.all_to_all)),
)
def test_more_bytes_take_longer_and_faster_links_less(size, group, stride, factor, kind):
    seconds = float(kind(size, group, stride, fabric()))
    assert seconds >= 0
    assert float(kind(size * factor, group, stride, fabric())) >= seconds
    for link in ("inner_bytes_per_s", "outer_bytes_per_s", "host_bytes_per_s"):
        faster = fabric(**{link: getattr(fabric(), link) * factor})
        assert float(kind(size, group, stride, faster)) <= seconds * (1 + 1e-12)
