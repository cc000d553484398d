"""The collector of garbage looks less often: the SDKs' modules are millions of objects, and they stay."""

from __future__ import annotations

import gc


def pytest_sessionstart() -> None:
    gc.disable()  # what is imported while tests are collected stays


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
