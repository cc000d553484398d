"""What the commands hand to the policies."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from sizewell.cli.judging import for_preview, own_prices
from sizewell.policy.config import Config
from sizewell.resources.recorded import Plan, RecordedResource


def test_a_usage_file_is_known_to_the_policies_of_a_preview_too(tmp_path: Path) -> None:
    bucket = RecordedResource(urn="urn:data", type="aws:s3/bucket:Bucket", name="data", inputs={"region": "us-east-1"})
    plan = Plan(project="p", stack="dev", resources=(bucket,))
    file = tmp_path / "usage.yaml"
    file.write_text("usage: [{resource: data, stored_gigabytes: 1000}]\n", encoding="utf-8")
    said = [
        {found.policy for found in for_preview(Config(), tmp_path, date(2026, 11, 21), prices)(plan, None, {}).findings}
        for prices in (own_prices(None, None), own_prices(file, None))
    ]
    assert said[0] - said[1] == {"hourly-budget", "unpriced-resource"}
