"""An acceptance run in an account of one's own, and the record that it ends in.

Stages, in order, each with an outcome in the journal before the next begins (`journal.py`):

    rights -> up -> reachable -> guard -> destroyed -> inventory

`up` is written down before the engine starts; from then on the way leads through `destroyed` and `inventory`, whatever
fails or is killed (`run.py`). What acts and asks is a `World` (`world.py`): the engine and the cloud, or a test's. The
record (`record.py`) has an allowed form for every value and no free text, so no name or number of an account fits in.
"""
