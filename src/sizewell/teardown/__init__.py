"""Whether a pool or a stack is idle, empty or past its end, and what becomes of it then.

`decide` is pure: facts and samples in, verdicts out, at a time that the caller names. Nothing here stops anything.
"""
