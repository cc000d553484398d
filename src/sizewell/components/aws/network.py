"""The private network of a stack in one region, on AWS."""

import ipaddress

import pulumi
from pulumi_aws import cloudwatch, ec2, iam, kms

from sizewell.components.aws import instances, policies
from sizewell.components.aws.args import NetworkArgs
from sizewell.components.aws.checks import check_network
from sizewell.components.inputs import derive
from sizewell.components.owned import Owned
from sizewell.components.tags import physical_name


class Network(Owned):
    """A VPC with one private subnet per zone, endpoints in place of internet access, flow logs, and a key of its
    own.
    """

    vpc_id: pulumi.Output[str]
    """The VPC."""
    vpc_cidr: pulumi.Output[str]
    """Its IPv4 range."""
    subnet_ids: pulumi.Output[list[str]]
    """Private subnets, one per zone, in the order of the arguments."""
    s3_prefix_list_id: pulumi.Output[str]
    """Prefix list of the S3 gateway endpoint."""
    kms_key_arn: pulumi.Output[str]
    """Key for disks, logs and notices of this stack."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_network(name, args)
        super().__init__(name, args, opts, kind="network", cloud="")
        region, cidr = args["region"], args.get("cidr", "10.40.0.0/16")
        production = args["environment"] == "prod"

        vpc = self.make(
            ec2.Vpc,
            f"{name}-vpc",
            cidr_block=cidr,
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags={**self.tags_of(ec2.Vpc, f"{name}-vpc"), "Name": self.physical(name, 128)},
        )
        self.make(  # emptied: nothing may run in it
            ec2.DefaultSecurityGroup,
            f"{name}-default-group",
            vpc_id=vpc.id,
            ingress=[],
            egress=[],
        )
        routes = self.make(ec2.RouteTable, f"{name}-routes", vpc_id=vpc.id)
        ranges = list(ipaddress.ip_network(cidr).subnets(new_prefix=ipaddress.ip_network(cidr).prefixlen + 2))
        subnets: dict[str, ec2.Subnet] = {}
        zones = list(args["zones"])
        if all(instances.is_local_zone(zone) for zone in zones):
            zones.append(f"{region}a")  # the endpoints' own: a Local Zone has none
        for zone, block in zip(zones, ranges, strict=False):
            place = {"availability_zone_id": zone} if "-az" in zone else {"availability_zone": zone}
            subnet = self.make(
                ec2.Subnet,
                f"{name}-{zone}",
                vpc_id=vpc.id,
                cidr_block=str(block),
                map_public_ip_on_launch=False,
                **place,
            )
            self.make(ec2.RouteTableAssociation, f"{name}-{zone}", subnet_id=subnet.id, route_table_id=routes.id)
            subnets[zone] = subnet

        account = args.get("account") or vpc.owner_id
        key = encryption_key(self, name, region=region, account=account, production=production)
        s3 = self._endpoints(name, args, vpc, subnets, routes, every_zone=production)
        self._flow_logs(name, vpc, key, region=region)

        self.vpc_id = vpc.id
        self.vpc_cidr = pulumi.Output.from_input(cidr)
        self.subnet_ids = pulumi.Output.all(*[subnets[zone].id for zone in args["zones"]])
        self.zone_subnets = {zone: subnets[zone].id for zone in args["zones"]}  # for pools of some of the zones
        self.s3_prefix_list_id = s3.prefix_list_id
        self.kms_key_arn = key.arn
        self.register()

    def _endpoints(
        self,
        name: str,
        args: NetworkArgs,
        vpc: ec2.Vpc,
        subnets: dict[str, ec2.Subnet],
        routes: ec2.RouteTable,
        *,
        every_zone: bool,
    ) -> ec2.VpcEndpoint:
        """S3 by gateway (free); the services by interface, in one zone outside of prod, since each zone bills."""
        region = args["region"]
        from pulumi_aws import vpc as rules

        group = self.make(
            ec2.SecurityGroup,
            f"{name}-endpoints",
            description="HTTPS from the VPC to the endpoints of AWS services",
            vpc_id=vpc.id,
        )
        self.make(
            rules.SecurityGroupIngressRule,
            f"{name}-endpoints-https",
            security_group_id=group.id,
            description="HTTPS from the VPC",
            cidr_ipv4=args.get("cidr", "10.40.0.0/16"),
            ip_protocol="tcp",
            from_port=443,
            to_port=443,
        )
        places = [subnet for zone, subnet in subnets.items() if not instances.is_local_zone(zone)]
        if not every_zone:
            places = places[:1]
        for service in args.get("endpoint_services", list(instances.DEFAULT_ENDPOINTS)):
            endpoint = f"{name}-{service.replace('.', '-')}"
            self.make(
                ec2.VpcEndpoint,
                endpoint,
                vpc_id=vpc.id,
                service_name=f"com.amazonaws.{region}.{service}",
                vpc_endpoint_type="Interface",
                private_dns_enabled=True,
                subnet_ids=[subnet.id for subnet in places],
                security_group_ids=[group.id],
            )
        return self.make(
            ec2.VpcEndpoint,
            f"{name}-s3",
            vpc_id=vpc.id,
            service_name=f"com.amazonaws.{region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[routes.id],
        )

    def _flow_logs(self, name: str, vpc: ec2.Vpc, key: kms.Key, *, region: str) -> None:
        group_name = f"/sizewell/{pulumi.get_stack()}/{name}/flow"
        logs = self.make(
            cloudwatch.LogGroup, f"{name}-flow", name=group_name, kms_key_id=key.arn, retention_in_days=365
        )
        role = self.make(
            iam.Role,
            f"{name}-flow",
            description="Writes the VPC's flow logs",
            assume_role_policy=policies.assume_role("vpc-flow-logs.amazonaws.com"),
        )
        write = ["logs:CreateLogStream", "logs:PutLogEvents"]
        # By name in any account: a role only ever acts in its own, and so the policy is known at preview.
        arn = f"arn:{policies.partition(region)}:logs:{region}:*:log-group:{group_name}"
        self.make(
            iam.RolePolicy,
            f"{name}-flow",
            role=role.id,
            policy=policies.policy(
                [
                    {"Effect": "Allow", "Action": write, "Resource": f"{arn}:*"},
                    {"Effect": "Allow", "Action": "logs:DescribeLogStreams", "Resource": arn},
                ]
            ),
        )
        self.make(
            ec2.FlowLog,
            f"{name}-flow",
            vpc_id=vpc.id,
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_destination=logs.arn,
            iam_role_arn=role.arn,
            max_aggregation_interval=600,
        )


def encryption_key(owner: Owned, name: str, *, region: str, account: pulumi.Input[str], production: bool) -> kms.Key:
    """A key that rotates, for disks, logs and notices; without it nothing of the stack can be read.

    With `account` a plain string its policy is known at preview, where rules judge it; else only later.
    """
    policy = derive(lambda number: policies.key_policy(account=number, region=region), account)
    key = owner.make(
        kms.Key,
        f"{name}-key",
        description=f"Disks, logs and notices of {pulumi.get_stack()} ({name})",
        enable_key_rotation=True,
        deletion_window_in_days=30 if production else 7,
        policy=policy,
    )
    owner.make(kms.Alias, f"{name}-key", name=key_alias(name), target_key_id=key.key_id)
    return key


def key_alias(name: str) -> str:
    """The alias of the encryption key of component `name` in this stack."""
    return f"alias/{physical_name('sizewell', pulumi.get_stack(), name, limit=200)}"
