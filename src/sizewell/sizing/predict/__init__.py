"""Predictions of memory and time, their fitted constants, and the layouts that they are asked about."""
