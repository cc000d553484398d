"""Notebooks and Studio on SageMaker: inside the network, encrypted, and off when nobody works."""

from typing import Any

import pulumi
from pulumi_aws import sagemaker

from sizewell.components.aws import parts, policies
from sizewell.components.aws.sagemaker import documents as sagemaker_documents
from sizewell.components.aws.sagemaker.args import NotebookArgs, StudioDomainArgs
from sizewell.components.aws.sagemaker.checks import check_notebook, check_studio
from sizewell.components.facts import of_pool
from sizewell.components.inputs import derive
from sizewell.components.machines import checked_shape
from sizewell.components.owned import Owned


class Notebook(Owned):
    """A notebook without internet access or root that stops itself; its disk is kept, and billed, while it is
    stopped.
    """

    notebook_name: pulumi.Output[str]
    """Name of the notebook instance."""
    role_arn: pulumi.Output[str]
    """Role of the notebook."""

    def __init__(self, name: str, args: NotebookArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = checked_shape(check_notebook, name, args, cloud="aws", machine="instance_type")
        region = args["region"]
        guard = args.get("guard", sagemaker_documents.NOTEBOOK_GUARD)
        declared: NotebookArgs = {**args, "guard": guard}
        super().__init__(
            name,
            declared,
            opts,
            kind="notebook",
            **of_pool(shape, args, sizes=(0, 1, 1)),
            workloadKind="notebook",
        )
        physical = self.physical(name, 63)
        inline: dict[str, Any] = {"container": sagemaker_documents.container_policy(region=region)}
        if args.get("reads"):
            inline["data"] = sagemaker_documents.read_policy(region=region, buckets=args["reads"])
        if writer := args.get("writer"):
            inline["checkpoints"] = policies.writer_policy(
                region=region, bucket=writer["bucket"], key_alias=writer["key_alias"]
            )
        role = parts.role(
            self,
            f"{name}-notebook",
            trust=policies.assume_role("sagemaker.amazonaws.com"),
            description=f"Notebook {name}",
            managed=("AmazonEC2ContainerRegistryPullOnly",),
            inline=inline,
            region=region,
        )
        account = parts.account_of(args, role)
        stop = derive(
            lambda arn: policies.policy(
                [{"Effect": "Allow", "Action": "sagemaker:StopNotebookInstance", "Resource": arn}]
            ),
            parts.arn_of(account, region, "sagemaker", f"notebook-instance/{physical}"),
        )
        parts.inline_policy(self, f"{name}-notebook-stop", role, stop)
        key = parts.key_arn(self, name, args, account)
        parts.inline_policy(self, f"{name}-notebook-key", role, parts.key_use(args, key))
        group = parts.closed_group(self, f"{name}-notebook", args, what=f"Notebook {name}")
        script = self.make(
            sagemaker.NotebookInstanceLifecycleConfiguration,
            f"{name}-auto-stop",
            on_start=sagemaker_documents.auto_stop(guard=guard, region=region),
        )
        notebook = self.make(
            sagemaker.NotebookInstance,
            f"{name}-notebook",
            name=physical,
            instance_type=sagemaker_documents.ml(shape.instance_type),
            platform_identifier="notebook-al2023-v1",
            role_arn=role.arn,
            subnet_id=pulumi.Output.from_input(args["subnet_ids"]).apply(lambda ids: ids[0]),
            security_groups=[group.id],
            direct_internet_access="Disabled",
            root_access="Disabled",
            kms_key_id=key,
            volume_size=args["disk_gib"],
            instance_metadata_service_configuration={"minimum_instance_metadata_service_version": "2"},
            lifecycle_config_name=script.name,
        )
        self.notebook_name = notebook.name
        self.role_arn = role.arn
        self.register()


class StudioDomain(Owned):
    """SageMaker Studio for a team: traffic in the VPC only, homes encrypted, idle apps shut down.

    Home directories are kept, and billed, when a prod domain is deleted; elsewhere they are deleted with it.
    """

    domain_id: pulumi.Output[str]
    """Id of the domain."""
    role_arn: pulumi.Output[str]
    """Role of the users' apps."""

    def __init__(self, name: str, args: StudioDomainArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_studio(name, args)
        region = args["region"]
        super().__init__(name, args, opts, kind="notebook", workloadKind="notebook")
        inline: dict[str, Any] = {"container": sagemaker_documents.container_policy(region=region)}
        if args.get("reads"):
            inline["data"] = sagemaker_documents.read_policy(region=region, buckets=args["reads"])
        role = parts.role(
            self,
            f"{name}-users",
            trust=policies.assume_role("sagemaker.amazonaws.com"),
            description=f"Users of {name}",
            managed=("AmazonEC2ContainerRegistryPullOnly",),
            inline=inline,
            region=region,
        )
        account = parts.account_of(args, role)
        key = parts.key_arn(self, name, args, account)
        parts.inline_policy(self, f"{name}-users-key", role, parts.key_use(args, key))
        group = parts.closed_group(self, f"{name}-users", args, what=f"Apps of {name}")
        apps = sagemaker_documents.studio_apps(args.get("idle_minutes", 60))
        domain = self.make(
            sagemaker.Domain,
            f"{name}-domain",
            domain_name=self.name_of(sagemaker.Domain, name),
            auth_mode="IAM",
            app_network_access_type="VpcOnly",
            vpc_id=args["vpc_id"],
            subnet_ids=args["subnet_ids"],
            kms_key_id=key,
            tag_propagation="ENABLED",
            default_user_settings={
                "execution_role": role.arn,
                "security_groups": [group.id],
                "jupyter_lab_app_settings": apps,
                "code_editor_app_settings": apps,
                "space_storage_settings": {
                    "default_ebs_storage_settings": {
                        "default_ebs_volume_size_in_gb": min(args.get("disk_gib", 100), 20),
                        "maximum_ebs_volume_size_in_gb": args.get("disk_gib", 100),
                    }
                },
                "sharing_settings": {"notebook_output_option": "Disabled"},
            },
            default_space_settings={
                "execution_role": role.arn,
                "security_groups": [group.id],
                "jupyter_lab_app_settings": apps,
            },
            domain_settings={"docker_settings": {"enable_docker_access": "DISABLED"}},
            retention_policy={"home_efs_file_system": "Retain" if args["environment"] == "prod" else "Delete"},
        )
        for user in args.get("users", []):
            self.make(sagemaker.UserProfile, f"{name}-{user}", domain_id=domain.id, user_profile_name=user)
        self.domain_id = domain.id
        self.role_arn = role.arn
        self.register()
