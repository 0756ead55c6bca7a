"""Parts of a Transformer block computed together on a GPU: the same results in fewer passes over memory."""
