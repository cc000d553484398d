"""Every component of a cloud, found in the modules themselves: nobody keeps a list."""

import importlib
import inspect
import pkgutil

from sizewell import components
from sizewell.components.owned import Owned


def clouds() -> tuple[str, ...]:
    """Folders of components: those of a cloud, and those of any Kubernetes cluster.

    >>> clouds()
    ('aws', 'azure', 'gcp', 'kubernetes')
    """
    return tuple(sorted(module.name for module in pkgutil.iter_modules(components.__path__) if module.ispkg))


def component_classes(cloud: str) -> tuple[type[Owned], ...]:
    """The components of one cloud, by name."""
    package = importlib.import_module(f"sizewell.components.{cloud}")
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    classes = [
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Owned) and value.__module__ == module.__name__
    ]
    return tuple(sorted(classes, key=lambda component: component.__name__))


def args_type(component: type[Owned]) -> type:
    """The TypedDict of a component's arguments."""
    annotation = inspect.signature(component).parameters["args"].annotation
    if not isinstance(annotation, type):
        raise TypeError(f"{component.__module__}.{component.__name__}: args must be annotated with a TypedDict")
    return annotation
