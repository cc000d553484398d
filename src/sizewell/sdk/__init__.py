"""What Sizewell uses of Pulumi's Python SDK beyond its public names: nothing else in the package touches it.

The SDK promises nothing of these names, and has a release each week. So they stand here alone, the version range in
pyproject.toml ends where nobody has tried them, and `tests/recording/test_sdk_contract.py` says of each what is relied
on: against the installed SDK in `make test`, against the three newest releases in `make sdk`.
"""
