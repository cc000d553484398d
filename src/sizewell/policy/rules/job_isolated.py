from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation, require
from sizewell.resources.recorded import Inapplicable, Unknown
from sizewell.resources.stackfacts import Job


def job_isolated(job: Job, _: Parameters) -> Verdict:
    """A training job runs without internet access, with a customer-managed key.

    >>> from sizewell.policy.examples import job
    >>> job_isolated(job(own_key=True), {}).fix
    'set enableNetworkIsolation to true'
    """
    if isinstance(job.isolated, Unknown):
        return Undetermined("the network isolation")
    if not isinstance(job.isolated, Inapplicable) and not job.isolated:
        message = "without network isolation code in the training container can send data anywhere"
        return Violation(message, "set enableNetworkIsolation to true")
    return require(
        job.own_key,
        message="the job's volumes are not encrypted with a customer-managed key",
        fix="set resourceConfig.volumeKmsKeyId",
        unknown="the volume key",
    )


RULE = Rule(
    id="job-isolated",
    area="safety",
    subject="jobs",
    prevents="training data that is exfiltrated",
    judge=job_isolated,
    level="advisory",
    clouds=("aws",),
    types=("aws:sagemaker/trainingJob:TrainingJob", "aws:sagemaker/pipeline:Pipeline"),
)
