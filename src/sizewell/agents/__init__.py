"""`sizewell mcp`: the read-only commands as typed tools of an agent, over the Model Context Protocol.

A tool is a command line (`tools.py`), run in a process of its own by the command's own entry (`calls.py`), its JSON cut
to what an agent reads (`fitting.py`). Nothing of a project is written: what a change would be is tried on a copy
(`projects.py`). The SDK is imported by `server.py` alone.
"""
