// An embedding service: GPU machines on working days, and the database that holds what they make.
import * as aws from "@pulumi/aws";

const subnets = ["subnet-0a1", "subnet-0b2"];
const tags = { owner: "search", environment: "prod" };

const inside = new aws.ec2.SecurityGroup("inside", {
    vpcId: "vpc-0aa",
    ingress: [{ protocol: "tcp", fromPort: 8080, toPort: 8080, cidrBlocks: ["10.0.0.0/8"] }],
    tags,
});

const template = new aws.ec2.LaunchTemplate("embedder", {
    imageId: "ami-0f3c9c466bb525749",
    instanceType: "g6.2xlarge",
    vpcSecurityGroupIds: [inside.id],
    metadataOptions: { httpTokens: "required", httpPutResponseHopLimit: 1 },
    blockDeviceMappings: [{ deviceName: "/dev/sda1", ebs: { volumeSize: 100, volumeType: "gp3", encrypted: "true" } }],
    tags,
});

const group = new aws.autoscaling.Group("embedders", {
    minSize: 0,
    maxSize: 2,
    vpcZoneIdentifiers: subnets,
    launchTemplate: { id: template.id, version: "$Latest" },
    tags: Object.entries(tags).map(([key, value]) => ({ key, value, propagateAtLaunch: true })),
});

new aws.autoscaling.Schedule("morning", {
    scheduledActionName: "morning",
    autoscalingGroupName: group.name,
    recurrence: "0 7 * * MON-FRI",
    minSize: 1,
    maxSize: 2,
    desiredCapacity: 1,
});

new aws.autoscaling.Schedule("evening", {
    scheduledActionName: "evening",
    autoscalingGroupName: group.name,
    recurrence: "0 19 * * *",
    minSize: 0,
    maxSize: 2,
    desiredCapacity: 0,
});

const vectors = new aws.ebs.Volume("vectors", { availabilityZone: "us-east-1a", size: 500, type: "gp3", encrypted: true, tags });

export const groupName = group.name;
export const volume = vectors.id;
