"""What becomes a line item, in which unit, at which price."""
