"""Files that describe a workload for other tools, read for `sizewell import`.

`recognise.py` says whose a file is, `draft.py` is what each reader makes of one, `command.py` reads what is run.
"""
