"""Components for Nimbus."""
