"""The Vision Transformer: an image cut into patches, read as a sentence is."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.position.learned import LearnedPositions
from regard.layers.transformer.encoder_block import EncoderBlockOutput, TransformerEncoderBlock
from regard.layers.transformer.feed_forward import FeedForward
from regard.layers.vision.patches import PatchEmbedding
from regard.models.vision.features import ImageFeatures, ImageWeights, PositionWeights, Standardize


class VisionTransformer(nn.Module):
    r"""Cut an image into patches, put a token for the label before them, and let all attend to each other.

    $$z_0 = [x_\text{class};\ E x_1; \dots; E x_N] + P, \qquad z_l = \text{block}_l(z_{l-1}), \qquad
    \text{logits} = W\, \text{norm}(z_L^0) + b$$

    where $x_n$ are the patches and $P$ learned positions. `features` gives the patches without the token; without
    labels, a call gives the token itself.

    Reference: Dosovitskiy et al. (2021), equations 1 to 4, arXiv:2010.11929.
    Differs: far fewer and narrower blocks, for images of some thirty pixels.

    >>> network = VisionTransformer((32, 32), patch_size=8, size=16, num_layers=1, num_heads=2, num_labels=10)
    >>> network(torch.rand(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    >>> network.features(torch.rand(2, 3, 32, 32)).grid
    (4, 4)
    """

    def __init__(
        self,
        image_size: tuple[int, int],
        *,
        patch_size: int = 4,
        channels: int = 3,
        size: int = 128,
        num_layers: int = 4,
        num_heads: int = 4,
        feed_forward_size: int = 256,
        dropout: float = 0.0,
        num_labels: int = 0,
    ) -> None:
        super().__init__()
        if min(image_size) < 1 or patch_size < 1 or image_size[0] % patch_size or image_size[1] % patch_size:
            raise ArgumentError(
                f"`patch_size` must divide the height and the width of the images, {image_size[0]} and "
                f"{image_size[1]}; received {patch_size}. Choose another, or resize the images."
            )
        self.size = size
        self.image_size = image_size
        self.standardize = Standardize(channels)
        self.patches = PatchEmbedding(patch_size, channels, size)
        num_patches = (image_size[0] // patch_size) * (image_size[1] // patch_size)
        self.positions = LearnedPositions(1 + num_patches, size)
        self.token = nn.Parameter(torch.empty(size))
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            TransformerEncoderBlock(
                MultiHeadAttention(size, num_heads),
                FeedForward(size, feed_forward_size, activation="gelu", dropout=dropout),
                dropout=dropout,
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(size)
        self.output = nn.Linear(size, num_labels) if num_labels else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the token as the positions are; let all labels be alike at first, as the authors do."""
        nn.init.normal_(self.token, std=0.02)
        if self.output is not None:
            nn.init.zeros_(self.output.weight)
            nn.init.zeros_(self.output.bias)

    def features(self, image: Float[Tensor, "batch channels height width"]) -> ImageFeatures:
        """Give the features of each patch after the last block."""
        states, grid, _ = self._read(image)
        return ImageFeatures(states[:, 1:], grid)

    def forward(self, image: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch labels"]:
        """Give a logit for each label, or the token where there are none."""
        return self._decide(self._read(image)[0])

    def forward_with_weights(self, image: Float[Tensor, "batch channels height width"]) -> ImageWeights:
        """Give the logits, what the token attended to in each block, the mean over heads, and the rollout of all."""
        states, grid, weights = self._read(image, return_weights=True)
        limit = 8 / (grid[0] * grid[1])
        positions = [
            PositionWeights(f"block {number}", each.mean(1)[:, 0, 1:].unflatten(1, grid), limit)
            for number, each in enumerate(weights, start=1)
        ]
        rolled = PositionWeights("rollout", rollout(weights)[:, 0, 1:].unflatten(1, grid), limit)
        return ImageWeights(self._decide(states), (*positions, rolled), (), None)

    def _read(self, image: Tensor, *, return_weights: bool = False) -> tuple[Tensor, tuple[int, int], list[Tensor]]:
        if tuple(image.shape[2:]) != self.image_size:
            raise ArgumentError(
                f"`image` must have the height and width the network was made for, {self.image_size}; received "
                f"{tuple(image.shape[2:])}. Resize it."
            )
        embedding, grid = self.patches(self.standardize(image))
        token = self.token.to(embedding.dtype).expand(len(image), 1, -1)
        states = self.dropout(self.positions(torch.cat([token, embedding], dim=1)))
        weights: list[Tensor] = []
        for block in self.blocks:
            result = block(states, return_weights=return_weights)
            if isinstance(result, EncoderBlockOutput):
                assert result.weights is not None
                weights.append(result.weights)
                result = result.states
            states = result
        return self.norm(states), grid, weights

    def _decide(self, states: Tensor) -> Tensor:
        token = states[:, 0]
        return token if self.output is None else self.output(token)


def rollout(weights: list[Tensor]) -> Float[Tensor, "batch position position"]:
    r"""Follow attention through all blocks, taking the residual as attention to oneself.

    $$\tilde A = \hat A_L \cdots \hat A_1, \qquad \hat A_l = \tfrac12 \text{mean}_h A_l + \tfrac12 I$$

    Reference: Abnar and Zuidema (2020), equation 1 and section 3, arXiv:2005.00928.

    >>> rollout([torch.full((1, 2, 2, 2), 0.5)])
    tensor([[[0.7500, 0.2500], [0.2500, 0.7500]]])
    """
    if not weights:
        raise ArgumentError("`weights` must hold those of at least one block; received none.")
    length = weights[0].size(-1)
    itself = torch.eye(length, device=weights[0].device, dtype=weights[0].dtype)
    rolled = itself.expand(len(weights[0]), length, length)
    for each in weights:
        rolled = (each.mean(1) / 2 + itself / 2) @ rolled
    return rolled
