from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Job


def job_without_maximum_time(job: Job, parameters: Parameters) -> Verdict:
    """A job ends by itself when it hangs.

    >>> from sizewell.policy.examples import job
    >>> job_without_maximum_time(job(accelerated=True), {"hours": 168}).fix
    'set a maximum run time'
    >>> job_without_maximum_time(job(accelerated=True, run_seconds_max=3600), {"hours": 168}) is None
    True
    """
    if job.accelerated is False:
        return None
    if isinstance(job.run_seconds_max, Unknown):
        return Undetermined("the maximum run time")
    if job.run_seconds_max is None:
        return Violation(
            "without a maximum run time a hanging job is billed until somebody notices", "set a maximum run time"
        )
    if job.run_seconds_max > parameters["hours"] * 3600:
        message = f"it may run for {job.run_seconds_max / 3600:g} h before it is stopped, limit {parameters['hours']}"
        return Violation(message, "lower the maximum run time")
    return None


RULE = Rule(
    id="job-without-maximum-time",
    area="spend",
    subject="jobs",
    prevents="hanging jobs that are billed indefinitely",
    judge=job_without_maximum_time,
    clouds=("aws", "gcp", "azure", "kubernetes"),
    parameters={
        "hours": Parameter(default=168, schema={"type": "number", "minimum": 0}, meaning="longest maximum run time")
    },
)
