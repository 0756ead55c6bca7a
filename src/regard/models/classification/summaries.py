"""From the states of a text to one vector: a mean, a weighed mean, the last state, one hop of attention or several."""

import torch
from torch import nn

from regard.attention import Attended, ScaledDot
from regard.attention.mask import Dense
from regard.layers.attend import Attend
from regard.layers.mechanisms.pooling import AttentionPooling
from regard.layers.mechanisms.structured import StructuredSelfAttention
from regard.layers.mechanisms.token_weights import TokenWeights
from regard.models.classification.network import Sentence, Summary


class MeanSummary(nn.Module):
    """Count every word the same. With `weighs` off, none are given, as they would not explain the layers above."""

    def __init__(self, *, weighs: bool = True) -> None:
        super().__init__()
        self.pooling = AttentionPooling("average")
        self.weighs = weighs

    def forward(self, sentence: Sentence) -> Summary:
        """Take the mean over the words."""
        pooled, weights = self.pooling(None, sentence.states, mask=sentence.mask)
        return Summary(pooled.squeeze(1), weights.squeeze(1) if self.weighs else None)


class StaticSummary(nn.Module):
    """Weigh each word by one number that the task has taught, the same in every text: `TokenWeights`."""

    def __init__(self, vocabulary_size: int) -> None:
        super().__init__()
        self.token_weights = TokenWeights(vocabulary_size)

    def forward(self, sentence: Sentence) -> Summary:
        """Take the weighed mean."""
        result = self.token_weights(sentence.tokens, sentence.states, mask=sentence.mask, return_weights=True)
        assert isinstance(result, Attended)
        return Summary(result.context, result.weights)


class LastSummary(nn.Module):
    """Take the state after the last word."""

    def forward(self, sentence: Sentence) -> Summary:
        """Give that state; there are no weights."""
        assert sentence.last is not None
        return Summary(sentence.last, None)


class AttentiveSummary(nn.Module):
    r"""Weigh words by attention with a question of its own, compared through a tanh layer.

    $$\alpha = \text{softmax}(w^\top \tanh(W H^\top) / \sqrt{d}), \qquad c = \sum_j \alpha_j h_j$$

    where $d$ is `attention_size`.

    Reference: Yang et al. (2016), equations 5 to 7; Zhou et al. (2016), equations 9 to 11.
    Differs: scores are divided by $\sqrt{d}$. As printed, AdamW moves them $d$ numbers at a time, much faster than it
    moves a word's vector: the weights settle on the words that say something in the first steps, and what is weighed
    by nearly nothing learns nearly nothing from then on. The tanh layer has no bias; Zhou et al. put a tanh around $c$.
    """

    def __init__(self, size: int, attention_size: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.hidden = nn.Linear(size, attention_size, bias=False)
        self.question = nn.Parameter(torch.empty(1, attention_size))
        self.attend = Attend(dropout=dropout)
        for matrix in (self.hidden.weight, self.question):
            nn.init.xavier_uniform_(matrix)

    def forward(self, sentence: Sentence) -> Summary:
        """Take the weighed mean."""
        result = self.attend(
            self.question.expand(sentence.states.size(0), -1, -1),
            torch.tanh(self.hidden(sentence.states)),
            sentence.states,
            score=ScaledDot(),
            mask=Dense(sentence.mask.unsqueeze(1)),
            return_weights=True,
        )
        assert isinstance(result, Attended)
        return Summary(result.context.squeeze(1), result.weights.squeeze(1))


class QuestionSummary(nn.Module):
    """Weigh states by how well they answer one learned question: `AttentionPooling("learned")`."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.pooling = AttentionPooling("learned", size=size)

    def forward(self, sentence: Sentence) -> Summary:
        """Take the weighed mean."""
        pooled, weights = self.pooling(None, sentence.states, mask=sentence.mask)
        return Summary(pooled.squeeze(1), weights.squeeze(1))


class StructuredSummary(nn.Module):
    r"""Attend several times, and concatenate the results; the weights are the mean over the hops.

    The loss adds $\lambda \lVert A A^\top - I \rVert_F^2$ for each text, where $\lambda$ is `penalty`.

    Reference: Lin et al. (2017), sections 2.1 and 2.2, arXiv:1703.03130.
    """

    def __init__(self, size: int, attention_size: int, num_hops: int, *, penalty: float) -> None:
        super().__init__()
        self.attention = StructuredSelfAttention(size, attention_size, num_hops)
        self.penalty = penalty

    def forward(self, sentence: Sentence) -> Summary:
        """Flatten the matrix of hops."""
        result = self.attention(sentence.states, mask=sentence.mask, return_weights=True)
        assert isinstance(result, Attended)
        penalty = None
        if self.penalty:
            empty = ~sentence.mask.any(1)
            penalty = torch.where(empty, 0.0, self.penalty * StructuredSelfAttention.penalty(result.weights))
        return Summary(result.context.flatten(1), result.weights.mean(1), penalty)
