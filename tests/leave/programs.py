"""Programs as careful users write them, each with what is expected of `leave`: "OK", or part of a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

HEAD: Final = """import json, os
import pulumi
import pulumi_aws as aws
import pulumi_gcp as gcp
import pulumi_azure_native as azure
import pulumi_kubernetes as k8s
config = pulumi.Config()
"""


@dataclass(frozen=True)
class Own:
    program: str
    config: str = "config: {aws:region: eu-west-1, own:name: web}\n"
    expect: str = "OK"
    extra: Mapping[str, str] = field(default_factory=dict)
    yaml: str = "name: own\nruntime: python\n"
    main: str = "__main__.py"


PROGRAMS: Final[dict[str, Own]] = {}


def p(name: str, program: str, *more: str, **named: object) -> None:
    PROGRAMS[name] = Own(program, *more, **named)  # type: ignore[arg-type]


p(
    "loop",
    """
vpc = aws.ec2.Vpc("main", cidr_block="10.0.0.0/16", tags={"Name": config.require("name")})
subnets = {}
for i, (n, size) in enumerate(config.require_object("nets").items()):
    subnets[n] = aws.ec2.Subnet(f"{n}-subnet", vpc_id=vpc.id, cidr_block=f"10.0.{i}.0/{size}", tags={"Name": vpc.tags.apply(lambda t: f"{t['Name']}-x")})
pulumi.export("ids", {k: s.id for k, s in subnets.items()})
""",
    "config: {aws:region: eu-west-1, own:name: web, own:nets: {a: 24, b: 25}}\n",
)
p(
    "maindir",
    """
import helpers
helpers.bucket("data", config.get("acl") or "private")
""",
    expect="OK",
    extra={
        "infra/helpers.py": "import pulumi_aws as aws\ndef bucket(n, acl):\n    return aws.s3.Bucket(n, tags={'acl': acl})\n"
    },
    yaml="name: own\nruntime: {name: python, options: {virtualenv: venv}}\nmain: infra\nconfig:\n  own:acl:\n    default: public-read\n    type: string\n",
    main="infra/__main__.py",
)
p(
    "azurevm",
    """
rg = azure.resources.ResourceGroup("rg", location="westeurope")
net = azure.network.VirtualNetwork("net", resource_group_name=rg.name, address_space={"address_prefixes": ["10.0.0.0/16"]})
sub = azure.network.Subnet("sub", resource_group_name=rg.name, virtual_network_name=net.name, address_prefix="10.0.1.0/24")
ip = azure.network.PublicIPAddress("ip", resource_group_name=rg.name, public_ip_allocation_method=azure.network.IPAllocationMethod.STATIC)
nic = azure.network.NetworkInterface("nic", resource_group_name=rg.name, ip_configurations=[azure.network.NetworkInterfaceIPConfigurationArgs(name="x", subnet=azure.network.SubnetArgs(id=sub.id), public_ip_address=azure.network.PublicIPAddressArgs(id=ip.id))])
keys = pulumi.Output.all(rg.name, net.name).apply(lambda a: azure.network.list_available_service_aliases(location="westeurope") if False else a[0])
sa = azure.storage.StorageAccount("sa", resource_group_name=keys, sku={"name": azure.storage.SkuName.STANDARD_LRS}, kind=azure.storage.Kind.STORAGE_V2)
k = azure.storage.list_storage_account_keys_output(account_name=sa.name, resource_group_name=rg.name)
pulumi.export("conn", pulumi.Output.secret(pulumi.Output.format("AccountName={0};AccountKey={1}", sa.name, k.keys[0].value)))
""",
)
p(
    "gke",
    '''
c = gcp.container.Cluster("c", initial_node_count=1, location="europe-west1", deletion_protection=False)
kc = pulumi.Output.all(c.name, c.endpoint, c.master_auth).apply(lambda a: """apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {2}
    server: https://{1}
  name: {0}
kind: Config
""".format(a[0], a[1], a[2].cluster_ca_certificate))
prov = k8s.Provider("c", kubeconfig=kc)
ns = k8s.core.v1.Namespace("apps", opts=pulumi.ResourceOptions(provider=prov))
k8s.apps.v1.Deployment("web", metadata={"namespace": ns.metadata["name"], "labels": {"app": "web"}}, spec={"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx:1.27", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": c.endpoint}], "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}, "livenessProbe": {"httpGet": {"path": "/", "port": 80}, "initialDelaySeconds": 3}}]}}}, opts=pulumi.ResourceOptions(provider=prov))
k8s.core.v1.Service("web", metadata=k8s.meta.v1.ObjectMetaArgs(namespace=ns.metadata.name), spec=k8s.core.v1.ServiceSpecArgs(ports=[k8s.core.v1.ServicePortArgs(port=80, target_port="http")], selector={"app": "web"}, type="LoadBalancer"), opts=pulumi.ResourceOptions(provider=prov))
k8s.apiextensions.CustomResource("cr", api_version="x.io/v1", kind="Thing", metadata={"name": "t"}, spec={"a": {"b": [1, 2, {"c": ns.metadata.name}]}, "enabled": True}, opts=pulumi.ResourceOptions(provider=prov))
k8s.helm.v3.Release("r", chart="nginx", version="1.2.3", repository_opts=k8s.helm.v3.RepositoryOptsArgs(repo="https://charts.example.com"), values={"a": {"b": True, "host": c.endpoint}}, namespace=ns.metadata.name, opts=pulumi.ResourceOptions(provider=prov, depends_on=[ns]))
k8s.helm.v4.Chart("v4", chart="./none") if False else None
''',
)
p(
    "yamlfile",
    """
prov = k8s.Provider("c", context="x")
k8s.yaml.ConfigFile("app", file="app.yaml", opts=pulumi.ResourceOptions(provider=prov))
k8s.yaml.v2.ConfigGroup("g", objs=[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "z"}, "data": {"a": "b"}}], opts=pulumi.ResourceOptions(provider=prov))
""",
    extra={
        "app.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm, namespace: apps}\ndata: {a: b}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}}\n"
    },
)
p(
    "transforms",
    """
def tag(args):
    if args.type_.startswith("aws:"):
        return pulumi.ResourceTransformResult(props={**args.props, "tags": {**(args.props.get("tags") or {}), "team": "x"}}, opts=args.opts)
pulumi.runtime.register_resource_transform(tag)
b = aws.s3.Bucket("b")
q = aws.sqs.Queue("q", tags={"of": b.id})
""",
)
p(
    "transformations",
    """
def t(args):
    return pulumi.ResourceTransformationResult(props={**args.props, "tags": {"x": "y"}}, opts=pulumi.ResourceOptions.merge(args.opts, pulumi.ResourceOptions(protect=True)))
pulumi.runtime.register_stack_transformation(t)
aws.s3.Bucket("b")
""",
)
p(
    "aliases",
    """
class C(pulumi.ComponentResource):
    def __init__(s, n, o=None):
        super().__init__("x:y:C", n, {}, o)
        s.b = aws.s3.Bucket(f"{n}-b", opts=pulumi.ResourceOptions(parent=s, aliases=[pulumi.Alias(parent=pulumi.ROOT_STACK_RESOURCE) if hasattr(pulumi, "ROOT_STACK_RESOURCE") else pulumi.Alias(parent=None)]))
c = C("c", pulumi.ResourceOptions(aliases=[pulumi.Alias(name="old"), pulumi.Alias(type_="x:y:Old")]))
aws.s3.Bucket("d", opts=pulumi.ResourceOptions(aliases=["urn:pulumi:dev::own::aws:s3/bucket:Bucket::before", pulumi.Alias(stack="prod"), pulumi.Alias(project="other")]))
""",
)
p(
    "options",
    """
a = aws.s3.Bucket("a", opts=pulumi.ResourceOptions(import_="a-bucket"))
b = aws.s3.Bucket("b", opts=pulumi.ResourceOptions(deleted_with=a, retain_on_delete=True, additional_secret_outputs=["arn"], ignore_changes=["tags", "bucketPrefix"], replace_on_changes=["bucket"]))
c = aws.sqs.Queue("c", delay_seconds=3, opts=pulumi.ResourceOptions(replace_with=[b], replacement_trigger="v1", version="7.0.0", custom_timeouts=pulumi.CustomTimeouts(create="10m", delete="1h")))
""",
)
p(
    "stackref",
    """
net = pulumi.StackReference("net", stack_name=f"acme/net/{pulumi.get_stack()}")
ids = net.get_output("subnet_ids")
aws.ec2.Instance("i", ami="ami-1", instance_type="t3.micro", subnet_id=ids.apply(lambda i: i[0]), vpc_security_group_ids=[net.require_output("sg")], tags={"vpc": net.outputs["vpc"]["id"]})
aws.ec2.Instance("j", ami="ami-1", instance_type="t3.micro", subnet_id=ids[1])
""",
)
p(
    "nested",
    """
class Inner(pulumi.ComponentResource):
    def __init__(s, n, o):
        super().__init__("x:y:Inner", n, {}, o)
        s.q = aws.sqs.Queue(n, opts=pulumi.ResourceOptions(parent=s))
        s.t = gcp.pubsub.Topic(n, opts=pulumi.ResourceOptions(parent=s))
        s.register_outputs({"url": s.q.url})
class Outer(pulumi.ComponentResource):
    def __init__(s, n, o=None):
        super().__init__("x:y:Outer", n, {"n": n}, o)
        s.inner = [Inner(f"{n}-{i}", pulumi.ResourceOptions(parent=s)) for i in range(2)]
us = aws.Provider("us", region="us-east-1")
g = gcp.Provider("g", project="p")
o = Outer("o", pulumi.ResourceOptions(providers={"aws": us, "gcp": g}, protect=True))
aws.sqs.Queue("last", name=o.inner[0].t.name, opts=pulumi.ResourceOptions(depends_on=[o]))
""",
)
p(
    "cloudinit",
    '''
import yaml, textwrap
from string import Template
db = aws.rds.Instance("db", engine="postgres", instance_class="db.t3.micro", allocated_storage=5, skip_final_snapshot=True)
init = db.address.apply(lambda h: "#cloud-config\\n" + yaml.dump({"write_files": [{"path": "/etc/app", "content": "host=" + h + "\\n"}], "runcmd": ["systemctl start app", "echo a", "echo b"]}))
aws.ec2.Instance("a", ami="ami-1", instance_type="t3.micro", user_data=init)
aws.ec2.Instance("b", ami="ami-1", instance_type="t3.micro", user_data=db.address.apply(lambda h: textwrap.dedent(f"""
    #!/bin/bash
    export HOST={h}
    export B=${{HOST}}
    run
    """)))
aws.ec2.Instance("c", ami="ami-1", instance_type="t3.micro", user_data=db.address.apply(lambda h: Template("host $h port $p").substitute(h=h, p=5432)))
aws.ec2.Instance("d", ami="ami-1", instance_type="t3.micro", user_data=db.address.apply(lambda h: "host %s\\n" % h))
aws.ec2.Instance("e", ami="ami-1", instance_type="t3.micro", user_data=pulumi.Output.concat("port ", db.port.apply(str)))
aws.ec2.Instance("f", ami="ami-1", instance_type="t3.micro", user_data=pulumi.Output.format("{h}:{p}", h=db.address, p=db.port))
aws.ec2.Instance("g", ami="ami-1", instance_type="t3.micro", user_data_base64=db.address.apply(lambda h: __import__("base64").b64encode(f"hello {h} and more".encode()).decode()))
''',
)
p(
    "hash",
    """
import hashlib
b = aws.s3.Bucket("b", bucket="b-" + hashlib.sha256(config.require("name").encode()).hexdigest()[:6])
aws.s3.BucketObject("o", bucket=b.id, key=b.arn.apply(lambda a: hashlib.sha256(a.encode()).hexdigest()))
""",
    expect="o (aws:s3/bucketObject:BucketObject): key: cannot be written",
)
p(
    "hashknown",
    """
import hashlib, ipaddress
name = config.require("name")
n = ipaddress.ip_network(config.require("cidr"))
b = aws.s3.Bucket("b", bucket="b-" + hashlib.sha256(name.encode()).hexdigest()[:6], tags={"n": name[:2], "up": name.upper(), "c": f"{name}-x"})
for i, s in enumerate(list(n.subnets(new_prefix=24))[:2]):
    aws.ec2.Subnet(f"s{i}", vpc_id="vpc-1", cidr_block=str(s))
if name == "web":
    aws.sqs.Queue(f"{name}-q", name=name)
""",
    "config: {aws:region: eu-west-1, own:name: web, own:cidr: 10.0.0.0/16}\n",
)
p(
    "secrets",
    """
s = config.require_secret_object("db")
lst = config.require_secret_object("keys")
aws.ssm.Parameter("p", type="SecureString", value=s["password"])
aws.ssm.Parameter("q", type="SecureString", value=lst[1])
aws.ssm.Parameter("r", type="SecureString", value=pulumi.Output.all(s["user"], s["password"]).apply(lambda a: json.dumps({"u": a[0], "p": a[1]})))
aws.ssm.Parameter("t", type="SecureString", value=pulumi.Output.secret(config.require("plainsecret")))
pulumi.export("u", config.get_secret("nothing"))
pulumi.export("n", config.require_secret_int("num"))
pulumi.export("b", config.get_secret_bool("flag"))
""",
    "encryptionsalt: v1:x:y\nconfig:\n  aws:region: eu-west-1\n  own:db: {user: bob, password: {secure: AAA}}\n  own:keys: [{secure: A1}, {secure: A2}]\n  own:plainsecret: {secure: BBB}\n  own:num: {secure: CC}\n  own:flag: {secure: DD}\n",
)
p(
    "names",
    """
a = aws.s3.Bucket("class"); b = aws.s3.Bucket("1-x"); c = aws.s3.Bucket("größe"); d = aws.sqs.Queue("aws"); e = aws.sqs.Queue("pulumi"); f = aws.sqs.Queue("json"); g = aws.sqs.Queue("config"); h = aws.sqs.Queue("text"); i = aws.sqs.Queue("a.b/c:d"); j = aws.s3.Bucket("aws"); k = aws.sqs.Queue("os"); l = aws.sqs.Queue("value"); m = aws.sqs.Queue("resources"); n = aws.sqs.Queue("range", name=l.name.apply(lambda x: x.split("-")[0]))
o = aws.sqs.Queue("gcp"); pp = aws.sqs.Queue("number"); q = aws.sqs.Queue("document", policy=json.dumps({"a": 1})); r = aws.sqs.Queue("secret"); s = aws.sqs.Queue("yaml"); t = aws.sqs.Queue("aws_bucket"); u = gcp.pubsub.Topic("known", name=s.name.apply(lambda x: x[1:-1]))
""",
)
p(
    "texts",
    """
q = aws.sqs.Queue("q")
aws.ssm.Parameter("a", type="String", value=q.name.apply(lambda n: f"line 1 'x' \\"y\\"\\r\\nline @q_name@ ${{x}} {{y}}\\n\\nüñ\\tend {n}\\n\\n\\n\\n"), opts=pulumi.ResourceOptions())
aws.sqs.Queue("b", tags={"a.b/c": "x'y", "k\\"": "back\\\\slash", "long": "word " * 40, "json": "{not json}", "num": "{}", "empty": "", "l": "[]", "b64": "aGVsbG8gd29ybGQgdGhpcyBpcyBhIHRlc3Q="}, policy=json.dumps({"a": 1.0, "b": [1e10, None, True, "é"], "c": {"d": q.name if False else "x"}}, ensure_ascii=False))
aws.sqs.Queue("c", policy=q.arn.apply(lambda a: json.dumps({"arn": a, "nested": json.dumps({"x": a, "n": 1})}, indent=2)))
aws.sqs.Queue("d", policy="{\\n  \\"a\\":   1 }", tags={"multi": "a\\nb\\nc\\nd\\ne\\nf"})
""",
)
p(
    "invokes",
    """
vpc = aws.ec2.Vpc("v", cidr_block="10.0.0.0/16")
z = aws.get_availability_zones(state="available")
for i in range(2):
    aws.ec2.Subnet(f"s{i}", vpc_id=vpc.id, cidr_block=f"10.0.{i}.0/24", availability_zone=z.names[i])
r = aws.get_region()
subs = aws.ec2.get_subnets_output(filters=[aws.ec2.GetSubnetsFilterArgs(name="vpc-id", values=[vpc.id])])
aws.sqs.Queue("q", tags={"first": subs.ids[0], "region": r.name, "acct": aws.get_caller_identity().account_id})
doc = aws.iam.get_policy_document(statements=[{"actions": ["s3:*"], "resources": ["*"]}])
aws.iam.Policy("p", policy=doc.json)
ami = aws.ec2.get_ami_output(most_recent=True, owners=["amazon"], filters=[{"name": "name", "values": ["x*"]}], opts=pulumi.InvokeOptions(parent=vpc))
aws.ec2.Instance("i", ami=ami.id, instance_type="t3.micro", tags={"desc": ami.description.apply(lambda d: d.lower().replace(" ", "-"))})
""",
)
p(
    "resourceinput",
    """
api = aws.apigateway.RestApi("api")
res = aws.apigateway.Resource("res", rest_api=api.id, parent_id=api.root_resource_id, path_part="x")
dep = aws.apigateway.Deployment("d", rest_api=api, triggers={"v": "1"}, opts=pulumi.ResourceOptions(depends_on=[res]))
fn = aws.lambda_.Function("fn", runtime=aws.lambda_.Runtime.PYTHON3D12, handler="a.b", role="arn:aws:iam::1:role/x", code=pulumi.FileArchive("./app"))
aws.lambda_.Permission("perm", action="lambda:InvokeFunction", function=fn, principal="apigateway.amazonaws.com", source_arn=pulumi.Output.concat(api.execution_arn, "/*/*"))
aws.lambda_.Function("fn2", runtime="python3.12", handler="a.b", role="arn:aws:iam::1:role/x", code=pulumi.AssetArchive({".": pulumi.FileArchive("./app"), "cfg.json": pulumi.StringAsset(json.dumps({"a": 1}))}))
aws.s3.BucketObject("ro", bucket="b", source=pulumi.RemoteAsset("https://example.com/x.txt"))
""",
    extra={"app/a.py": "def b(e,c): pass\n"},
)
p(
    "decides",
    """
if os.environ.get("EXTRA"):
    aws.s3.Bucket("extra")
a = aws.s3.Bucket("a", tags={"env": os.environ.get("USER_X", "none")})
""",
)
p(
    "applyresource",
    """
a = aws.s3.Bucket("a")
def make(n):
    aws.s3.Bucket("inner", tags={"of": n})
a.id.apply(make)
""",
)
p(
    "loopunknown",
    """
v = aws.ec2.Vpc("v", cidr_block="10.0.0.0/16", assign_generated_ipv6_cidr_block=True)
e = aws.efs.FileSystem("e")
c = aws.acm.Certificate("c", domain_name="x.com", validation_method="DNS")
o = c.domain_validation_options[0]
rec = aws.route53.Record("r", zone_id="Z", name=o.resource_record_name, type=o.resource_record_type, records=[o.resource_record_value], ttl=60)
aws.acm.CertificateValidation("cv", certificate_arn=c.arn, validation_record_fqdns=[rec.fqdn])
aws.sqs.Queue("q", tags={"list": c.domain_validation_options.apply(lambda os: ",".join(x.domain_name for x in os))})
""",
    expect="tags.list: cannot be written",
)
p(
    "many",
    """
prev = None
for i in range(300):
    prev = aws.sqs.Queue(f"q{i}", tags={"prev": prev.arn if prev else "none"})
""",
)
p(
    "get",
    """
z = aws.route53.get_zone(name="example.com")
lb = aws.lb.LoadBalancer("lb", subnets=["a", "b"])
aws.route53.Record("r", zone_id=z.zone_id, name="x", type="A", aliases=[{"name": lb.dns_name, "zone_id": lb.zone_id, "evaluate_target_health": True}])
r = aws.iam.Role.get("old", id="old-role")
aws.iam.RolePolicyAttachment("att", role=r.name, policy_arn=aws.iam.ManagedPolicy.AMAZON_S3_FULL_ACCESS)
aws.lb.Listener("l", load_balancer_arn=lb.arn, port=80, default_actions=[aws.lb.ListenerDefaultActionArgs(type="redirect", redirect=aws.lb.ListenerDefaultActionRedirectArgs(port="443", protocol="HTTPS", status_code="HTTP_301"))])
""",
)
p(
    "zones",
    """
z = aws.get_availability_zones(state="available")
v = aws.ec2.Vpc("v", cidr_block="10.0.0.0/16")
for i, n in enumerate(z.names[:2]):
    aws.ec2.Subnet(f"s-{n}", vpc_id=v.id, cidr_block=f"10.0.{i}.0/24", availability_zone=n)
aws.sqs.Queue(f"q-{aws.get_region().region}")
""",
)
p(
    "namedbyconfig",
    """
n = config.require("name")
aws.sqs.Queue(f"{n}-q", name=n, tags={n: n})
class C(pulumi.ComponentResource):
    def __init__(s, m):
        super().__init__("x:y:C", m)
        aws.s3.Bucket(f"{m}-b", opts=pulumi.ResourceOptions(parent=s))
C(n)
net = pulumi.StackReference(f"{n}/base/dev")
b = aws.s3.Bucket("b")
aws.sqs.Queue("z", name=net.get_output("z"), tags={"v": aws.ec2.Vpc.get("x", n).cidr_block, "w": aws.ec2.Vpc.get("y", b.id).cidr_block})
""",
)
for name, program in (
    ("random", 'import uuid\naws.sqs.Queue(f"q-{uuid.uuid4()}")\naws.sqs.Queue("other")'),
    ("byoutput", 'b = aws.s3.Bucket("b")\nb.id.apply(lambda i: aws.sqs.Queue(f"q-{i}"))'),
):
    p(
        name,
        program,
        expect="a resource of the type aws:sqs/queue:Queue: has a name that is known only after deployment",
    )
p(
    "inclear",
    """
o = config.require_object("obj")
pw = config.require_secret("pw")
aws.sqs.Queue("q", tags={"k": o["k"], "x": pulumi.Output.unsecret(pw), "y": pulumi.Output.concat("a", pulumi.Output.unsecret(pw)), "s": pw})
""",
    "encryptionsalt: v1:x:y\nconfig: {aws:region: eu-west-1, own:pw: {secure: A}, own:obj: {k: v, z: {secure: Q}}}\n",
)
p(
    "insidefiles",
    """
aws.lambda_.Function("f", role="r", runtime="python3.12", handler="a.b", code=pulumi.FileArchive(os.path.join(os.path.dirname(__file__), "fn")))
b = aws.s3.Bucket("b")
aws.sqs.Queue("q", name=b.id.apply(str.upper))
""",
    extra={"fn/a.py": "1"},
)
p(
    "metadata",
    """
o = pulumi.ResourceOptions(provider=k8s.Provider("k", context="x"))
m = k8s.core.v1.ConfigMap("cm", metadata={"labels": {"app": "x"}}, opts=o)
k8s.core.v1.Pod("p", spec={"containers": [{"name": m.metadata["name"], "image": m.metadata.name}]}, metadata={"namespace": m.metadata["namespace"], "labels": m.metadata["labels"]}, opts=o)
""",
)
p(
    "irsa",
    """
c = aws.eks.Cluster("c", role_arn="r", vpc_config={"subnet_ids": ["a"]})
url = c.identities[0].oidcs[0].issuer
o = aws.iam.OpenIdConnectProvider("o", url=url, client_id_lists=["sts.amazonaws.com"], thumbprint_lists=["x"])
aws.iam.Role("r", assume_role_policy=pulumi.Output.all(o.arn, url.apply(lambda u: u.replace("https://", ""))).apply(lambda a: json.dumps({"Statement": [{"Principal": {"Federated": a[0]}, "Condition": {"StringEquals": {f"{a[1]}:sub": "x", f"{a[1]}:aud": "sts"}}}]})))
aws.sqs.Queue("q", delay_seconds=pulumi.StackReference("a/b/c").get_output("n").apply(int), opts=pulumi.ResourceOptions(plugin_download_url="https://example.com"))
""",
)
p(
    "providers",
    """
g = gcp.Provider("g", project="p", default_labels={"a": "b"}, batching={"enable_batching": True})
w = aws.Provider("w", region="eu-west-1", endpoints=[{"s3": "http://l"}], allowed_account_ids=["1"], assume_roles=[aws.ProviderAssumeRoleArgs(role_arn=config.require_secret("arn"))])
gcp.storage.Bucket("b", location="EU", opts=pulumi.ResourceOptions(provider=g))
aws.s3.Bucket("bb", opts=pulumi.ResourceOptions(provider=w))
""",
    "encryptionsalt: v1:x:y\nconfig: {own:arn: {secure: A}}\n",
)

p(
    "component in a module",
    """
from lib.net import Net
Net("a")
""",
    extra={
        "lib/net.py": "import pulumi\nimport pulumi_aws as aws\nclass Net(pulumi.ComponentResource):\n    def __init__(self, name):\n"
        "        super().__init__('x:y:Net', name)\n        self.v = aws.ec2.Vpc(name, cidr_block='10.0.0.0/16', opts=pulumi.ResourceOptions(parent=self))\n",
    },
)
p(
    "chance",
    'import uuid\naws.sqs.Queue("q", tags={"u": str(uuid.uuid4())})',
    expect="tags.u: cannot be written: it is another value each time that the program runs",
)
p(
    "ofbytes",
    'import hashlib\nb = aws.s3.Bucket("b")\naws.sqs.Queue("q", name=b.id.apply(lambda v: hashlib.sha256(v.encode()).hexdigest()))',
    expect="name: cannot be written: the program does with it what needs the value itself",
)
p(
    "organization",
    'aws.sqs.Queue(f"{pulumi.get_organization()}-q")',
    expect="asks for the organization of the stack\n  fix: name it: sizewell leave ORG/own/dev",
)
