"""How good the predictions are: published cases, predicted by the same functions that size, and the error by group."""
