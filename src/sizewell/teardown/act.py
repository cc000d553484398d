"""What changes a cloud: empties a pool, wakes it, builds and destroys a stack. The only code of Sizewell that does.

Nothing here decides. Sizes are moved by the call that the pool's own guard makes, and by none other; minimum and
maximum are Pulumi's, and move only where the guard moves them too. Destroyed is by the engine, from the state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sizewell.clouds.clients import Client
from sizewell.sizing.errors import ServiceError
from sizewell.sizing.providers.cloud import PerCloud
from sizewell.teardown.aws import writes as aws
from sizewell.teardown.azure import writes as azure
from sizewell.teardown.backend import Backend
from sizewell.teardown.gcp import writes as gcp
from sizewell.teardown.notices import Topic
from sizewell.teardown.units import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """How a cloud moves the size of a pool; each takes a client of that cloud."""

    empty: Callable[[Any, Unit], str]
    wake: Callable[[Any, Unit], str]
    publish: Callable[[Any, Topic, str, str], Topic] | None  # to a stack's topic; None where none sends a text of ours


WRITES: Final = PerCloud[Writes](
    aws=Writes(empty=aws.empty, wake=aws.wake, publish=aws.publish),
    gcp=Writes(empty=gcp.empty, wake=gcp.wake, publish=None),
    azure=Writes(empty=azure.empty, wake=azure.wake, publish=None),
)


def empty(client: Client, unit: Unit) -> str:
    """Take a pool's current size to its minimum; what was called, in words. CloudError where it was refused."""
    return WRITES[unit.cloud].empty(client, unit)


def wake(client: Client, unit: Unit) -> str:
    """Give a pool back the sizes that it was built with: the minimum and maximum of its state, and its first size;
    what a guard, an emptying or an expiry changed is undone. CloudError where it was refused.
    """
    return WRITES[unit.cloud].wake(client, unit)


def publish(client: Client, topic: Topic, subject: str, message: str) -> Topic:
    """Send a message to a stack's topic, in a form for each protocol, and give who has it: the confirmed subscriptions.

    CloudError where it was refused, or no subscription is confirmed.
    """
    publishes = WRITES[topic.cloud].publish
    assert publishes is not None  # noqa: S101  (a cloud whose topics are read sends to them)
    return publishes(client, topic, subject, message)


def up(backend: Backend, stack: str, *, timeout_s: float) -> str:
    """Build a stack, for `sizewell evidence` alone."""
    return backend.up(stack, timeout_s=timeout_s)


def destroy(
    backend: Backend,
    stack: str,
    *,
    kept: Path,
    environment: Mapping[str, str],
    keep: Callable[[bytes], object] = lambda _: None,
) -> str:
    """Destroy a stack from its state, protected resources left; before anything goes, the raw export is in `kept` and
    given to `keep`.

    ServiceError where its secrets cannot be read, or the engine fails: what it had not destroyed stands in its state.
    """
    # The export comes first and is checked: a destroy that fails half-way leaves a state without what it destroyed, and
    # the export is then all that says what was there. The configuration is read before the engine starts, since secrets
    # that cannot be decrypted would stop it in the middle.
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    backend.export(stack, kept)
    if not kept.exists() or kept.stat().st_size == 0:
        raise ServiceError(f"{stack}: the export of its state is empty; nothing was destroyed")
    kept.chmod(0o600)
    keep(kept.read_bytes())
    backend.configuration(stack)
    return backend.destroy(stack, environment=environment)


def cancel(backend: Backend, stack: str) -> str:
    """Take away the lock of an engine that no longer runs, which `enginelocks.over` is sure of."""
    return backend.cancel(stack)


def protect(backend: Backend, stack: str, urns: Sequence[str], *, environment: Mapping[str, str]) -> str:
    """Protect resources of a stack, so that its destroy leaves them."""
    return backend.protect(stack, urns, environment=environment)


def forget_pending(backend: Backend, stack: str) -> str:
    """Drop from the state what a killed update had begun to create and no cloud has."""
    return backend.forget_pending(stack)


def import_resources(backend: Backend, stack: str, path: Path) -> str:
    """Import into the state what a file of the engine's names."""
    return backend.import_resources(stack, path)


def destroy_some(backend: Backend, stack: str, urns: Sequence[str], *, environment: Mapping[str, str]) -> str:
    """Destroy some resources of a stack, from its state. ServiceError where its secrets cannot be read."""
    backend.configuration(stack)
    return backend.destroy_some(stack, urns, environment=environment)
