"""What machines on AWS run at first boot: user data, the document that starts it again, their metrics. Pure."""

import base64
import hashlib
import json
from typing import Any

from sizewell.components.aws.instances import MACHINE, METRIC, METRIC_NAMESPACE, timer

BOUGHT = "bought-already"  # stands for the offering of an existing block: the resource ignores its change


def user_data(
    *, runtime: str, region: str, group: str, start_script: str, dimension: str = "AutoScalingGroupName"
) -> str:
    """First boot, base64: the metrics agent (an idle guard is blind without it), then the caller's commands.

    `dimension` under which metrics stand: the agent knows its Auto Scaling group; any other name is stated as `group`.
    """
    metrics: dict[str, Any] = {
        "namespace": METRIC_NAMESPACE,
        "append_dimensions": {  # each machine is told apart: a group's maximum hides those that report nothing
            "AutoScalingGroupName": "${aws:AutoScalingGroupName}",
            MACHINE: "${aws:InstanceId}",
        },
        "aggregation_dimensions": [["AutoScalingGroupName"]],
        "metrics_collected": {
            "nvidia_gpu": {
                "measurement": ["utilization_gpu", "memory_used", "memory_total", "power_draw", "temperature_gpu"]
            },
            "disk": {"measurement": ["used_percent"], "resources": ["/"]},
        },
    }
    agent = {"agent": {"metrics_collection_interval": 60, "region": region}, "metrics": metrics}
    if dimension != "AutoScalingGroupName":
        del metrics["append_dimensions"]["AutoScalingGroupName"]
        metrics["aggregation_dimensions"] = [[dimension]]
        for collected in metrics["metrics_collected"].values():
            collected["append_dimensions"] = {dimension: group}
    if runtime != "cuda":
        del metrics["metrics_collected"]["nvidia_gpu"]
    path = "/opt/aws/amazon-cloudwatch-agent/etc/amazon-cloudwatch-agent.json"
    lines = [
        "#!/bin/bash",
        "set -euo pipefail",
        "command -v amazon-cloudwatch-agent-ctl >/dev/null || dnf install -y amazon-cloudwatch-agent",
        f"mkdir -p {path.rsplit('/', 1)[0]}",
        f"cat > {path} <<'AGENT'",
        json.dumps(agent, indent=1),
        "AGENT",
        f"/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl -a fetch-config -m ec2 -s -c file:{path}",
    ]
    if runtime == "neuron":
        lines += _neuron_metrics(region, f"{dimension}={group}")
    if start_script:
        lines += ["", start_script.rstrip()]
    return base64.b64encode(("\n".join(lines) + "\n").encode()).decode()


USER_DATA_SCRIPT = 12_000  # bytes of 16,384; the rest is the agent's and the mounts'


def boot_document(script: str) -> str:
    """A command that runs the script: first boot reads it there, and `aws ssm send-command` can run it again."""
    inputs = {"runCommand": script.splitlines(), "timeoutSeconds": "3600"}
    step = {"action": "aws:runShellScript", "name": "boot", "inputs": inputs}
    return json.dumps({"schemaVersion": "2.2", "description": "Start script of machines", "mainSteps": [step]})


def boot_from_document(document: str, script: str, *, region: str) -> str:
    """First-boot lines that run the document's script; the machines' role may read documents of the account
    (AmazonSSMManagedInstanceCore has ssm:GetDocument). With its digest in it, another script is another template.
    """
    digest = hashlib.sha256(script.encode()).hexdigest()[:16]
    take = "import json, sys; print(*json.load(sys.stdin)['mainSteps'][0]['inputs']['runCommand'], sep='\\n')"
    return "\n".join(
        [
            f"# {document}, {digest}",
            f"for pause in 5 10 20 40 80 160; do aws ssm get-document --region {region} --name {document} \\",
            "  --query Content --output text > /run/sizewell-boot.json && break; sleep $pause; done",
            f'python3 -c "{take}" < /run/sizewell-boot.json > /run/sizewell-boot',
            "bash -euo pipefail /run/sizewell-boot",
        ]
    )


def _neuron_metrics(region: str, dimension: str) -> list[str]:
    """The CloudWatch agent has no Neuron plug-in outside of Kubernetes: once a minute the highest core utilization.

    Neuron's tools are not on the path of root
    (awsdocs-neuron.readthedocs-hosted.com/en/latest/tools/neuron-sys-tools/neuron-monitor-user-guide.html).
    """
    query = (
        "max([c['neuroncore_utilization'] for r in json.load(sys.stdin)['neuron_runtime_data'] "
        "for c in r['report']['neuroncore_counters']['neuroncores_in_use'].values()] or [0])"
    )
    return [
        "cat > /usr/local/bin/sizewell-neuron-metrics <<'METRICS'",
        "#!/bin/bash",
        "set -euo pipefail",
        "PATH=$PATH:/opt/aws/neuron/bin",
        # the monitor writes a line each second for ever, and dies of the pipe that head closes: no failure
        f'value=$({{ neuron-monitor || true; }} | head -1 | python3 -c "import json,sys; print({query})")',
        f"for machine in '' \",{MACHINE}=$(cat /var/lib/cloud/data/instance-id)\"; do  # the alarm's, and its own",
        f"  aws cloudwatch put-metric-data --region {region} --namespace {METRIC_NAMESPACE} \\",
        f"    --metric-name {METRIC['neuron']} --unit Percent --value $value --dimensions {dimension}$machine",
        "done",
        "METRICS",
        "chmod +x /usr/local/bin/sizewell-neuron-metrics",
        *timer("sizewell-neuron-metrics", "/usr/local/bin/sizewell-neuron-metrics", every="1min"),
    ]
