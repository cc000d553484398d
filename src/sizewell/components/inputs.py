"""Values that a preview knows where it can, and that the cloud tells where it must."""

from collections.abc import Callable
from typing import TypeVar

import pulumi

T = TypeVar("T")


def derive(make: Callable[..., T], *values: pulumi.Input[str]) -> T | pulumi.Output[T]:
    """`make` of the values: at once where all are plain strings, so that a preview knows it, else once they are known.

    >>> derive("{}/{}".format, "a", "b")
    'a/b'
    """
    if all(isinstance(value, str) for value in values):
        return make(*values)
    return pulumi.Output.all(*values).apply(lambda known: make(*known))
