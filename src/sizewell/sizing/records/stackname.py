"""What the name and the configuration of a stack say: whose decision it follows, and which environment it is."""

from __future__ import annotations

import re
from typing import Final

ENVIRONMENTS: Final = ("dev", "staging", "prod")
UNSTATED: Final = "dev"  # what a stack is sized for whose name and configuration name no environment
ENVIRONMENT_KEY: Final = "sizewell:environment"  # in the stack's configuration
_WORDS: Final = {
    **dict.fromkeys(("dev", "devel", "develop", "development"), "dev"),
    **dict.fromkeys(("staging", "stage", "stg", "preprod", "preproduction"), "staging"),
    **dict.fromkeys(("prod", "production", "prd"), "prod"),
}
_AROUND: Final = ("checkpoints-", "images-", "ttl-")  # stacks of their own beside a cluster's


def cluster_of(stack: str) -> str:
    """The stack whose decision a stack follows: checkpoints, images and the hard end stand in stacks of their own.

    >>> cluster_of("checkpoints-dev-aws"), cluster_of("ttl-dev-aws"), cluster_of("dev-aws")
    ('dev-aws', 'dev-aws', 'dev-aws')
    """
    name = stack.rpartition("/")[2]
    return next((name[len(prefix) :] for prefix in _AROUND if name.startswith(prefix)), name)


def environment_of(stack: str, stated: str = "") -> str:
    """dev, staging or prod: what the stack's configuration states, else the first word of its name that means one.

    "" where neither says. A name says it in whole words, wherever they stand: `product-search` is no production.

    >>> environment_of("production-aws"), environment_of("aws-prod"), environment_of("checkpoints-prod2-aws")
    ('prod', 'prod', 'prod')
    >>> environment_of("main"), environment_of("product-search"), environment_of("main", "Production")
    ('', '', 'prod')
    """
    if stated:
        return normal_environment(stated)
    words = (word.rstrip("0123456789") for word in re.split(r"[^a-z0-9]+", cluster_of(stack).lower()))
    return next((_WORDS[word] for word in words if word in _WORDS), "")


def normal_environment(stated: str) -> str:
    """One of dev, staging and prod where a word means one of them, else the word itself in lower case.

    >>> normal_environment("Production"), normal_environment("development"), normal_environment("QA")
    ('prod', 'dev', 'qa')
    """
    lower = stated.strip().lower()
    return _WORDS.get(lower, lower)
