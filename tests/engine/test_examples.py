"""Each component on its own: the example programs by the Automation API, and the packages for other languages."""

from __future__ import annotations

import json
from pathlib import Path

import harness
import pytest
from pulumi import automation

BIN = Path(harness.sys.prefix) / "bin"
EXAMPLES = harness.ROOT / "examples" / "components"
NETWORK = "/subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/render/providers/Microsoft.Network"
SETTINGS = {
    "aws": {"vpc": "vpc-1", "subnet": "subnet-1"},
    "gcp": {"project": "petsnap", "image": f"us-docker.pkg.dev/petsnap/serve/vllm@sha256:{'a' * 64}"},
    "azure": {
        "group": "render",
        "subnet": f"{NETWORK}/virtualNetworks/v/subnets/s",
        "securityGroup": f"{NETWORK}/networkSecurityGroups/g",
    },
    "kubernetes": {"kubeconfig": "{}"},
}
PACKAGES = {"azure": "azure-native"}


def stack(folder: Path, cloud: str) -> tuple[automation.Stack, harness.Engine]:
    """The example of a cloud as a project that has nothing but this one program."""
    source = folder / "source"
    (source / "stacks").mkdir(parents=True)
    (source / "stacks" / "__main__.py").write_text((EXAMPLES / f"{cloud}.py").read_text(encoding="utf-8"))
    (source / "Pulumi.yaml").write_text(
        "name: render\nmain: stacks/\nruntime: {name: python, options: {toolchain: pip, virtualenv: .venv}}\n"
    )
    engine = harness.project(folder, source=source)
    made = automation.create_stack(
        stack_name="dev",
        work_dir=str(engine.project),
        opts=automation.LocalWorkspaceOptions(env_vars=engine.environment),
    )
    made.set_all_config({key: automation.ConfigValue(value) for key, value in SETTINGS[cloud].items()})
    return made, engine


def test_there_is_an_example_for_every_cloud():
    from sizewell.components.inventory import clouds

    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(clouds()) == set(SETTINGS)


@pytest.mark.parametrize("cloud", SETTINGS)
def test_a_component_works_in_a_program_of_its_own(cloud, tmp_path):
    made, engine = stack(tmp_path, cloud)
    done = made.up()
    assert done.summary.result == "succeeded"
    assert all(one.value for one in done.outputs.values())
    there = engine.cloud(PACKAGES.get(cloud, cloud))
    assert there
    assert set(made.preview().change_summary) == {"same"}
    made.destroy()
    assert engine.cloud(PACKAGES.get(cloud, cloud)) == {}


def test_an_inline_program_builds_a_component(tmp_path):
    """No project, no folder, no file: the program is a function of the caller's."""

    def program() -> None:
        import pulumi

        from sizewell.components.gcp.network import Network

        network = Network("lab", {"environment": "dev", "owner": "research", "region": "us-central1"})
        pulumi.export("network", network.network)

    environment = harness.environment(tmp_path)
    made = automation.create_stack(
        stack_name="dev",
        project_name="lab",
        program=program,
        opts=automation.LocalWorkspaceOptions(env_vars=environment),
    )
    assert made.preview().change_summary["create"] > 2


GUARD = {
    "signal": "accelerator_utilization",
    "min_utilization_percent": 2.5,
    "window_s": 2700,
    "grace_s": 3600,
    "action": "scale-to-zero",
}
IN_ANY_LANGUAGE = {  # package -> component, arguments as the package generated for Python spells them, an output
    "aws": (
        "GpuNodeGroup",
        {
            "region": "us-east-1",
            "zones": ["us-east-1a"],
            "vpc_id": "vpc-1",
            "vpc_cidr": "10.0.0.0/16",
            "subnet_ids": ["subnet-1"],
            "instance_type": "g6.xlarge",
            "nodes_min": 0,
            "nodes_initial": 1,
            "nodes_max": 4,
            "capacity_mode": "spot",
            "disk_gib": 100,
            "guard": GUARD,
        },
        "group_name",
    ),
    "kubernetes": (
        "Queueing",
        {
            "kubeconfig": "{}",
            "flavors": [
                {
                    "name": "h100",
                    "node_labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
                    "resource": "nvidia.com/gpu",
                    "accelerators_per_machine": 8,
                    "cpus_per_machine": 208,
                    "memory_gib_per_machine": 1872,
                    "machines": 8,
                }
            ],
        },
        "queues",
    ),
}


@pytest.mark.parametrize(
    "cloud", ["aws", *(pytest.param(p, marks=pytest.mark.soak) for p in IN_ANY_LANGUAGE if p != "aws")]
)
def test_a_program_in_any_language_has_the_components_as_a_package(cloud, tmp_path):
    """The engine makes an SDK from the inferred schema, and a program that knows nothing else builds with it."""
    component, arguments, output = IN_ANY_LANGUAGE[cloud]
    folder = tmp_path / "program"
    folder.mkdir()
    environment = harness.environment(tmp_path)
    environment["PATH"] = f"{BIN}:{environment['PATH']}"
    environment["PYTHONPATH"] = str(tmp_path / "sdk" / "python")
    engine = harness.Engine(project=folder, environment=environment, clouds=tmp_path / "clouds")
    host = str(BIN / f"pulumi-resource-sizewell-{cloud}")
    engine.run("package", "gen-sdk", host, "--language", "python", "--out", str(tmp_path / "sdk"))
    installed = tmp_path / "sdk" / "python" / f"pulumi_sizewell_{cloud}-0.1.0.dist-info"  # as an installation writes
    installed.mkdir()
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pulumi_sizewell_{cloud}\nVersion: 0.1.0\n")
    arguments = {"environment": "dev", "owner": "graphics", **arguments}
    (folder / "__main__.py").write_text(
        f"import pulumi\nimport pulumi_sizewell_{cloud} as sizewell\n\n"
        f"made = sizewell.{component}('render', **{arguments!r})\n"
        f"pulumi.export('made', made.{output})\n"
    )
    (folder / "Pulumi.yaml").write_text("name: render\nruntime: {name: python, options: {virtualenv: .venv}}\n")
    (folder / ".venv").symlink_to(Path(harness.sys.prefix), target_is_directory=True)
    engine.run("stack", "init", "dev")
    engine.up("dev")
    there = engine.cloud(cloud)
    assert len(there) > 3
    assert json.loads(engine.run("stack", "output", "-s", "dev", "--json").stdout)["made"]
    assert {step["op"] for step in engine.preview("dev")["steps"]} == {"same"}
    wrong = (folder / "__main__.py").read_text().replace("'owner': 'graphics', ", "'owner': '', ")
    (folder / "__main__.py").write_text(wrong)
    refused = engine.up("dev", check=False)
    assert refused.returncode != 0
    assert "owner: " in refused.stdout + refused.stderr
    engine.destroy("dev")
    assert engine.cloud(cloud) == {}
