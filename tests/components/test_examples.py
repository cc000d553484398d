"""The pages' own programs of one component each break no mandatory rule."""

from datetime import date

import pytest
from stacks_recording import ROOT

from sizewell.policy import engine
from sizewell.policy.config import Config
from sizewell.recording.evaluate import evaluate
from sizewell.resources.facts import facts
from sizewell.sizing import catalog

DIGEST = "0123456789abcdef" * 4
CONFIG = {
    "aws": {"vpc": "vpc-0a1b2c3d4e5f60718", "subnet": "subnet-0a1b2c3d4e5f60710"},
    "azure": {
        "group": "rg-render",
        "subnet": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/s",
        "securityGroup": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkSecurityGroups/n",
    },
    "gcp": {"project": "petsnap", "image": f"us-docker.pkg.dev/petsnap/serve/vllm@sha256:{DIGEST}"},
    "kubernetes": {"kubeconfig": "{}"},
}


@pytest.mark.parametrize("cloud", CONFIG)
def test_an_example_breaks_no_mandatory_rule(cloud, tmp_path):
    (tmp_path / "Pulumi.yaml").write_text("name: ours\nruntime: python\n")
    lines = [f"  ours:{key}: '{value}'\n" for key, value in CONFIG[cloud].items()]
    (tmp_path / "Pulumi.dev.yaml").write_text("".join(["config:\n", *lines]))
    program = ROOT / "examples" / "components" / f"{cloud}.py"
    (tmp_path / "__main__.py").write_text(program.read_text())
    stack = facts(evaluate(tmp_path, "dev"), catalog.load(), environment="dev")
    report = engine.evaluate(stack, Config(profile="accelerators"), on=date(2026, 11, 27))
    assert not [result for result in report.failed() if result.outcome == "violation"]
