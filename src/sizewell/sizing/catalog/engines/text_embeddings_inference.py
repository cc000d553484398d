"""Text Embeddings Inference: embeddings, rerankers and classifiers of text; what serves them without an accelerator."""

from sizewell.sizing.catalog.engine import Build, Flag, InferenceEngine

REPOSITORY = "ghcr.io/huggingface/text-embeddings-inference"

ENGINE = InferenceEngine(
    name="text-embeddings-inference",
    images={"cpu": REPOSITORY, "cuda": REPOSITORY},
    tags={"cpu": r"cpu-.*", "cuda": r"(?!cpu-).*"},
    families=frozenset({"encoder"}),
    default_for=frozenset(),
    default_on_cpu=frozenset({"encoder"}),
    command=("text-embeddings-router",),
    fixed=(),
    flags={
        "model": Flag(name="--model-id"),
        "host": Flag(name="--hostname"),
        "port": Flag(name="--port"),
    },
    env={"HUGGINGFACE_HUB_CACHE": "{cache}/huggingface/hub"},
    ready="/health",
    protocol="openai",
    # Seconds of requests in a second: its gauge counts the queue alone, and not what is computed.
    in_flight="sum(irate(te_request_duration_sum{{{0}}}[3m]))",
    hub=True,
    reads=frozenset({"hub"}),
    # README.md, "Docker Images", and compute_cap_matching of backends/candle/src/compute_cap.rs
    builds=(
        Build("turing", 75, 75),
        Build("", 80, 89),
        Build("86", 86, 89),
        Build("89", 89, 89),
        Build("hopper", 90, 90),
        Build("100", 100, 100, since="1.9"),
        Build("120", 120, 121, since="1.9"),
        Build("cuda", 75, 90),  # Dockerfile-cuda-all: one binary for each generation
        Build("cuda", 100, 100, since="1.9"),
        Build("cuda", 120, 121, since="1.9"),
    ),
    nodes_max=1,
    at_load=frozenset(),
    predicted_as="text-embeddings-inference",
    image_example=f"{REPOSITORY}:cpu-1.8",
    model_example="a name on the Hub, or a folder",
    types_read=True,
    onnx_on=frozenset({"cpu"}),  # backends/src/lib.rs: its images for processors are built with ONNX Runtime
    package="text-embeddings-inference",
    # the histogram te_request_duration is recorded by record_metrics of router/src/lib.rs, in seconds
    source="github.com/huggingface/text-embeddings-inference v1.9.3: README.md and router/src",
    checked="2026-11-22",
)
