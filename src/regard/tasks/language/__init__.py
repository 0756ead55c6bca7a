"""Language models: text in, a model that continues and measures text out."""
