"""What teardown reads and moves on AWS, and what its types are."""
