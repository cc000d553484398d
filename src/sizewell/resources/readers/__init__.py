"""From recorded resources to facts, one module per kind of fact."""
