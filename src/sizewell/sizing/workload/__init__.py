"""The workload spec: text to a frozen record, every fault with its path, value and fix."""
