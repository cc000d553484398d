"""How good the predictions are: published cases, predicted by the same functions that size, and the error by group.

`validate(paths)` is the command `sizewell validate`; without paths it grades the cases that the project carries.
"""

from sizewell.accuracy.report import Report, Row, Table, validate

__all__ = ["Report", "Row", "Table", "validate"]
