"""Plain programs, 300 with a weakness and those without it, written before a rule was looked at."""
