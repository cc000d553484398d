"""What teardown reads and moves on Google Cloud, and what its types are."""
