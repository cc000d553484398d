"""What a program asks for, and where each value of it comes from; for whoever writes the program anew."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from google.protobuf import json_format, struct_pb2

from sizewell.recording.evaluate.monitor import Monitor
from sizewell.recording.evaluate.urns import STACK_TYPE
from sizewell.sdk.runtime import read_answer
from sizewell.sdk.tracing import Tracer, urn_of


@dataclass(frozen=True, slots=True)
class Registration:
    """One resource: the SDK's own request, after all transforms, and the classes that made it."""

    urn: str
    request: Any  # a request to register a resource, or to read one
    read: bool
    kind: type  # the class of the resource
    inputs: Any  # the SDK's class of its inputs, which knows their names, or None
    aliases: tuple[str, ...]  # all URNs that it had


@dataclass
class Traced(AbstractContextManager["Traced"]):
    """One traced run of a program, given to `run`; afterwards it has what was registered.

    `stated` are the outputs of an earlier deployment, by URN, with the id among them.
    """

    tracer: Tracer
    stated: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    requests: dict[str, tuple[Any, bool]] = field(default_factory=dict)
    outputs: Any = None  # of the stack, as the SDK sent them
    answered: dict[str, tuple[str, ...]] = field(default_factory=dict)
    registrations: list[Registration] = field(default_factory=list)
    _tracing: Any = None

    def __enter__(self) -> Self:
        self.requests.clear()
        self.tracer.registered.clear()
        self.tracer.expressions.clear()
        self.tracer.decisions.clear()
        self.tracer.organizations.clear()
        self.tracer.samples.clear()
        self.tracer.stated = dict(self.stated)
        self._tracing = self.tracer.tracing()
        self._tracing.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._tracing.__exit__(kind, error, at)
        if kind is not None:
            return
        made = {}
        for resource, inputs in self.tracer.registered:
            try:
                made[urn_of(resource)] = (type(resource), inputs)
            except (Exception, CancelledError):  # noqa: BLE001, S112 - one that was never registered, as the program failed
                continue
        self.registrations = [
            Registration(urn, request, read, *made[urn], self.answered.get(urn, ()))
            for urn, (request, read) in self.requests.items()
            if urn in made and request.type != STACK_TYPE
        ]

    def monitor(self, **named: Any) -> Monitor:
        return _Monitor(self, root=named.pop("root"), **named)


class _Monitor(Monitor):
    """Keeps the requests whole, and answers with the markers of the run where it answers at all."""

    def __init__(self, traced: Traced, *, root: Path, **named: Any) -> None:
        super().__init__(root=root, **named)
        self._traced = traced

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802
        answer = super().RegisterResource(request)
        stated = self._traced.stated.get(answer.urn)
        tracer = self._traced.tracer
        for key in [key for key, value in answer.object.fields.items() if tracer.marked(str(value))]:
            del answer.object.fields[key]  # the output of that name is known by where it comes from
        for key, value in (stated or {}).items():
            if key not in ("id", "urn") and value is not None:
                answer.object.fields[key].CopyFrom(
                    json_format.ParseDict({"value": value}, struct_pb2.Struct()).fields["value"]
                )
        if request.custom and request.type != STACK_TYPE:
            answer.id = tracer.id_of(answer.urn, str((stated or {}).get("id", "")))
        return answer

    def _record(self, urn: str, request: Any) -> Any:
        recorded = super()._record(urn, request)
        self._traced.requests[urn] = (request, False)
        self._traced.answered[urn] = recorded.aliases
        return recorded

    def ReadResource(self, request: Any) -> Any:  # noqa: N802
        urn = self._urn(request)
        self._traced.requests[urn] = (request, True)
        if request.type == "pulumi:pulumi:StackReference" or self._traced.tracer.marked(request.id):
            return read_answer(urn, request.id)
        return read_answer(urn, self._traced.tracer.id_of(urn, request.id))

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802
        if request.urn.split("::")[2] == STACK_TYPE:
            self._traced.outputs = request.outputs
        return super().RegisterResourceOutputs(request)
