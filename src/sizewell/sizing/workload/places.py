"""Where in a spec's text a key or a value stands, so that every fault has its line and column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from sizewell.sizing import places
from sizewell.sizing.workload.text import SpecLoader

if TYPE_CHECKING:
    from sizewell.sizing.errors import Fault


def placed(faults: list[Fault], text: str) -> list[Fault]:
    """The faults in the order of the text, each with the line and column of what is wrong; see `sizing.places`."""
    return places.placed(faults, _places(text))


def _places(text: str) -> places.Places:
    loader = SpecLoader(text)
    try:
        node = loader.get_single_node()
    except yaml.YAMLError:  # its own fault says where
        return {}
    finally:
        loader.dispose()
    return {} if node is None else dict(places.walk(node))
