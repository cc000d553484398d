"""Fits of the constants to published cases; each is a command of its own and what `validate --left-out` refits by."""
