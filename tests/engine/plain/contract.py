"""What a program may ask of the SDK that Sizewell answers in the engine's place; nothing but the SDK is needed."""

from collections.abc import Mapping, Sequence

import pulumi
from pulumi import ResourceOptions as Opts


class Thing(pulumi.CustomResource):
    arn: pulumi.Output[str]
    size: pulumi.Output[int]
    label: pulumi.Output[str]
    nested: pulumi.Output[Mapping[str, Sequence[int]]]

    def __init__(self, name, opts=None, **inputs):
        super().__init__("aws:contract/thing:Thing", name, {"arn": None, "size": None, **inputs}, opts)


class Group(pulumi.ComponentResource):
    def __init__(self, name, opts=None, **inputs):
        super().__init__("mine:index:Group", name, inputs, opts)


def adding(letter):
    async def transform(args):
        if not args.name.startswith("t-"):
            return None
        return pulumi.ResourceTransformResult({**args.props, "label": args.props.get("label", "") + letter}, args.opts)

    return transform


def protecting(args):
    if args.name == "t-inner":
        return pulumi.ResourceTransformResult(args.props, Opts.merge(args.opts, Opts(protect=True)))
    return None


pulumi.runtime.register_resource_transform(adding("s"))
pulumi.runtime.register_resource_transform(protecting)
config = pulumi.Config()
group = Group("group", kind="pool", opts=Opts(aliases=[pulumi.Alias(name="old")], transforms=[adding("g")]))
inner = Thing(
    "t-inner",
    label="x",
    nested={"deep": [1, 2]},
    opts=Opts(parent=group, ignore_changes=["size"], transforms=[adding("t")]),
)
outer = Thing(
    "t-outer",
    size=inner.size,
    of=inner.arn,
    both=pulumi.Output.concat("x/", inner.arn),
    doubled=pulumi.Output.from_input(21).apply(lambda size: size * 2),
    all=pulumi.Output.all(inner.label, "y").apply(",".join),
    secret=pulumi.Output.secret({"key": "value"}),
    word=config.get("word"),
    region=pulumi.get_stack(),
    opts=Opts(depends_on=[group], delete_before_replace=True, retain_on_delete=True),
)
Thing("t-last", label="kept", opts=Opts(parent=outer))
group.register_outputs({"label": inner.label, "arn": inner.arn})
pulumi.export("label", inner.label)
pulumi.export("arn", outer.arn)
pulumi.export("doubled", outer.doubled)
