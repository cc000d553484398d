"""Can it be had now? What the clouds say of their stock: `sizewell stock`, `size --in-stock`, `doctor --cloud`.

Start at `rows.py`, what an answer is, then `asking.py`, which asks; one file per cloud has its questions and what their
answers mean. Everything is read. What a cloud says nothing of is "unknown", with the reason: never "available".
"""
