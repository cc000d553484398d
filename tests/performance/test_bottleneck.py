"""What is named as the limit is what most of the time goes into."""

from __future__ import annotations

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.predict.performance.serving import serving
from sizewell.sizing.predict.performance.serving_replica import replica
from sizewell.sizing.records.jobs import Cluster, ServingJob

H100 = Cluster(accelerator=load().accelerator("h100-sxm"), per_node=1, nodes=1, scale_up=1)


@pytest.mark.parametrize(("prompt", "answer"), [(500, 500), (4000, 100), (8000, 50), (16000, 200), (30000, 40)])
@pytest.mark.parametrize("batch", [1, 8, 20])
def test_a_batch_is_limited_by_prompts_where_they_take_most_of_its_time(prompt, answer, batch):
    """Prompts first, then answers: a cache that is most of a short answer does not hide the long prompts before it."""
    job = ServingJob(architecture=load().model("meta-llama/Llama-3.1-8B"), input_tokens=prompt, output_tokens=answer)
    estimate = serving(job, H100, batch=batch)
    r = replica(job, H100, tensor=1)
    prompts_s, answers_s = batch * r.prompt_s(prompt), answer * r.decode_s(batch, prompt + answer / 2)
    if prompts_s > 0.55 * (prompts_s + answers_s):
        assert estimate.bottleneck == "prefill compute"
    if prompts_s < 0.1 * (prompts_s + answers_s):
        assert estimate.bottleneck != "prefill compute"
