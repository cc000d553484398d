"""Whatever stops machines by itself has somebody who hears when it fails: in every form that is written down."""

import re
from pathlib import Path

import pytest
from golden_files import whole

HERE = Path(__file__).parent

# By cloud: what acts, and the words of what tells of its failure.
HEARD = {
    "aws": {
        r"^aws:ssm/document:Document(?=(.|\n)*documentType: Automation)": "EC2 Automation Execution Status-change",
        r"^aws:scheduler/schedule:Schedule": "deadLetterConfig",
    },
    "azure": {
        r"^azure-native:logic:Workflow": "metricName: RunsFailed",
        r"^azure-native:monitor:AutoscaleSetting": "^azure-native:monitor:ActivityLogAlert(.|\n)*equals: Failed",
    },
    "gcp": {
        r"^gcp:cloudscheduler/job:Job": "cloudscheduler.googleapis.com/job/attempt_count",
        r"^gcp:workflows/workflow:Workflow": "workflows.googleapis.com/finished_execution_count",
    },
}
# A run of training is no stop: who started it waits for its answer.
STARTED_BY_HAND = ("vertex-training",)


@pytest.mark.parametrize("cloud", HEARD)
def test_every_automation_has_somebody_who_hears_of_its_failure(cloud):
    seen, unheard = set(), []
    for path in sorted((HERE / cloud / "goldens").glob("*.txt")):
        text = whole(path)
        for acts, tells in HEARD[cloud].items():
            if re.search(acts, text, re.MULTILINE) and not path.stem.startswith(STARTED_BY_HAND):
                seen.add(acts)
                if not re.search(tells, text, re.MULTILINE):
                    unheard.append(f"{path.stem}: {acts}")
    assert unheard == []
    assert seen == set(HEARD[cloud])
