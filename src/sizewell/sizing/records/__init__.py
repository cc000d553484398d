"""Records that pass between rooms: money, jobs, the decision, a component's registration. No arithmetic of sizing."""
