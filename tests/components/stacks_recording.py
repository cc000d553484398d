"""Record what the stacks' programs make from the decisions in decisions.py."""

import functools
import importlib

from aws_recording import ROOT, listing, plain
from decisions import by_stack

from sizewell.components.settings import Settings
from sizewell.recording.evaluate import evaluate

__all__ = ["GOLDENS", "STACKS", "listing", "plain", "recorded"]

GOLDENS = ROOT / "tests" / "components" / "goldens"
STACKS = ("dev-aws", "staging-aws", "prod-aws", "dev-gcp", "staging-gcp", "prod-gcp", "dev-azure", "prod-azure")


@functools.cache
def recorded(stack, **settings):
    """Every resource of a stack, its checkpoints' stack included by its own name."""
    decision = by_stack(stack.removeprefix("checkpoints-"))
    cloud = stack.rsplit("-", 1)[-1]

    def program():
        build = importlib.import_module(f"sizewell.components.{cloud}.program")
        how = Settings(project="sizewell", stack=stack, organization="petsnap", **settings)
        if stack.startswith("checkpoints-"):
            build.build_checkpoints(decision, [one for one in decision.workloads if one.checkpoint], how)
        else:
            build.build(decision, decision.workloads, how)

    return evaluate(ROOT, stack, program=program).resources
