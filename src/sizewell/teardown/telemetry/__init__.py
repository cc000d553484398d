"""What the clouds say of a pool: the machines that they count, and what each accelerator of them did.

One file for each source; each asks through `clouds/`, which only reads. Start at `observation.py`.
"""
