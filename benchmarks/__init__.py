"""Whole-process and in-process measurements; `make bench` runs them all and prints medians and ratios."""
