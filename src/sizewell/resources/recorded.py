"""A planned resource as it was recorded: from the evaluator, a `pulumi preview --json`, or a stack export.

Every reader (facts, prices, diff, policies) works on this record and does not depend on where it came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final


class Inapplicable:
    """A question that makes no sense for a resource: the answer is neither yes nor no. One instance: `INAPPLICABLE`."""

    _instance: Inapplicable | None = None

    def __new__(cls) -> Inapplicable:  # noqa: PYI034  (there is one instance)
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "INAPPLICABLE"

    def __bool__(self) -> bool:
        raise TypeError("what does not apply is neither true nor false; test `value is INAPPLICABLE` first")


class Unknown:
    """The value of an input that is known only after the cloud has answered. One instance: `UNKNOWN`."""

    _instance: Unknown | None = None

    def __new__(cls) -> Unknown:  # noqa: PYI034  (there is one instance)
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false; test `value is UNKNOWN` first")

    def __copy__(self) -> Unknown:
        return self

    def __deepcopy__(self, memo: object) -> Unknown:
        return self


UNKNOWN: Final = Unknown()
INAPPLICABLE: Final = Inapplicable()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedResource:
    """One resource of a plan. `inputs` and `outputs` are plain JSON values in the provider's own camelCase spelling,
    with `UNKNOWN` where a value is not known yet and secrets unwrapped into `secret_paths`.
    """

    urn: str
    type: str  # token: "aws:autoscaling/group:Group"
    name: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, object] = field(default_factory=dict)
    parent: str | None = None  # URN
    custom: bool = True  # False: a component
    protect: bool = False
    retain_on_delete: bool = False
    aliases: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()  # URNs
    property_dependencies: Mapping[str, Sequence[str]] = field(default_factory=dict)
    provider: str | None = None  # URN::id of the provider, None for the default provider
    ignore_changes: tuple[str, ...] = ()
    delete_before_replace: bool = False
    replace_on_changes: tuple[str, ...] = ()  # paths of inputs
    replacement_trigger: object = None  # another value replaces the resource
    replace_with: tuple[str, ...] = ()  # URNs: it is replaced whenever one of them is
    secret_paths: tuple[str, ...] = ()
    imported: bool = field(default=False, compare=False)  # it runs, and the engine begins to manage it
    places: tuple[tuple[str, int], ...] = field(default=(), compare=False)  # lines that made it, by file


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """What a plan does not show: resources that somebody else renders, or that follow from what nobody knows yet."""

    name: str  # of the resource that hides others, or the place in the program
    what: str  # "Helm chart wordpress"
    may_hide: str  # "pods, also with accelerators, load balancers and volumes"
    why: str  # "the chart is in a repository"
    fix: str = ""
    urn: str = ""  # of the resource that hides others; "" for a place in the program
    accelerators: bool = True  # it may hide some
    shown_too: bool = False  # what is shown may follow from it too, and be fewer or of another size
    digest: str = ""  # of the file that a place is in: where that changes, what the place makes may have changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All resources of one stack, in order of registration."""

    project: str
    stack: str
    resources: tuple[RecordedResource, ...]
    outputs: Mapping[str, object] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""  # "evaluated", "pulumi preview --json", "stack export", "base main@abc123"
    notes: tuple[str, ...] = ()  # what was assumed or left out on the way to this plan
    hidden: tuple[Hidden, ...] = ()  # what the source of the plan could not show; `resources.hidden` says all
    read: frozenset[str] = frozenset()  # URNs of what makes others, all of which are listed
    root: str = field(default="", compare=False)  # the folder of the program that was evaluated
    lookups: tuple[RecordedResource, ...] = ()  # calls that only a cloud can answer, each with its arguments

    def by_urn(self) -> dict[str, RecordedResource]:
        return {resource.urn: resource for resource in self.resources}
