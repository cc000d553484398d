"""What holds for every Google Cloud component, and its goldens."""

from pathlib import Path

import golden_files
import sdk_types
from aws_recording import children, component, listing, only, plain, record, refusals

__all__ = ["GUARD", "HOURS", "OWNED", "PLACE", "PROD", "component", "golden", "made", "only", "refusals"]

GOLDENS = Path(__file__).parent / "goldens"
REFRESH = "SIZEWELL_REFRESH=1 .venv/bin/pytest -q -p no:xdist tests/components/gcp"
OWNED = {"environment": "dev", "owner": "ml-platform", "cost_center": "ml-1234", "expires": "2026-09-22"}
PROD = {"environment": "prod", "owner": "ml-platform", "cost_center": "ml-1234"}
PLACE = {"region": "us-central1", "project": "petsnap"}
GUARD = {
    "signal": "accelerator_utilization",
    "min_utilization_percent": 5,
    "window_s": 2700,
    "grace_s": 3600,
    "action": "scale-to-zero",
}
HOURS = {"time_zone": "Europe/London", "windows": [{"days": "mon-fri", "start": "07:00", "end": "21:00"}]}
LABEL_KEYS = ("labels", "resourceLabels", "userLabels")


def made(cls, name, args, stack="dev-gcp"):
    """All resources that a component makes; each is one that the SDK knows, has a parent, and bills with labels."""
    resources = record(lambda: cls(name, args), stack=stack)
    ids = []
    for one in children(resources):
        inputs = {key: value for key, value in plain(one.inputs).items() if value is not None}
        assert sdk_types.faults(one.type, inputs) == [], f"{one.type} {one.name}"
        assert one.parent is not None, one.name
        assert "sizewell-" in one.parent, f"{one.name} has no component"
        for key in LABEL_KEYS:
            labels = one.inputs.get(key) or {}
            if "managed-by" in labels:
                assert labels["managed-by"] == "sizewell"
                ids.append(labels["sizewell-id"])
    assert len(set(ids)) == len(ids)
    return resources


def golden(name, resources):
    golden_files.check(GOLDENS / f"{name}.txt", listing(resources), REFRESH)
