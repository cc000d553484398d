"""Sixty programs of careful teams, written before the rules were run on them: nothing in them is a weakness."""
