"""A fleet of serving replicas, simulated request by request: what arrives, in what order it is served, what each waits.

`simulate` runs the requests of `requests` over equal replicas; the step times are those of `predict.performance`.
"""
