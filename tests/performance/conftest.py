"""Machines that run the tests are shared and slow at times: no example has a deadline."""

from hypothesis import settings

settings.register_profile("performance", deadline=None, max_examples=60)
settings.load_profile("performance")
