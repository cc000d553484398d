"""Policies on standard input, parliament's findings on standard output: run by the scanners' own Python."""

import json
import sys
import warnings

warnings.simplefilter("ignore")

import parliament  # noqa: E402  (it warns of setuptools as it is loaded)


def main() -> None:
    found = {}
    for name, text in json.load(sys.stdin).items():
        analysed = parliament.analyze_policy_string(text)
        found[name] = [[one.issue, json.dumps(one.detail, default=str)] for one in analysed.findings]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
