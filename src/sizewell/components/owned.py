"""What all components share: whose they are, and what they register about themselves."""

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Concatenate, Final, NotRequired, ParamSpec, Self, TypedDict, TypeVar, cast
from weakref import WeakKeyDictionary

import pulumi

from sizewell.components.bounds import OneOf, hide_bounds, typed_dicts
from sizewell.components.names import NAMES
from sizewell.components.tags import physical_name, tags
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.registration import REGISTRATION_KEY, Registration
from sizewell.sizing.records.stackname import ENVIRONMENTS
from sizewell.sizing.versions import schema_of


class OwnedArgs(TypedDict):
    """Arguments that every component takes."""

    environment: Annotated[str, OneOf(ENVIRONMENTS)]
    """dev, staging or prod: prod turns on the cloud's deletion protection."""
    owner: str
    """The team that owns it."""
    cost_center: NotRequired[str]
    """The cost center that is charged."""
    expires: NotRequired[str]
    """ISO date after which it may be taken down."""
    facts: NotRequired[dict[str, Any]]
    """Facts that resources cannot state (expected hours, the decision's digest); registered unchanged."""


class GuardArgs(TypedDict):
    """When the pool counts as idle, and what then."""

    signal: str
    """accelerator_utilization or requests."""
    min_utilization_percent: float
    """Utilization below which every accelerator has to be."""
    window_s: int
    """How long every accelerator has to be below it."""
    grace_s: int
    """Time between the notice and the stop."""
    action: str
    """scale-to-zero or notify."""


class WindowArgs(TypedDict):
    """Hours in which machines may run."""

    days: str
    """mon-fri, or sat,sun."""
    start: str
    """07:00"""
    end: str
    """21:00"""


class ScheduleArgs(TypedDict):
    """Working hours; outside of them the pool is at zero."""

    time_zone: str
    """IANA name, as Europe/London."""
    windows: list[WindowArgs]
    """Hours in which machines run."""


A = TypeVar("A")
P = ParamSpec("P")
R = TypeVar("R", bound=pulumi.Resource)
UNREGISTERED: Final = ("facts", "kubeconfig")  # the first stands in the registration, the second is a secret


def assemble(shape: type[A], *parts: Mapping[str, object]) -> A:  # noqa: ARG001  (for the type alone)
    """The arguments of one component out of what several hands know of it; of two values for a key the later counts.

    No type checker can follow keys through mappings, so the component's own check is what refuses unknown and missing
    ones, by name and with the way out.
    """
    return cast("A", {key: value for part in parts for key, value in part.items()})


class Owned(pulumi.ComponentResource):
    """A component that names and tags its children, and registers its arguments as a plan spells them: in camelCase.

    Its token and the cloud that it builds on follow from the folder that its module lies in.
    """

    def __init_subclass__(cls, **options: object) -> None:
        """Hides the bounds of a component's arguments from Pulumi's analyzer, which knows no `Annotated`.

        Here and not where a package is served, since a project may serve our components in a package of its own.
        """
        super().__init_subclass__(**options)
        args = inspect.get_annotations(cls.__init__).get("args")
        for shape in typed_dicts(args):
            hide_bounds(shape)

    def __init__(
        self,
        name: str,
        args: OwnedArgs,
        opts: pulumi.ResourceOptions | None,
        *,
        kind: str,
        **statement: object,
    ) -> None:
        """`kind` and `statement` are keys of `Registration`; the arguments say the others."""
        self._args = args
        cloud = self.token().removeprefix("sizewell-").partition(":")[0]
        own = {"kind": kind, "name": name, "cloud": cloud if cloud in CLOUDS else "", "region": args.get("region", "")}
        inputs = {camel(key): _camel_keys(value) for key, value in args.items() if key not in UNREGISTERED}
        super().__init__(
            self.token(),
            name,
            {**inputs, REGISTRATION_KEY: registration(args, {**own, **statement})},
            opts,
        )

    @classmethod
    def of(cls, name: str, *parts: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> Self:
        """The component, its arguments out of what several know of them; of two values for a key the later counts.

        No type checker follows keys through mappings: the component's own check refuses what is unknown or missing.
        """
        return cast("Callable[..., Self]", cls)(name, assemble(dict, *parts), opts)

    def register(self) -> None:
        """Ends a constructor: registers what the class annotates and does not begin with an underscore, in camelCase.

        Pulumi's package for other languages reads its outputs from the same annotations, so the two cannot differ. Of
        a class that a project derives nothing is registered here: its attributes are not set before it returns.
        """
        names = [name for name in inspect.get_annotations(self._ours()) if not name.startswith("_")]
        self.register_outputs({camel(name): getattr(self, name) for name in names})

    @classmethod
    def _ours(cls) -> type:
        return next(base for base in cls.__mro__ if base.__module__.startswith(f"{__package__}."))

    @classmethod
    def token(cls) -> str:
        """The component's type in a program and in a plan; a class that a project derives from it has the same."""
        ours = cls._ours()
        return f"sizewell-{ours.__module__.removeprefix(f'{__package__}.').partition('.')[0]}:index:{ours.__name__}"

    def make(self, kind: Callable[Concatenate[str, P], R], name: str, /, *args: P.args, **inputs: P.kwargs) -> R:
        """A resource of this component, called `name` in the program; `inputs` are those of its kind.

        It has this component as its parent, the physical name that follows from `name` if its kind is in `NAMES`, and
        the tags (labels) of the stack if its kind takes any. What `inputs` say themselves holds instead.
        """
        given: dict[str, Any] = dict(inputs)
        options = copy.copy(given.pop("opts", None)) or pulumi.ResourceOptions()
        options.parent = self
        if _inside(kind) and options.deleted_with is None:
            options.deleted_with = cluster_of(self._args.get("kubeconfig"))
        if (limit := NAMES.get(token_of(kind))) and limit.argument not in given:
            given[limit.argument] = self.name_of(kind, name)
        if (argument := _tag_argument(kind)) and argument not in given:
            given[argument] = self.tags_of(kind, name)
        return cast("Callable[..., R]", kind)(name, *args, opts=options, **given)

    def name_of(self, kind: Callable[..., pulumi.Resource], name: str) -> str:
        """How the cloud calls a resource of this stack; KeyError where `NAMES` has not its kind."""
        return self.physical(name, NAMES[token_of(kind)].characters)

    def tags_of(self, kind: Callable[..., pulumi.Resource], name: str) -> dict[str, str]:
        """The tags or labels of a resource that is called `name` in the program."""
        return tags(
            project=pulumi.get_project(),
            stack=pulumi.get_stack(),
            type_token=token_of(kind),
            name=name,
            environment=self._args["environment"],
            owner=self._args["owner"],
            cost_center=self._args.get("cost_center", ""),
            expires=self._args.get("expires", ""),
        )

    def physical(self, name: str, limit: int) -> str:
        """A name that says the stack, of at most `limit` characters."""
        return physical_name("sizewell", pulumi.get_stack(), name, limit=limit)


# The cluster that a kubeconfig is of, where the same program builds it. What is inside a cluster goes with it: a
# Helm release of a cluster that cannot be reached cannot be deleted (pulumi-kubernetes#2675), and held its destroy up.
_CLUSTERS: Final[WeakKeyDictionary[pulumi.Output[str], pulumi.Resource]] = WeakKeyDictionary()


def reaching(cluster: pulumi.Resource, kubeconfig: pulumi.Output[str]) -> pulumi.Output[str]:
    """The same kubeconfig, from now on known as that of `cluster`."""
    _CLUSTERS[kubeconfig] = cluster
    return kubeconfig


def cluster_of(kubeconfig: object) -> pulumi.Resource | None:
    """The cluster that a kubeconfig reaches; None where it is not built by this program."""
    return _CLUSTERS.get(kubeconfig) if isinstance(kubeconfig, pulumi.Output) else None


def _inside(kind: Callable[..., pulumi.Resource]) -> bool:
    """Whether something of this kind stands inside a cluster."""
    ours = str(getattr(kind, "__module__", "")).startswith("pulumi_kubernetes.")
    return ours and not (isinstance(kind, type) and issubclass(kind, pulumi.ProviderResource))


def kept(**options: Any) -> pulumi.ResourceOptions:
    """Options of what holds data, and of everything without which that would be public or short-lived: protected, and
    left in the cloud by whatever takes it out of the program.
    """
    return pulumi.ResourceOptions(protect=True, retain_on_delete=True, **options)


def token_of(kind: Callable[..., pulumi.Resource]) -> str:
    """The type token of a resource's class; "" where it has none."""
    return str(getattr(kind, "pulumi_type", ""))


def _tag_argument(kind: Callable[..., pulumi.Resource]) -> str:
    """What a kind calls its tags; "" where it has none."""
    package = token_of(kind).partition(":")[0]
    arguments = next((c.provider.tag_arguments for c in CLOUDS.values() if c.provider.package == package), ("tags",))
    return next((argument for argument in arguments if hasattr(kind, argument)), "")


def registration(args: OwnedArgs, statement: Mapping[str, object]) -> Registration:
    """The component's record: what it says itself, then what its caller knows beyond that; empty values left out."""
    record: dict[str, object] = {
        "schema": schema_of("registration"),
        **statement,
        "environment": args["environment"],
        "owner": args["owner"],
        "costCenter": args.get("cost_center", ""),
        "expires": args.get("expires", ""),
        "schedule": _hours(args.get("schedule")),
        "guard": args.get("guard"),  # as it is built: stopping prepaid capacity saves nothing, so there it notifies
        **args.get("facts", {}),
    }
    return cast("Registration", {key: value for key, value in record.items() if value not in ("", None)})


def _hours(schedule: object) -> str:
    """Working hours in words, as a decision has them; "" where there are none.

    >>> _hours({"time_zone": "Europe/London", "windows": [{"days": "mon-fri", "start": "08:00", "end": "18:00"}]})
    'mon-fri 08:00-18:00 Europe/London'
    """
    if not isinstance(schedule, Mapping):
        return ""
    windows = [f"{each['days']} {each['start']}-{each['end']}" for each in schedule["windows"]]
    return f"{', '.join(windows)} {schedule['time_zone']}"


def camel(name: str) -> str:
    """The spelling of a Python name in a plan.

    >>> camel("nodes_min")
    'nodesMin'
    """
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def _camel_keys(value: object) -> object:
    if isinstance(value, dict):
        return {camel(key): _camel_keys(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_camel_keys(item) for item in value]
    return value
