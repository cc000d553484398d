"""Small models and devices that the tests of memory share."""

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.records import Accelerator, Architecture

LLAMA_8B = Architecture(
    key="llama-8b",
    layers=32,
    hidden=4096,
    heads=32,
    kv_heads=8,
    head_dim=128,
    ffn=14336,
    vocab=128256,
    max_sequence_length=131072,
)


@pytest.fixture(scope="session")
def h100() -> Accelerator:
    return load().accelerator("h100-sxm")


@pytest.fixture(scope="session")
def llama() -> Architecture:
    return LLAMA_8B
