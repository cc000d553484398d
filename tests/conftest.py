"""What all tests pay for once.

The collector of garbage looks less often: the SDKs' modules are millions of objects, and they stay. The sessions of boto3
share what they read of their services, which is most of the time that a client takes to be made. No property has to hold
within a time: how long an example takes says what else the machine does.
"""

from __future__ import annotations

import functools
import gc

import botocore.session
import hypothesis

hypothesis.settings.register_profile("any-machine", deadline=None)
hypothesis.settings.load_profile("any-machine")
botocore.session.create_loader = functools.cache(botocore.session.create_loader)


def pytest_sessionstart() -> None:
    gc.disable()  # what is imported while tests are collected stays


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
