"""What teardown reads and moves on Azure, and what its types are."""
