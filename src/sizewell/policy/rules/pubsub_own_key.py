from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import StackFacts

_NOTICES: Final = (
    ("gcp:monitoring/notificationChannel:NotificationChannel", "labels"),
    ("gcp:billing/budget:Budget", "allUpdatesRule"),
)


def pubsub_own_key(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Pub/Sub topics use a customer-managed key, except those that carry only alerts and budget notices.

    >>> from sizewell.policy.examples import resource, stack
    >>> pubsub_own_key(stack(resource("gcp:pubsub/topic:Topic", "prompts")), {})[0][1].fix
    'set kmsKeyName'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for topic in facts.graph.of("gcp:pubsub/topic:Topic"):
        if topic.inputs.get("kmsKeyName") is not None:
            verdicts.append((topic.urn, None))
            continue
        senders = [facts.graph.referring(topic, kind, prop) for kind, prop in _NOTICES]
        if any(not isinstance(sender, Unknown) and sender for sender in senders):
            verdicts.append((topic.urn, None))
        elif any(isinstance(sender, Unknown) for sender in senders):
            verdicts.append((topic.urn, Undetermined("the messages sent to the topic")))
        else:
            message = "its messages are not encrypted with a customer-managed key"
            verdicts.append((topic.urn, Violation(message, "set kmsKeyName")))
    return verdicts


RULE = Rule(
    id="pubsub-own-key",
    area="safety",
    subject="stack",
    prevents="messages readable at rest",
    judge=pubsub_own_key,
    level="advisory",
    clouds=("gcp",),
)
