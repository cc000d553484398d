"""What can be asked of a cloud before a stack is built there: `sizewell doctor STACK --cloud`.

`needs.py` derives what a stack needs from its decision and its resources; one file per cloud asks; `findings.py` says
what an answer, or none, means. Everything is read; nothing is created, enabled or changed.
"""
