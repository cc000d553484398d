"""No path leads from a user to a chart of a version that we do not know, but for the one that a user packs.

AWS publishes HyperPod's chart in a git repository alone, so whoever uses it packs it and names it (docs/howto/managed-or-own.md).
On a cluster that is there already the versions of the definitions that are served are read (tests/components/test_launching.py).
"""

import ast
from pathlib import Path

from sizewell.components import configured
from sizewell.components.aws.hyperpod import program as hyperpod
from sizewell.components.azure.aks import charts as aks_charts

COMPONENTS = Path(configured.__file__).parent
PACKED_BY_A_USER = "aws/hyperpod/agents.py"


def releases():
    """(file, expression of `version`, expressions that it is taken from) of every Helm release that a component makes."""
    for path in sorted(COMPONENTS.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and any(
                    ast.unparse(one).endswith("helm.v3.Release") for one in call.args
                ):
                    stated = [word.value for word in call.keywords if word.arg == "version" or fixed(word)]
                    yield path.relative_to(COMPONENTS).as_posix(), stated, sources(function, stated)


def fixed(word):
    """Whether it is `**chart()` of a function without arguments: what it says nobody else does."""
    return word.arg is None and isinstance(word.value, ast.Call) and not (word.value.args or word.value.keywords)


def sources(function, expressions):
    """What the names in the expressions are assigned from in the function, as text."""
    names = {node.id for one in expressions for node in ast.walk(one) if isinstance(node, ast.Name)}
    texts = [ast.unparse(one) for one in expressions]
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.For)) and any(
            isinstance(part, ast.Name) and part.id in names for target in targets if target for part in ast.walk(target)
        ):
            texts.append(ast.unparse(node.iter if isinstance(node, ast.For) else node.value))
    return texts


def test_every_release_has_a_version_of_ours():
    found = list(releases())
    assert {path for path, _, _ in found} >= {"kubernetes/operators.py", "aws/eks/autoscaler.py", PACKED_BY_A_USER}
    for path, stated, texts in found:
        if path == PACKED_BY_A_USER:
            continue
        assert stated, f"{path}: a release without a version is whatever the repository has today"
        assert not any("args" in text and "version" in text for text in texts), f"{path}: {texts}"


def test_the_chart_of_lustre_s_driver_has_its_version():
    assert aks_charts.lustre_chart()["version"]


def test_no_key_of_the_configuration_names_a_version_of_a_chart():
    named = [key for key in configured.KEYS if "version" in key.lower() or "chart" in key.lower()]
    assert named == ["kubernetesVersion"], "of the clusters themselves"
    assert "version" in hyperpod.HYPERPOD_KEYS, "of the chart that a user packs"
