"""The tools: what each takes, the command line that answers it, what a first answer leaves out, and what comes next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from sizewell.agents import projects
from sizewell.agents.projects import Line
from sizewell.sizing.errors import UsageError

DAY: Final = r"^(\d{4}-\d\d-\d\d)?$"
FIRST: Final = 200  # characters of the first paragraph of a page that has what is searched
NAME: Final = r"[A-Za-z0-9][\w.-]{0,99}"


def word(what: str, pattern: str = r"^([^-\n][^\n]*)?$") -> Any:
    """An argument that may be left out; no value begins with -, so that none is read as an option."""
    return Field("", pattern=pattern, max_length=300, description=what)


class Arguments(BaseModel):
    """What every tool takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    part: str = word("part of the whole answer, by its path as `cut` names it: workloads[0].rejections, rows[20:40]")


class OfSpec(Arguments):
    spec: str = Field(pattern=r"^([^-]|---)", description="path of a spec inside the project, or its text as YAML")


class Dated(OfSpec):
    on: str = word("prices of this date, such as 2026-11-20; today without", DAY)


class Explained(Dated):
    why: str = word("why this machine type, or each one with this accelerator, was chosen or not: h100")


class Simulated(Dated):
    replicas: int = Field(0, ge=0, le=1024, description="instead of as many as are decided; 0: as decided")
    burstiness: float = Field(-1, ge=0, le=100, description="1 random, 4 bursts; the spec's without")


class Compared(Dated):
    months: int = Field(36, ge=1, le=120, description="over how long")
    utilization: str = word("share of all hours that is used, such as 40%")


class Offered(Arguments):
    accelerator: str = word("such as H100, or H100:8 for machines with eight; all without")
    cloud: str = word("aws, gcp or azure")
    region: str = word("only in this region")


class Stocked(Arguments):
    spec: str = Field("", pattern=r"^([^-]|---|$)", description="path of a spec inside the project, or its text")
    stack: str = word("or name of a stack with a decision", f"^({NAME})?$")
    account: str = word("whose stock, where the stack names none: gcp=PROJECT or azure=SUBSCRIPTION")


class Begun(Arguments):
    workload: Literal["chat", "rag", "embed", "transcribe", "image", "finetune", "pretrain", "batch", "notebook"]
    model: str = word("a model by its name on Hugging Face; the usual one without")
    load: str = word("how much there is to do: requests a second, examples, tokens or records")
    infra: str = word("where, such as aws/us-east-1 or gcp; the cheapest place without")


class OfStack(Arguments):
    stack: str = word("name of a stack; all without", f"^({NAME})?$")


class Tried(Arguments):
    stack: str = Field(pattern=f"^{NAME}$", description="name of a stack, such as dev")
    changes: dict[str, str] = Field(
        {},
        description="try a change, on a copy: path of a spec (stacks/specs/STACK/NAME.yaml) or of a configuration "
        "(stacks/config/Pulumi.STACK.yaml) to its new text, empty to take the file away; stacks whose specs change are "
        "decided again",
    )
    base: str = word("compare with this git revision, such as main; not with changes")
    on: str = word("prices of this date; today without", DAY)


class Ahead(OfStack):
    months: int = Field(12, ge=1, le=120, description="how many")
    on: str = word("from this date on; today without", DAY)


class Ruled(Arguments):
    rule: str = word("part of the name of a rule or of its area, such as idle or security")


class Paged(Arguments):
    topic: str = word("a page, such as tear-down or spec; the list of pages without")
    search: str = word("only the paragraphs and rows that have these words; without a topic, the pages that have them")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. `line` makes the command line of its arguments; `shape` what is shown of the answer."""

    name: str
    command: str  # that it runs, as a person types it
    what: str
    takes: type[Arguments]
    line: Callable[[Path, Any], Line] | None
    shape: Callable[[Path, Any, Any], Any] = lambda _root, _args, document: document
    left_out: frozenset[str] = frozenset()
    after: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # exit code -> next steps
    unless: tuple[Callable[[Any], bool], str] | None = None  # of which answers another step is the next


def _options(args: Arguments, *names: str) -> list[str]:
    """`--name=value` for what is stated: in one word, so that no value is read as an option."""
    return [f"--{name}={value}" for name in names if (value := getattr(args, name)) not in ("", 0, -1)]


def _of_spec(*words: str, options: tuple[str, ...] = ("on",)) -> Callable[[Path, Any], Line]:
    return lambda root, args: projects.spec(root, args.spec, [*words, "--json", *_options(args, *options)])


def _of_stack(*words: str) -> Callable[[Path, Any], Line]:
    return lambda _root, args: Line(words=[*words, "--json", *(["--", args.stack] if args.stack else [])])


def _tried(command: str) -> Callable[[Path, Any], Line]:
    def line(_root: Path, args: Tried) -> Line:
        if args.changes and args.base:
            raise UsageError("base: a change that is tried is compared with nothing\n  fix: leave base or changes out")
        # A copy has no history, so that the base which a project's settings name is not there.
        against = ["--base="] if args.changes and command == "preview" else _options(args, "base")
        words = [command, "--json", *against, *_options(args, "on"), "--", args.stack]
        return Line(words=words, changes=args.changes)

    return line


def _simulate(root: Path, args: Simulated) -> Line:
    # A burstiness of 0 is a fixed pace, and no burstiness the spec's own.
    burstiness = [f"--burstiness={args.burstiness}"] if args.burstiness >= 0 else []
    return projects.spec(root, args.spec, ["simulate", "--json", *_options(args, "on", "replicas"), *burstiness])


def _offers(_root: Path, args: Offered) -> Line:
    asked = ["--", args.accelerator] if args.accelerator else []
    return Line(words=["offers", "--json", *_options(args, "cloud", "region"), *asked])


def _stock(root: Path, args: Stocked) -> Line:
    if bool(args.spec) is bool(args.stack):
        raise UsageError("spec: one of spec and stack is stated\n  fix: state a spec, or the name of a stack")
    words = ["stock", "--json", *_options(args, "account")]
    return projects.spec(root, args.spec, words) if args.spec else Line(words=[*words, "--", args.stack])


def _new(_root: Path, args: Begun) -> Line:
    if args.model.endswith(".json"):  # which would be looked for outside of the project
        raise UsageError(
            f"model: {args.model} is a file\n  fix: name a model, and put the file into the text: model: FILE"
        )
    words = ["new", args.workload, "--no-input", "--json", *_options(args, "model", "load", "infra")]
    return Line(words=words, writes=True)


def _page(_root: Path, args: Paged, document: Any) -> Any:
    """A page, what of it has the words that are searched, or which pages have them."""
    words = args.search.lower().split()
    if not words:
        return document
    if isinstance(document, list):
        texts = {row["topic"]: files("sizewell") / "docs" / f"{row['topic']}.md" for row in document}
        found = [(row, _having(texts[row["topic"]].read_text(encoding="utf-8"), words)) for row in document]
        rows = [{**row, "found": len(kept), "first": kept[0][:FIRST]} for row, kept in found if kept]
        if not rows:
            raise UsageError(f"search: no page has a paragraph with {args.search!r}\n  fix: search for fewer words")
        return sorted(rows, key=lambda row: -row["found"])
    kept = _having(str(document["text"]), words)
    if not kept:
        raise UsageError(
            f"search: {document['topic']} has no paragraph with {args.search!r}\n  fix: search for fewer words"
        )
    return {**document, "text": "\n\n".join(kept)}


def _having(text: str, words: list[str]) -> list[str]:
    r"""The paragraphs that have these words; of a table its head and the rows that have them, where some have all.

    >>> _having("Spot is cheap.\n\n| key | is |\n| - | - |\n| spot | bool |\n| name | text |", ["spot"])
    ['Spot is cheap.', '| key | is |\n| - | - |\n| spot | bool |']
    """
    kept = []
    for each in text.split("\n\n"):
        if all(word in each.lower() for word in words):
            head, rows = each.split("\n")[:2], each.split("\n")[2:]
            of_table = [row for row in rows if all(word in row.lower() for word in words)]
            kept.append("\n".join([*head, *of_table]) if each.startswith("|") and of_table else each)
    return kept


def _findings(_root: Path, _args: Tried, document: Any) -> Any:
    """Each finding once, with the resources that have it."""
    for report in document.values():
        rows: dict[tuple[str, ...], dict[str, Any]] = {}
        for result in report.get("results", ()):
            row = {key: value for key, value in result.items() if key not in ("resource", "urn") and value}
            rows.setdefault(tuple(map(str, row.values())), {**row, "resources": []})["resources"].append(
                result["resource"]
            )
        report["results"] = list(rows.values())
    return document


def _rules(_root: Path, args: Ruled, document: Any) -> Any:
    kept = [row for row in document if args.rule.lower() in f"{row['area']} {row['rule']}"]
    if not kept:
        raise UsageError(
            f"rule: no rule has {args.rule!r} in its name or area\n  fix: leave `rule` out: all are listed"
        )
    return kept if args.rule else [{"rule": row["rule"], "prevents": row["prevents"]} for row in kept]


_WRITE_IT: Final = (
    "write the tried texts into the same files of the project, run `sizewell size --stack STACK` there, and commit "
    "specs and decision together"
)
_PUT_IT: Final = (
    "preview with changes {stacks/specs/STACK/NAME.yaml: TEXT} says what a stack costs with this spec, policy with "
    "the same changes whether it may be built"
)
TOOLS: Final = (
    Tool(
        name="project", command="", takes=Arguments, line=None,
        what="What lies where: the stacks with their specs, decision and configuration. Begin here.",
        shape=lambda root, _args, _document: projects.overview(root),
        after={0: ("check_decisions: is each decision still what its specs give?", "preview: what a stack costs")},
        unless=(
            lambda answer: not answer["is_project"],
            "new_spec, size, explain and offers need no project; a person makes one: `sizewell init`",
        ),
    ),
    Tool(
        name="new_spec", command="new", takes=Begun, line=_new,
        what="The text of a first spec of a usual workload, with comments. Writes no file of the project.",
        after={0: ("size with spec set to this text, edited as needed", "docs with topic spec has every key")},
    ),
    Tool(
        name="validate_spec", command="size --show-spec", takes=OfSpec,
        line=_of_spec("size", "--show-spec", options=()),
        what="Check a spec: every fault with its fix, or every key with its value and where that comes from.",
        after={0: ("size: what it runs on",)},
    ),
    Tool(
        name="size", command="size", takes=Dated, line=_of_spec("size"),
        what="What a workload runs on: machines, how many, where, memory, speed and cost, and the alternatives.",
        left_out=frozenset(f"workloads.{key}" for key in ("rejections", "line_items", "assumptions", "guard", "task"))
        | {"rejections.shapes"},
        after={
            0: ("explain: why this, and what would change it", "simulate, economics: more about this spec", _PUT_IT),
            2: ("the budget of the spec is exceeded: raise `budget`, or lower the load or the service level",),
            3: ("something has no price: offers shows which machines have one",),
            5: ("change what `relax` and `nearest` name, then size again", "explain with why set to a machine type"),
        },
    ),
    Tool(
        name="explain", command="explain", takes=Explained, line=_of_spec("explain", options=("on", "why")),
        what="Why the choice is what it is: memory per device, what limits the speed, what would change it.",
        left_out=frozenset({"compared", "by_the_token", "alternatives.managed", "alternatives.weights"}),
        after={0: ("explain with why set to a machine type or accelerator, for one that was not chosen", _PUT_IT)},
    ),
    Tool(
        name="offers", command="offers", takes=Offered, line=_offers,
        what="Which accelerators can be had, on which machines, where and at which price by the hour.",
        after={0: ("name one in a spec: resources: {accelerators: {H100: 8}}; then size",)},
        unless=(lambda answer: not answer, "offers without the limit that `remarks` names"),
    ),
    Tool(
        name="stock", command="stock", takes=Stocked, line=_stock,
        what="Can the machines of a spec or stack be had now, by zone, and who says so? Asks the cloud, with a login.",
        after={
            0: ("of an unlikely or unavailable pool: a person runs `sizewell size --stack STACK --in-stock`",),
            5: ("change the resources or infra of the spec, then stock again", "do what `fix` says"),
            69: ("unknown is not available: a person logs in, as `fix` says; then stock again",),
        },
    ),
    Tool(
        name="simulate", command="simulate", takes=Simulated, line=_simulate,
        what="Requests one by one over the fleet of a service: waits by percentile, and the fewest replicas that hold.",
        after={0: (_PUT_IT,), 5: ("raise the replicas, loosen `slo` of the spec, or size anew with another machine",)},
    ),
    Tool(
        name="economics", command="economics", takes=Compared,
        line=_of_spec("economics", options=("on", "months", "utilization")),
        what="Rent, commit, buy or call an API: what each costs over months, and which is the cheapest when.",
        left_out=frozenset({"ways.usd_by_month", "own_hardware"}),
        after={0: ("economics with another utilization or months", "docs with topic rent-commit-buy")},
    ),
    Tool(
        name="check_decisions", command="size --check", takes=OfStack,
        line=lambda _root, args: Line(words=["size", "--check", "--json", *_options(args, "stack")]),
        what="Would the committed decision of a stack, or of each, come out differently from its specs as they stand?",
        after={
            0: ("preview: what the stack costs",),
            4: ("to accept: run `sizewell size --stack STACK`, review the change and commit it",),
        },
    ),
    Tool(
        name="preview", command="preview", takes=Tried, line=_tried("preview"),
        what="What a stack costs a month (floor, expected, ceiling), by its rows; purchases, what has no price.",
        left_out=frozenset(
            f"stacks.{key}" for key in ("rows.lines", "free", "choices", "evidence", "coverage", "ownership")
        ),
        after={
            0: ("policy: may it be built?",),
            1: ("policy: which findings, and the fix of each",),
            2: ("a budget or guardrail is exceeded: stacks/config/guardrails.yaml, or a smaller change",),
            3: ("something has no price: `unpriced` names it; `sizewell docs refresh-prices`",),
            4: ("check_decisions: what would change",),
        },
    ),
    Tool(
        name="forecast", command="forecast", takes=Ahead,
        line=lambda _root, args: Line(words=["forecast", "--json", *_options(args, "months", "on"),
                                             *(["--", args.stack] if args.stack else [])]),
        what="What stacks cost in the months ahead, with ends and own commitments, by owner and against budgets.",
        left_out=frozenset({"stacks.lines", "stacks.usd_by_month"}),
        after={
            0: ("preview: the rows of a month", "a person puts a bill beside it: `sizewell forecast --actual FILE`"),
            69: ("preview: why the program of that stack failed",),
        },
    ),
    Tool(
        name="policy", command="policy", takes=Tried, line=_tried("policy"), shape=_findings,
        what="Judge a stack by the policies: idle spend, lost checkpoints, open access, ownership; with fixes.",
        after={
            0: ("preview: what it costs",),
            1: ("do what `fix` says of each mandatory result: in a spec or the configuration, tried with `changes`",),
            2: ("the budget of a spec in `changes` is exceeded: raise `budget`, or lower the load",),
            4: ("check_decisions: what would change",),
        },
    ),
    Tool(
        name="policy_rules", command="policy --list", takes=Ruled, shape=_rules,
        line=lambda _root, _args: Line(words=["policy", "--list", "--json"]),
        what="The policies: what each rule prevents, how strict it is in dev, staging and prod, its parameters.",
        after={0: ("policy: judge a stack by them", "docs with topic set-the-policies")},
    ),
    Tool(
        name="teardown_plan", command="teardown plan", takes=OfStack, line=_of_stack("teardown", "plan"),
        what="What of the backend's stacks is idle, empty or expired, why, and what would be done. Needs the backend.",
        after={0: ("a person decides: `sizewell teardown run`, or `sizewell keep STACK --until DATE` to exempt one",)},
    ),
    Tool(
        name="teardown_status", command="teardown status", takes=OfStack, line=_of_stack("teardown", "status"),
        what="The fleet: state, use, next act, leases and cost of each stack. Needs the backend.",
        after={0: ("teardown_plan: what would be done, and why",)},
    ),
    Tool(
        name="docs", command="docs", takes=Paged, shape=_page,
        line=lambda _root, args: Line(words=["docs", "--json", *(["--", args.topic] if args.topic else [])]),
        what="A page of the documentation, or the paragraphs of one that have some words.",
        after={0: ("docs with search, for a part of a long page",)},
    ),
)  # fmt: skip
BY_NAME: Final = {tool.name: tool for tool in TOOLS}


def next_steps(tool: Tool, code: int, args: Arguments, document: Any) -> tuple[str, ...]:
    """What an agent does with an answer of this exit code."""
    if tool.unless and code == 0 and tool.unless[0](document):
        return (tool.unless[1],)
    steps = tool.after.get(code, ())
    if (
        isinstance(args, Tried) and args.changes and tool.takes is Tried
    ):  # not the sizing of a spec that cannot be decided
        return (*steps, _WRITE_IT.replace("STACK", args.stack))
    return steps


def described(tool: Tool) -> dict[str, Any]:
    """The JSON schema of what a tool takes, without what says nothing."""
    schema = tool.takes.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    for each in schema["properties"].values():
        each.pop("title", None)
        each.pop("pattern", None)  # how a value is checked, which a refusal says
        if each.get("default") in ("", {}, -1):
            each.pop("default")
    return dict(schema)
