"""NVIDIA Triton: vision and diffusion models, from a repository of models."""

from sizewell.sizing.catalog.engine import Flag, InferenceEngine

ENGINE = InferenceEngine(
    name="triton",
    images={"cuda": "nvcr.io/nvidia/tritonserver", "cpu": "nvcr.io/nvidia/tritonserver"},  # the same: "Run on CPU only"
    families=frozenset({"decoder", "encoder", "speech", "vision", "diffusion"}),  # what its repository holds
    default_for=frozenset({"vision", "diffusion"}),
    default_on_cpu=frozenset({"vision"}),
    command=("tritonserver",),
    fixed=("--grpc-port", "8001", "--metrics-port", "8002"),
    flags={"model": Flag(name="--model-repository"), "port": Flag(name="--http-port")},
    env={},
    ready="/v2/health/ready",
    # not ready while one of its models is not, which a restart of all of them does not mend
    alive="/v2/health/live",  # github.com/triton-inference-server/server, docs/protocol: health and readiness of v2
    protocol="kserve-v2",
    # Seconds of requests in a second, between the last two looks: Prometheus' chart looks once a minute, and a rate of
    # the whole window has too little of a replica that has just begun.
    in_flight="sum(irate(nv_inference_request_duration_us{{{0}}}[3m])) / 1e6",
    hub=False,
    reads=frozenset({"s3", "gs", "as"}),  # docs/user_guide/model_repository.md: as:// is Azure's
    nodes_max=1,
    at_load=frozenset(),
    predicted_as="compiled",
    image_example="nvcr.io/nvidia/tritonserver:25.10-py3",
    model_example="s3://bucket/models",
    package="triton",  # releases are named by the month of their image, as 25.10
    source="github.com/triton-inference-server/server: src/command_line_parser.cc and docs/ of r25.10",
    checked="2026-11-22",
)
