"""An Azure OpenAI account: private, without keys, its models named with their versions."""

import pulumi
from pulumi_azure_native import cognitiveservices

from sizewell.components.azure import parts
from sizewell.components.azure.openai.args import OpenAiAccountArgs, check_openai
from sizewell.components.owned import Owned

USER = "5e0bd9bd-7b93-4f28-af87-19fc36ad61bd"  # Cognitive Services OpenAI User


class OpenAiAccount(Owned):
    """Models priced per token, or provisioned throughput, which is a purchase: it is billed every hour until it is
    deleted.

    There are no keys: Entra authenticates callers, who use a private endpoint. Model versions are those named here.
    """

    endpoint: pulumi.Output[str]
    """Its URL."""
    account_id: pulumi.Output[str]
    """Id of the account."""

    def __init__(self, name: str, args: OpenAiAccountArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_openai(name, args)
        super().__init__(name, args, opts, kind="endpoint")
        identity: dict[str, object] = {"type": "SystemAssigned"}
        encryption: dict[str, object] = {}
        if key := args.get("key"):
            identity = {"type": "SystemAssigned, UserAssigned", "user_assigned_identities": [key["identity_id"]]}
            wrapped = pulumi.Output.from_input(key["key_url"]).apply(_key_parts)
            named: dict[str, object] = {
                "key_vault_uri": wrapped.apply(lambda parts_: parts_[0]),
                "key_name": wrapped.apply(lambda parts_: parts_[1]),
                "key_version": wrapped.apply(lambda parts_: parts_[2]),
            }
            if "client_id" in key:
                named["identity_client_id"] = key["client_id"]
            encryption = {"encryption": {"key_source": "Microsoft.KeyVault", "key_vault_properties": named}}
        account = self.make(
            cognitiveservices.Account,
            f"{name}-account",
            account_name=args["account"],
            resource_group_name=args["resource_group"],
            location=args["region"],
            kind="OpenAI",
            sku={"name": "S0"},
            identity=identity,
            properties={
                "custom_sub_domain_name": args["account"],
                "disable_local_auth": True,
                "public_network_access": "Disabled",
                "network_acls": {"default_action": "Deny", "ip_rules": [], "virtual_network_rules": []},
                "restrict_outbound_network_access": True,
                "allowed_fqdn_list": [],
                "dynamic_throttling_enabled": False,
                **encryption,
            },
        )
        parts.private_endpoint(
            self, f"{name}-account", args, target=account.id, group="account", zones=parts.zones_of(args, "openai")
        )
        before: list[pulumi.Resource] = []
        for wanted in args["deployments"]:
            made = self.make(
                cognitiveservices.Deployment,
                f"{name}-{wanted['name']}",
                deployment_name=wanted["name"],
                account_name=account.name,
                resource_group_name=args["resource_group"],
                sku={"name": wanted["sku"], "capacity": wanted["capacity"]},
                properties={
                    "model": {"format": "OpenAI", "name": wanted["model"], "version": wanted["version"]},
                    "version_upgrade_option": "NoAutoUpgrade",
                },
                opts=pulumi.ResourceOptions(depends_on=list(before)),  # an account takes one change at a time
            )
            before = [made]
        for number, user in enumerate(args.get("users", [])):
            parts.assign(
                self, f"{name}-user-{number}", scope=account.id, principal=user, principal_type=None, role=USER
            )
        self.endpoint = pulumi.Output.from_input(f"https://{args['account']}.openai.azure.com/")
        self.account_id = account.id
        self.register()


def _key_parts(url: str) -> tuple[str, str, str]:
    """Vault, name and version out of https://VAULT.vault.azure.net/keys/NAME/VERSION."""
    vault, _, rest = url.partition("/keys/")
    name, _, version = rest.partition("/")
    return f"{vault}/", name, version
