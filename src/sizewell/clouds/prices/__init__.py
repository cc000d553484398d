"""Readers of the sellers' own price interfaces: each gives `Listed` rows, unchecked; `sizing.catalog.refresh` accepts.

One file for each seller. Nothing here decides what a price is worth: a row keeps the text that was sent.
"""
