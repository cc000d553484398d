"""What holds for every Azure component, and its goldens."""

from pathlib import Path

import golden_files
import sdk_types
from aws_recording import children, component, listing, only, plain, record, refusals

__all__ = ["GUARD", "HOURS", "OWNED", "PLACE", "PROD", "children", "component", "golden", "made", "only", "refusals"]

GOLDENS = Path(__file__).parent / "goldens"
REFRESH = "SIZEWELL_REFRESH=1 .venv/bin/pytest -q -p no:xdist tests/components/azure"
OWNED = {"environment": "dev", "owner": "ml-platform", "cost_center": "ml-1234", "expires": "2026-09-22"}
PROD = {"environment": "prod", "owner": "ml-platform", "cost_center": "ml-1234"}
NETWORK = "/subscriptions/0000/resourceGroups/network/providers/Microsoft.Network"
VAULT = "/subscriptions/0000/resourceGroups/keys/providers/Microsoft.KeyVault/vaults/keys"
ZONES = {
    service: f"{NETWORK}/privateDnsZones/{service}"
    for service in ("blob", "file", "vault", "registry", "workspace", "notebooks", "openai")
}
PLACE = {
    "region": "eastus",
    "resource_group": "network",
    "subnet_id": f"{NETWORK}/virtualNetworks/net/subnets/nodes",
}
GUARD = {
    "signal": "accelerator_utilization",
    "min_utilization_percent": 5,
    "window_s": 2700,
    "grace_s": 3600,
    "action": "scale-to-zero",
}
HOURS = {"time_zone": "Europe/London", "windows": [{"days": "mon-fri", "start": "07:00", "end": "21:00"}]}
WRITER = {
    "account": "sizewellcheckpoints",
    "resource_group": "checkpoints-dev-azure",
    "role": "11111111-2222-3333-4444-555555555555",
}


def made(cls, name, args, stack="dev-azure"):
    """All resources that a component makes; each is one that the SDK knows, has a parent, and bills with tags."""
    resources = record(lambda: cls(name, args), stack=stack)
    check_right(resources)
    return resources


def check_right(resources):
    ids = []
    for one in children(resources):
        inputs = {key: value for key, value in plain(one.inputs).items() if value is not None}
        assert sdk_types.faults(one.type, inputs) == [], f"{one.type} {one.name}"
        assert one.parent is not None, one.name
        assert "sizewell-" in one.parent, f"{one.name} has no component"
        tags = one.inputs.get("tags") or {}
        if tags:
            assert tags["managed-by"] == "sizewell"
            ids.append(tags["sizewell-id"])
        cls = sdk_types.args_class(one.type)
        if one.type.startswith("azure-native:") and "tags" in sdk_types._properties(cls):
            assert tags, f"{one.type} {one.name} is not tagged"
    assert len(set(ids)) == len(ids)
    assert len({one.urn for one in resources}) == len(list(resources))


def golden(name, resources):
    golden_files.check(GOLDENS / f"{name}.txt", listing(resources), REFRESH)
