"""Terraform and its AWS provider, where somebody has them: what the provider's schemas and checks refuse in our plans.

`validate` knows neither account nor credentials. Each plan is a module of its own, so that one run judges them all.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from to_terraform import terraform

from sizewell.resources.recorded import Plan

NOT_KNOWN = 'variable "known_after_apply" {\n  type = any\n}\n'
# What Terraform calls otherwise than Pulumi, by type (pulumi-aws provider/resources.go).
RENAMED = {
    "aws_autoscaling_group": {"vpc_zone_identifiers": "vpc_zone_identifier"},
    "aws_ce_anomaly_subscription": {"monitor_arn_lists": "monitor_arn_list"},
    "aws_cloudwatch_metric_alarm": {"name": "alarm_name"},
    "aws_sns_topic_subscription": {"topic": "topic_arn"},
}
ALONE = re.compile(r"^(  subnet_ids += )([^\[].*)$")  # of a file system: one in Pulumi, a list of one in Terraform
# Refusals of a provider that is older than what it judges, each with what is newer.
NEWER = {
    "notebook-al2023-v1": "a platform of notebooks (docs.aws.amazon.com/sagemaker/latest/dg/nbi-al2023.html)",
    '"deletion_protection"': "protection of EKS clusters (docs.aws.amazon.com/eks/latest/userguide/deletion-protection.html)",
}
PROVIDER = 'terraform {\n  required_providers {\n    aws = { source = "hashicorp/aws" }\n  }\n}\n'


def present(plugins: Path) -> bool:
    """Whether Terraform can be run, with a provider of AWS from that folder alone."""
    return shutil.which("terraform") is not None and any(plugins.glob("*/hashicorp/aws/*"))


def judge(plans: Mapping[str, Plan], plugins: Path, folder: Path) -> tuple[int, list[str]]:
    """How many resources of AWS were judged, and what was refused of them."""
    judged = 0
    root = [PROVIDER, NOT_KNOWN]
    for number, plan in enumerate(plans.values()):
        own = tuple(one for one in plan.resources if one.type.startswith("aws:"))
        if not own:
            continue
        text = renamed(terraform(dataclasses.replace(plan, resources=own)))
        judged += len(re.findall(r"^resource ", text, re.MULTILINE))
        module = folder / f"plan{number}"
        module.mkdir()
        (module / "main.tf").write_text(f"{PROVIDER}{NOT_KNOWN}{text}", encoding="utf-8")
        call = f'source = "./plan{number}"\n  known_after_apply = var.known_after_apply'
        root.append(f'module "plan{number}" {{\n  {call}\n}}\n')
    (folder / "main.tf").write_text("\n".join(root), encoding="utf-8")
    quiet = {**os.environ, "CHECKPOINT_DISABLE": "1"}  # else it asks for its newest release
    init = ["terraform", "init", "-backend=false", "-input=false", f"-plugin-dir={plugins}"]
    subprocess.run(init, cwd=folder, check=True, capture_output=True, env=quiet)
    answer = subprocess.run(
        ["terraform", "validate", "-json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=quiet,
    )
    names = list(plans)
    rows = [row for row in json.loads(answer.stdout)["diagnostics"] if row["severity"] == "error"]
    faults = [_sentence(row, names) for row in rows]
    return judged, [fault for fault in faults if not any(word in fault for word in NEWER)]


def renamed(text: str) -> str:
    """The arguments under Terraform's names."""
    lines, names = [], {}
    for line in text.splitlines():
        if match := re.match(r'resource "(\w+)"', line):
            names = RENAMED.get(match[1], {})
        line = ALONE.sub(r"\1[\2]", line)  # noqa: PLW2901
        key = line.strip().partition(" ")[0]
        own = re.match(r"  \S", line) is not None and key in names  # of the resource, and of no block in it
        lines.append(line.replace(key, names[key], 1) if own else line)
    return "\n".join(lines) + "\n"


def _sentence(row: Mapping[str, Any], names: list[str]) -> str:
    where = row.get("range", {}).get("filename", "")
    number = re.match(r"plan(\d+)/", where)
    plan = names[int(number[1])] if number else where
    at = (row.get("snippet") or {}).get("context") or ""
    return f"{plan}: {at}: {row['summary']}: {row.get('detail', '')}".replace("\n", " ")
