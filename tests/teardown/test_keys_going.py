"""A key whose deletion is scheduled keeps its tags for a week and bills nothing: it is not what a destroy left."""

from __future__ import annotations

from typing import Any

import pytest

from sizewell.clouds.calls import CloudError
from sizewell.teardown.aws.reads import in_aws

KEY = "arn:aws:kms:us-east-1:123456789012:key/1a2b"


class Account:
    """What AWS says of one key with the stack's tag."""

    def __init__(self, state: str) -> None:
        self.state = state

    def pages(self, service: str, *_: Any, **__: Any) -> list[dict[str, Any]]:
        return [{"ResourceARN": KEY, "Tags": []}] if service == "resourcegroupstaggingapi" else []

    def call(self, *_: Any, **__: Any) -> dict[str, Any]:
        if self.state in ("denied", "missing", "unanswered"):
            raise CloudError("kms", self.state, "told to")  # type: ignore[arg-type]
        return {"KeyMetadata": {"KeyState": self.state}}


@pytest.mark.parametrize(
    ("state", "left"),
    [
        ("Enabled", 1),
        ("Disabled", 1),
        ("PendingImport", 1),
        ("PendingDeletion", 0),
        ("PendingReplicaDeletion", 0),
        ("denied", 1),
        ("missing", 1),
    ],
)
def test_only_a_key_that_goes_is_left_out(state: str, left: int) -> None:
    assert len(in_aws(Account(state), ["us-east-1"], "dev")) == left  # type: ignore[arg-type]


def test_silence_is_no_answer() -> None:
    with pytest.raises(CloudError):
        in_aws(Account("unanswered"), ["us-east-1"], "dev")  # type: ignore[arg-type]
