"""What the commands hand to the policies."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from sizewell.cli.judging import for_preview, own_prices
from sizewell.policy.config import Config
from sizewell.resources.recorded import Plan, RecordedResource


def test_a_usage_file_is_known_to_the_policies_of_a_preview_too(tmp_path: Path) -> None:
    kind = "aws:eks/fargateProfile:FargateProfile"
    pods = RecordedResource(urn="urn:pods", type=kind, name="pods", inputs={"region": "us-east-1"})
    plan = Plan(project="p", stack="dev", resources=(pods,))
    file = tmp_path / "usage.yaml"
    usage = "usage: [{resource: pods, vcpu_hours: 100, memory_gigabyte_hours: 400}]\n"
    file.write_text(usage, encoding="utf-8")
    said = [
        {found.policy for found in for_preview(Config(), tmp_path, date(2026, 11, 21), prices)(plan, None, {}).findings}
        for prices in (own_prices(None, None), own_prices(file, None))
    ]
    assert said[0] - said[1] == {"hourly-budget", "unpriced-resource"}
