import json

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

config = pulumi.Config()
cidr = config.require("cidr")
sizes = config.require_object("sizes")
obj = config.require_secret_object("obj")
me = aws.get_caller_identity()
ami = aws.ec2.get_ami(most_recent=True, owners=["amazon"], filters=[{"name": "name", "values": ["al2023-*"]}])
zones = aws.get_availability_zones(state="available")


class Net(pulumi.ComponentResource):
    def __init__(self, name, opts=None):
        super().__init__("own:index:Net", name, {"cidr": cidr}, opts)
        self.vpc = aws.ec2.Vpc(
            f"{name}-vpc",
            cidr_block=cidr,
            tags={"Name": f"{name} of {me.account_id}"},
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        self.subnets = [
            aws.ec2.Subnet(
                f"{name}-{i}",
                vpc_id=self.vpc.id,
                cidr_block=f"10.0.{i}.0/24",
                availability_zone=zones.names[i],
                opts=pulumi.ResourceOptions(parent=self, aliases=[pulumi.Alias(name=f"old-{i}")]),
            )
            for i in range(2)
        ]
        self.register_outputs({"id": self.vpc.id})


eu = aws.Provider("eu", region="eu-central-1", default_tags={"tags": {"team": "x"}})
net = Net("net", pulumi.ResourceOptions(providers=[eu]))
other = pulumi.StackReference("acme/base/prod")
bucket = aws.s3.Bucket(
    "logs",
    bucket_prefix="logs-",
    opts=pulumi.ResourceOptions(
        retain_on_delete=True,
        ignore_changes=["tags"],
        custom_timeouts=pulumi.CustomTimeouts(create="5m"),
        delete_before_replace=True,
    ),
)
obj1 = aws.s3.BucketObject(
    "hello",
    bucket=bucket.id,
    key="hello",
    source=pulumi.FileAsset("hello.txt"),
    opts=pulumi.ResourceOptions(depends_on=[net]),
)
role = aws.iam.Role(
    "fn",
    assume_role_policy=json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}
            ],
        }
    ),
)
aws.iam.RolePolicy(
    "fn",
    role=role.name,
    policy=bucket.arn.apply(
        lambda arn: json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [{"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": [f"{arn}/*", arn]}],
            }
        )
    ),
)
fn = aws.lambda_.Function(
    "fn",
    runtime="python3.12",
    handler="main.handler",
    role=role.arn,
    code=pulumi.AssetArchive({"app": pulumi.FileArchive("app"), "x.txt": pulumi.StringAsset("hi")}),
    environment={
        "variables": {
            "PASSWORD": config.require_secret("password"),
            "HOST": other.require_output("host"),
            "USER": obj["user"],
            "KEY": obj["key"],
            "N": str(sizes["small"]),
        }
    },
)
sg = aws.ec2.SecurityGroup(
    "web",
    vpc_id=net.vpc.id,
    ingress=[{"protocol": "tcp", "from_port": p, "to_port": p, "cidr_blocks": [net.vpc.cidr_block]} for p in (80, 443)],
)
db = aws.rds.Instance(
    "db",
    engine="postgres",
    instance_class="db.t3.micro",
    allocated_storage=20,
    username="app",
    password=config.require_secret("password"),
    vpc_security_group_ids=[sg.id],
    skip_final_snapshot=True,
)
url = pulumi.Output.all(db.address, db.port, config.require_secret("password")).apply(
    lambda a: f"postgres://app:{a[2]}@{a[0]}:{a[1]}/app"
)
aws.ssm.Parameter("url", type="SecureString", value=url)
aws.ssm.Parameter(
    "info",
    type="String",
    value=pulumi.Output.json_dumps({"host": db.address, "port": db.port, "zone": db.availability_zone}),
)
vm = aws.ec2.Instance(
    "vm",
    ami=ami.id,
    instance_type="t3.micro",
    subnet_id=net.subnets[0].id,
    user_data=pulumi.Output.format(
        "#!/bin/bash\nset -e\necho {0}\nexport A=${{B}}\nsystemctl start {1}\nsleep 1\n", bucket.id, "x"
    ),
)
old = aws.ec2.Vpc.get("old", "vpc-0123456789")
aws.ec2.VpcPeeringConnection(
    "peer",
    vpc_id=net.vpc.id,
    peer_vpc_id=old.id,
    opts=pulumi.ResourceOptions(replace_on_changes=["peerVpcId"], import_=None),
)
k = k8s.Provider("k", kubeconfig=db.endpoint.apply(lambda e: json.dumps({"clusters": [{"server": e}]})))
k8s.core.v1.ConfigMap(
    "cm",
    metadata={"name": "cm"},
    data={"url": vm.private_ip, "short": vm.private_dns.apply(lambda n: n.split(".")[0])},
    opts=pulumi.ResourceOptions(provider=k),
)
pulumi.export("url", url)
pulumi.export("ip", vm.public_ip)
pulumi.export("vpc", net.vpc.id)
pulumi.export("subnets", [s.id for s in net.subnets])
