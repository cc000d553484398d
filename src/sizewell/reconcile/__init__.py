"""Resources that a cloud has and a stack's state has not: matched with the stack's own, adopted or deleted.

Few need it, so nothing else of the package loads it: it stands above `teardown`, whose clients, locks and acts it uses.
"""
