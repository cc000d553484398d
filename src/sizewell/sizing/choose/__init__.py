"""From requirements to a decision: candidates, fleets, prices, the choice and its explanation."""
