"""The evaluator: what is recorded, what is unknown, what a failing program says, and that nothing leaks."""

import asyncio
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from sizewell.recording.evaluate import evaluate
from sizewell.recording.evaluate.isolation import forget
from sizewell.recording.evaluate.project import read_project
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.errors import ConfigError, DecisionError, ServiceError, UsageError

PRELUDE = """
from typing import Mapping, Sequence
import pulumi
from pulumi import ResourceOptions as Opts

class Thing(pulumi.CustomResource):
    arn: pulumi.Output[str]
    size: pulumi.Output[int]
    label: pulumi.Output[str]
    nested: pulumi.Output[Mapping[str, Sequence[int]]]
    def __init__(self, name, opts=None, **props):
        super().__init__("test:index:Thing", name, {"arn": None, **props}, opts)

class Group(pulumi.ComponentResource):
    def __init__(self, name, opts=None, **props):
        super().__init__("mine:index:Group", name, props, opts)
"""


@pytest.fixture
def project(tmp_path):
    def write(program, *, prelude=PRELUDE, settings="name: demo\nruntime: python\n", **files):
        (tmp_path / "Pulumi.yaml").write_text(settings)
        (tmp_path / "__main__.py").write_text(prelude + textwrap.dedent(program))
        for name, text in files.items():
            (tmp_path / name.replace("__dot__", ".")).write_text(textwrap.dedent(text))
        return tmp_path

    return write


def named(plan):
    return {resource.name: resource for resource in plan.resources}


def test_keeps_what_a_program_says_of_each_resource(project):
    plan = evaluate(
        project("""
        group = Group("g", kind="pool", opts=Opts(aliases=[pulumi.Alias(name="old")], retain_on_delete=True))
        provider = type("P", (pulumi.ProviderResource,), {})("test", "p", {"region": "eu-west-1"})
        a = Thing("g-a", label="x", free={"deep": [1, 2.5, True, None]},
                  opts=Opts(parent=group, protect=True, ignore_changes=["size"], delete_before_replace=True,
                            replace_on_changes=["free.deep[*]"], replacement_trigger="v1"))
        b = Thing("b", arn_of=a.arn, both=pulumi.Output.concat("x/", a.arn), label=a.label,
        secret=pulumi.Output.secret({"k": "s"}),
                  opts=Opts(provider=provider, depends_on=[group], replace_with=[a]))
        group.register_outputs({"label": a.label, "arn": a.arn})
        pulumi.export("label", b.label)
        pulumi.export("arn", b.arn)
        """),
        "dev",
    )
    resources = named(plan)
    assert [r.name for r in plan.resources] == ["demo-dev", "g", "p", "g-a", "b"]
    a, b, group = resources["g-a"], resources["b"], resources["g"]
    assert a.urn == "urn:pulumi:dev::demo::mine:index:Group$test:index:Thing::g-a"
    assert a.inputs == {"label": "x", "free": {"deep": [1, 2.5, True, None]}}
    assert isinstance(a.inputs["free"]["deep"][0], int)
    assert (a.parent, a.protect, a.retain_on_delete, a.delete_before_replace) == (group.urn, True, True, True)
    assert a.ignore_changes == ("size",)
    assert (a.replace_on_changes, a.replacement_trigger, a.replace_with) == (("free.deep[*]",), "v1", ())
    assert (b.replace_on_changes, b.replacement_trigger, b.replace_with) == ((), None, (a.urn,))
    assert a.aliases == ("urn:pulumi:dev::demo::mine:index:Group$test:index:Thing::old-a",)
    assert b.inputs == {"arn_of": UNKNOWN, "both": UNKNOWN, "label": "x", "secret": {"k": "s"}}
    assert b.secret_paths == ("secret",)
    assert set(b.dependencies) == {a.urn}  # depending on a component is depending on its children
    assert b.property_dependencies == {"arn_of": (a.urn,), "both": (a.urn,), "label": (a.urn,)}
    assert b.provider.startswith(resources["p"].urn + "::")
    assert not group.custom
    assert group.inputs == {"kind": "pool"}
    assert group.outputs == {"label": "x", "arn": UNKNOWN}
    assert plan.outputs == {"label": "x", "arn": UNKNOWN}
    assert (plan.project, plan.stack, plan.origin) == ("demo", "dev", "evaluated")


def test_transforms_apply_from_the_resource_outwards(project):
    plan = evaluate(
        project("""
        def adding(letter):
            async def transform(args):
                return pulumi.ResourceTransformResult({**args.props, "label": args.props.get("label", "") + letter},
                args.opts)
            return transform
        def protecting(args):
            if args.name == "a":
                return pulumi.ResourceTransformResult(args.props, Opts.merge(args.opts, Opts(protect=True)))
        pulumi.runtime.register_resource_transform(adding("s"))
        pulumi.runtime.register_resource_transform(protecting)
        group = Group("g", opts=Opts(transforms=[adding("g")]))
        Thing("a", opts=Opts(parent=group, transforms=[adding("t")]))
        Thing("b")
        def older(args):
            return pulumi.ResourceTransformationResult({**args.props, "size": 7}, args.opts)
        Thing("c", opts=Opts(transformations=[older]))
        """),
        "dev",
    )
    assert {name: r.inputs for name, r in named(plan).items()} == {
        "demo-dev": {},
        "g": {"label": "gs"},
        "a": {"label": "tgs"},
        "b": {"label": "s"},
        "c": {"label": "s", "size": 7},
    }
    assert [r.name for r in plan.resources] == ["demo-dev", "g", "b", "c", "a"]  # a child waits for its parent's URN
    assert named(plan)["a"].protect


def test_configuration_defaults_files_secrets_and_overrides(project):
    settings = (
        "name: demo\nruntime: {name: python}\nstackConfigDir: cfg\nconfig: "
        "{size: {type: integer, default: 3}, word: {value: a}}\n"
    )
    directory = project(
        """
        config = pulumi.Config()
        Thing("a", size=config.require_int("size"), word=config.get("word"), flag=config.require_bool("flag"),
              nested=config.require_object("nested"), password=config.require_secret("password"),
              url=config.require_secret("password").apply(lambda p: f"db://{p}@host"))
        """,
        settings=settings,
    )
    (directory / "cfg").mkdir()
    (directory / "cfg/Pulumi.dev.yaml").write_text(
        "config:\n  demo:flag: true\n  demo:nested: {a: [1], b: {secure: v1:xx}}\n  demo:password: {secure: v1:abc}\n"
    )
    a = named(evaluate(directory, "dev", config={"demo:word": "b"}))["a"]
    assert a.inputs == {
        "size": 3,
        "word": "b",
        "flag": True,
        "nested": {"a": [1], "b": UNKNOWN},
        "password": UNKNOWN,
        "url": UNKNOWN,
    }
    assert set(a.secret_paths) == {"password", "url"}


def test_calls_are_answered_from_the_table_from_the_caller_or_not_at_all(project):
    program = """
        def call(token, **args):
            return pulumi.runtime.invoke(token, args).value
        zones = call("aws:index/getAvailabilityZones:getAvailabilityZones")["names"]
        account = call("aws:index/getCallerIdentity:getCallerIdentity")["accountId"]
        later = pulumi.runtime.invoke_output("aws:ec2/getThing:getThing", {})
        ami = call("aws:x/getX:getX")
        Thing("a", zone=zones[0], account=account, arn_text=f"arn:aws:iam::{account}:root",
              later=later.apply(lambda v: v["id"]), ami=ami["id"] if ami else "none")
    """
    config = {"aws:region": "eu-west-1"}
    plan = evaluate(project(program), "dev", config=config, answers={"aws:x/getX:getX": {"id": "x-1"}})
    assert named(plan)["a"].inputs == {
        "zone": "eu-west-1a", "account": UNKNOWN, "arn_text": UNKNOWN, "later": UNKNOWN, "ami": "x-1",
    }  # fmt: skip
    assert plan.notes == (
        "zones as the catalog has them for eu-west-1: eu-west-1a, eu-west-1b, eu-west-1c; an account may see fewer",
    )


def test_a_stack_reference_and_a_read_resource_are_unknown_and_not_recorded(project):
    plan = evaluate(
        project("""
        other = pulumi.StackReference("org/demo/other")
        existing = Thing("existing", opts=Opts(id="i-1"))
        Thing("a", vpc=other.get_output("vpc"), arn_of=existing.arn, id_of=existing.id)
        """),
        "dev",
    )
    assert [r.name for r in plan.resources] == ["demo-dev", "a"]
    assert named(plan)["a"].inputs == {"vpc": UNKNOWN, "arn_of": UNKNOWN, "id_of": "i-1"}


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (("x = 1\nraise " "ValueError('no room')"), ("in __main__.py, line " "3: raise " "ValueError('no " "room')\n  " "ValueError: no room")),
        ("x = {}['k']", "in __main__.py, line 2: x = {}['k']\n  KeyError: 'k'"),
        ("import not_there_at_all", "ModuleNotFoundError: No module named 'not_there_at_all'\n  fix: install it"),
        ("import not_there_at_all", "-m pip install not_there_at_all"),
        ("x = = 1", "in __main__.py, line 2: x = = 1\n  SyntaxError"),
        ("import helper", "in helper.py, line 1: 1 / 0\n  ZeroDivisionError: division by zero"),
        ("import sys; sys.exit('stop')", "the program called sys.exit('stop')"),
        ("import pulumi; pulumi.log.error('bad zone')", "the program reported an error: bad zone"),
        ("import pulumi; pulumi.Config().require('zone')", "Missing required configuration variable 'demo:zone'"),
        ("import pulumi; pulumi.Output.from_input(1).apply(lambda v: v / 0)", "ZeroDivisionError"),
        (
            "import pulumi, datetime; x = datetime.date.fromisoformat(pulumi.runtime.invoke('a:b:c', {}).value['id'])",
            "it asked the cloud for a:b:c, which is unknown offline",
        ),
    ],
)  # fmt: skip
def test_a_failing_program_says_where_and_what(project, program, says):
    with pytest.raises(ServiceError) as caught:
        evaluate(project(program, prelude="\n", helper__dot__py="1 / 0\n"), "dev")
    message = str(caught.value)
    assert says in message
    assert message.startswith("stack dev: ")
    assert "Traceback" not in message
    assert "preview/evaluate" not in message


def test_a_program_that_ends_itself_half_way_is_not_judged_whole(project):
    (left,) = evaluate(project("import sys\nif len(sys.argv) < 9:\n    sys.exit(0)\nx = 1"), "dev").hidden
    assert "the program ends itself there with sys.exit()" in left.why
    assert left.name.startswith("__main__.py, line ")
    assert evaluate(project("import sys\nx = 1\nsys.exit(0)"), "dev").hidden == (), "its last line"


def test_two_resources_of_one_name_are_refused_with_the_way_out(project):
    with pytest.raises(ServiceError, match=r"two resources have the same type, name and parent(.|\n)*fix: "):
        evaluate(project("Thing('a')\nThing('a')"), "dev")


def test_a_refusal_of_ours_in_a_program_passes_through(project):
    with pytest.raises(DecisionError, match="no such decision") as caught:
        evaluate(
            project("""
            from pathlib import Path
            from sizewell.sizing.records.decision import Decision
            Decision.from_json(Path("decisions/dev.json"))
            """),
            "dev",
        )
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "not a Pulumi project"),
        ({"Pulumi.yaml": "name: demo\nruntime: nodejs\n"}, "only python programs"),
        ({"Pulumi.yaml": "name: demo\nruntime: python\n"}, "no such program"),
        ({"Pulumi.yaml": "name: [unclosed\n"}, r"Pulumi\.yaml:1:16: is not valid YAML"),
        ({"Pulumi.yaml": "- a list\n"}, "must be a mapping"),
        (
            {"Pulumi.yaml": "name: demo\nruntime: python\n", "Pulumi.dev.yaml": "config: [1]\n", "__main__.py": ""},
            "config: must be a mapping",
        ),
    ],
)
def test_a_project_that_is_not_one(tmp_path, files, says):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises((UsageError, ConfigError), match=says):
        evaluate(tmp_path, "dev")


def test_an_output_that_cannot_hold_its_input_does_not_stop_the_program(project):
    plan = evaluate(
        project("""
        @pulumi.output_type
        class Shape(dict):
            pass
        class Odd(pulumi.CustomResource):
            def __init__(self, name, **props):
                super().__init__("test:index:Odd", name, props, None)
            @property
            @pulumi.getter
            def identities(self) -> pulumi.Output[Shape]: ...
            @property
            @pulumi.getter
            def label(self) -> pulumi.Output[str]: ...
        odd = Odd("odd", identities=["a list, while the output is a mapping"], label="l")
        even = Thing("even", nested={"k": [1]})
        Thing("a", label=odd.label, other=odd.identities, deep=even.nested["k"])
        Thing("b", label=odd.label, other=odd.identities)  # the failed output is awaited once more
        Thing("c", label=odd.label)
        """),
        "dev",
    )
    assert named(plan)["a"].inputs == {"label": "l", "other": UNKNOWN, "deep": [1]}  # only the odd type is narrowed


def test_evaluations_do_not_leak(project, tmp_path):
    directory = project(
        """
        import helper, os, sys, asyncio, logging
        stack = pulumi.get_stack()
        helper.SEEN.append(stack)
        assert helper.SEEN == [stack], helper.SEEN
        assert "LEAK" not in os.environ and "leak" not in sys.path
        assert pulumi.Config().get("other") is None or stack == "one"
        os.environ["LEAK"] = "1"
        os.environ.pop("STAYS")
        sys.path.append("leak")
        os.chdir("/")
        sys.argv.append("x")
        print("printed by the program")
        Thing(f"a-{stack}", seen=list(helper.SEEN))
        pulumi.runtime.register_resource_transform(lambda args: None)
        """,
        helper__dot__py="SEEN = []\n",
    )
    os.environ["STAYS"] = "1"
    before = (list(sys.path), dict(os.environ), Path.cwd(), list(sys.argv), sys.stdout, set(sys.modules))
    one = evaluate(directory, "one", config={"demo:other": "x"})
    two = evaluate(directory, "two")
    assert [r.inputs for r in one.resources if r.name == "a-one"] == [{"seen": ["one"]}]
    assert [r.name for r in two.resources] == ["demo-two", "a-two"]
    assert (list(sys.path), dict(os.environ), Path.cwd(), list(sys.argv), sys.stdout) == before[:5]
    assert not {name for name in set(sys.modules) - before[5] if "helper" in name}
    del os.environ["STAYS"]


def test_what_a_program_prints_stays_out_of_our_output(project, capsys):
    evaluate(project("print('noise')\nimport sys; print('noise', file=sys.stderr)"), "dev")
    assert capsys.readouterr() == ("", "")


def test_inside_a_running_loop_and_from_threads(project):
    directory = project("Thing('a-' + pulumi.get_stack())")

    async def inside():
        return await asyncio.gather(*(asyncio.to_thread(evaluate, directory, f"s{i}") for i in range(4)))

    plans = asyncio.run(inside())
    assert [[r.name for r in plan.resources] for plan in plans] == [[f"demo-s{i}", f"a-s{i}"] for i in range(4)]


def test_a_function_is_a_program_too(tmp_path):
    import pulumi

    plan = evaluate(tmp_path, "dev", program=lambda: pulumi.export("stack", pulumi.get_stack()))
    assert plan.outputs == {"stack": "dev"}


def test_another_checkout_sees_its_own_modules(tmp_path):
    """A base revision's packages are imported, not those of the head that are loaded already."""
    for side in ("head", "base"):
        program = tmp_path / side / "stacks"
        program.mkdir(parents=True)
        (tmp_path / side / "Pulumi.yaml").write_text("name: demo\nruntime: python\nmain: stacks/\n")
        (tmp_path / side / "shared_room").mkdir()
        (tmp_path / side / "shared_room/__init__.py").write_text(f"WHO = {side!r}\n")
        (program / "__main__.py").write_text("import pulumi, shared_room\npulumi.export('who', shared_room.WHO)\n")
    head, base = tmp_path / "head", tmp_path / "base"
    sys.path.insert(0, str(head))  # as an editable install does
    try:
        assert evaluate(head, "dev").outputs == {"who": "head"}
        assert evaluate(base, "dev", replaces=head).outputs == {"who": "base"}
        assert evaluate(base, "dev", replaces=head).outputs == {"who": "base"}
        assert evaluate(head, "dev").outputs == {"who": "head"}
        assert sys.modules["shared_room"].WHO == "head"
    finally:
        sys.path.remove(str(head))
        sys.modules.pop("shared_room", None)
        forget(base)


def test_forty_resources_in_a_tenth_of_a_second_and_no_worse_than_linear(project):
    directory = project("for i in range(pulumi.Config().require_int('n')): Thing(f't{i}', size=i, label=f'l{i}')")

    def seconds(count):
        return min(_timed(directory, count) for _ in range(3))

    seconds(10)
    small, large = seconds(200), seconds(2000)
    assert large < 20 * small  # ten times the work; quadratic would be a hundred
    assert seconds(40) < 0.2  # half a tenth on a quiet machine; see benchmarks


def _timed(directory, count):
    start = time.process_time()
    evaluate(directory, "dev", config={"demo:n": str(count)})
    return time.process_time() - start


def test_secrets_of_configuration_are_never_read(project):
    directory = project("", Pulumi__dot__dev__dot__yaml="config:\n  demo:k: {secure: v1:cipher}\n")
    assert "cipher" not in str(read_project(directory, "dev"))


def test_a_real_provider(project):
    pytest.importorskip("pulumi_aws")
    plan = evaluate(
        project(
            """
            import pulumi_aws as aws
            me = aws.get_caller_identity()
            bucket = aws.s3.Bucket("b", bucket="named", tags={"account": me.account_id})
            aws.s3.BucketVersioning("v", bucket=bucket.id, versioning_configuration={"status": "Enabled"})
            aws.ebs.Volume("d", availability_zone=aws.get_availability_zones().names[1], size=100,
                           tags={"of": bucket.bucket})
            """,
            prelude="",
        ),
        "dev",
        config={"aws:region": "us-east-1"},
    )
    resources = named(plan)
    assert resources["b"].inputs == {"bucket": "named", "tags": {"account": UNKNOWN}}
    assert resources["v"].inputs == {"bucket": UNKNOWN, "versioningConfiguration": {"status": "Enabled"}}
    assert resources["d"].inputs == {"availabilityZone": "us-east-1b", "size": 100, "tags": {"of": "named"}}


def test_what_a_program_starts_prints_nowhere(tmp_path, capfd):
    """Standard output is the answer: `--json` is one document whatever the program runs."""
    (tmp_path / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}\n")

    def program():
        subprocess.run(["echo", "from a child"], check=True)

    evaluate(tmp_path, "dev", program=program)
    print("after")
    assert capfd.readouterr().out == "after\n"


def test_what_a_program_makes_without_the_answer_of_a_host_is_not_judged(project):
    source = """
    import socket
    try:
        number = int(socket.create_connection(("127.0.0.1", 1), 5).recv(1))
    except OSError:
        number = 0
    for each in range(number):
        Thing(f'a{each}')
    """
    plan = evaluate(project(textwrap.dedent(source)), "dev")
    (hidden,) = plan.hidden
    assert "the answer of 127.0.0.1, which cannot be reached here" in hidden.why
    assert hidden.name.startswith("__main__.py, line ")
    assert evaluate(project("import socket\nThing('a')"), "dev").hidden == ()
