"""Public images where machines without internet access can pull them."""

import pulumi
from pulumi_aws import ecr, get_caller_identity_output

from sizewell.components.aws.eks.args import ImageMirrorArgs
from sizewell.components.aws.eks.checks import check_mirror
from sizewell.components.inputs import derive
from sizewell.components.owned import Owned
from sizewell.components.tags import physical_name


def prefix_of(stack: str, name: str) -> str:
    """What the names of a mirror's repositories begin with."""
    return physical_name("sizewell", stack, name, limit=60)


def registry_of(account: str, region: str, prefix: str) -> str:
    """Where the images of a mirror are pulled from.

    >>> registry_of("123456789012", "cn-north-1", "sizewell-images-dev-aws-images-cn-north-1")
    '123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn/sizewell-images-dev-aws-images-cn-north-1'
    """
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"{account}.dkr.ecr.{region}.{suffix}/{prefix}"


class ImageMirror(Owned):
    """An ECR repository for each public image, to be filled once from outside; its output `copies` lists what to copy.

    ECR's own pull-through cache does not help: it does not support nvcr.io, and its first pull needs internet access.
    """

    registry: pulumi.Output[str]
    """Value for `registry` of EksDevicePlugins."""
    copies: pulumi.Output[list[str]]
    """SOURCE TARGET for each image: `crane copy SOURCE TARGET`, once, from a machine with internet access."""

    def __init__(self, name: str, args: ImageMirrorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_mirror(name, args)
        region = args["region"]
        super().__init__(name, args, opts, kind="registry")
        account = args.get("account") or get_caller_identity_output(opts=pulumi.InvokeOptions(parent=self)).account_id
        prefix = prefix_of(pulumi.get_stack(), name)
        key: dict[str, object] = {"encryption_type": "KMS"}
        if "kms_key_arn" in args:
            key["kms_key"] = args["kms_key_arn"]
        for image in args["images"]:
            path = image.partition("/")[2].rpartition(":")[0]
            at = f"{name}-{path.replace('/', '-')}"
            self.make(
                ecr.Repository,
                at,
                name=f"{prefix}/{path}",
                image_tag_mutability="IMMUTABLE",
                image_scanning_configuration={"scan_on_push": True},
                encryption_configurations=[key],
                force_delete=True,  # copies only
            )
        self.registry = pulumi.Output.from_input(derive(lambda number: registry_of(number, region, prefix), account))
        self.copies = self.registry.apply(
            lambda at: [f"{image} {at}/{image.partition('/')[2]}" for image in args["images"]]
        )
        self.register()
