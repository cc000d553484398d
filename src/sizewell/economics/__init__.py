"""Rent, commit, buy or call an API: what each way to pay for the work of one spec costs over some months. Pure."""
