"""Small networks of every kind."""

from regard.config.language import FeedForwardLanguageSpec, RecurrentLanguageSpec, TransformerLanguageSpec

SMALL = {"embedding_size": 8, "hidden_size": 12}
BLOCKS = {"size": 16, "num_heads": 2, "num_layers": 2, "feed_forward_size": 32, "context": 16}
SPECS = {
    "feed-forward": FeedForwardLanguageSpec(**SMALL, context=3),
    "feed-forward direct": FeedForwardLanguageSpec(**SMALL, context=1, direct=True),
    "rnn": RecurrentLanguageSpec(**SMALL, cell="rnn"),
    "lstm": RecurrentLanguageSpec(**SMALL, cell="lstm", weight_dropout=0.3),
    "gru": RecurrentLanguageSpec(**SMALL, cell="gru", tie=False, num_layers=1),
    "rnn-attention": RecurrentLanguageSpec(**SMALL, cell="rnn", attention_span=4),
    "gru-attention": RecurrentLanguageSpec(**SMALL, cell="gru", attention_span=5, num_heads=2),
    "transformer": TransformerLanguageSpec(**BLOCKS),
    "transformer sinusoidal": TransformerLanguageSpec(**BLOCKS, position="sinusoidal"),
    "transformer learned": TransformerLanguageSpec(**BLOCKS, position="learned", tie=False),
}
