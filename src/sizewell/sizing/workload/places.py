"""Where in a spec's text a key or a value stands, so that every fault has its line and column."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from sizewell.sizing import places
from sizewell.sizing.workload.text import SpecLoader

if TYPE_CHECKING:
    from sizewell.sizing.errors import Fault


def placed(faults: list[Fault], text: str) -> list[Fault]:
    """The faults in the order of the text, each with the line and column of what is wrong; see `sizing.places`."""
    stand = dict(_places(text))
    plain = {_lower(path): place for path, place in stand.items()}
    for path in (fault.path for fault in faults):  # of a key in capitals, which is read as in small letters
        if path not in stand and _lower(path) in plain:
            stand[path] = plain[_lower(path)]
    return places.placed(faults, stand)


def _lower(path: str) -> str:
    return re.sub(r"[ _-]", "", path).lower()


def _places(text: str) -> places.Places:
    loader = SpecLoader(text)
    try:
        node = loader.get_single_node()
    except yaml.YAMLError:  # its own fault says where
        return {}
    finally:
        loader.dispose()
    return {} if node is None else dict(places.walk(node))
