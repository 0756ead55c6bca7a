"""One file per runnable task: data, model, metric."""
