"""Models behind HTTP: requests of many clients computed in batches, with limits, keys, logs and metrics."""
