"""How much each word mattered, by the gradient: the one measure that every classifier has."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.layers.process_switches import without_cudnn
from regard.models.classification.network import Network


def gradient_shares(
    network: Network, tokens: Int[Tensor, "batch length"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch length"]:
    r"""Give each word its share of gradient times input, for the label that is chosen.

    $$s_j = \frac{|x_j^\top \partial z_c / \partial x_j|}{\sum_k |x_k^\top \partial z_c / \partial x_k|}$$

    where $x_j$ is the vector of word $j$ and $z_c$ the chosen label's logit less the mean of all. To first order it is
    how much the logit would lose without the word's vector; words with opposite parts are counted alike.

    Reference: Denil, Demiraj and de Freitas (2014), arXiv:1412.6815; Li et al. (2016), arXiv:1506.01066.
    """
    with torch.enable_grad(), without_cudnn:
        embedding = network.embedding(tokens).detach().requires_grad_()
        logits = network.read(embedding, tokens, lengths).logits
        chosen = (logits - logits.mean(-1, keepdim=True)).max(-1).values.sum()
        (gradient,) = torch.autograd.grad(chosen, embedding)
    parts = (gradient * embedding.detach()).sum(-1).abs()
    mask = torch.arange(tokens.size(1), device=tokens.device) < lengths.to(tokens.device).unsqueeze(1)
    parts = parts * mask
    total = parts.sum(-1, keepdim=True)
    shares: Tensor = parts / total.where(total > 0, 1.0)
    return shares
