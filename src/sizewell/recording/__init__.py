"""Programs, plans of the engine and states become recorded resources: what preview, policy and teardown read."""
