"""What teardown reads and moves on Nimbus, and what its types are."""
