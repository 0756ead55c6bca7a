"""Models from elsewhere, read into ours: a hub, Marian's folders, torch's own Transformer. Nothing of them is run."""
