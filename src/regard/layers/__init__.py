"""Layers: modules that own parameters and call the operator, one idea per file.

Those that attend over a memory project it once, `memory = layer.remember(key, value, mask)`, and then look at it as
often as they like, `layer(query, memory)`. All call the operator through one child module, `Attend`, where
`regard.inspection` looks on.
"""

from regard.layers.additive import AdditiveAttention
from regard.layers.alibi import AlibiBias
from regard.layers.attend import Attend
from regard.layers.bilinear import BilinearAttention
from regard.layers.channel import ChannelAttention, Gated
from regard.layers.conditional_gru import ConditionalGRU
from regard.layers.convolutional_block import BlockGated, ConvolutionalBlockAttention
from regard.layers.cosine import CosineAttention
from regard.layers.decoder_block import DecoderBlockOutput, DecoderBlockStep, TransformerDecoderBlock
from regard.layers.encoder_block import EncoderBlockOutput, EncoderBlockStep, TransformerEncoderBlock
from regard.layers.feed_forward import FeedForward
from regard.layers.gaussian import GaussianAttention
from regard.layers.input_feeding import Fed, FedState, InputFeedingCell
from regard.layers.learned_positions import LearnedPositions
from regard.layers.local import LocalAttention
from regard.layers.luong import Attentional, LuongAttention
from regard.layers.memory import Memory
from regard.layers.multi_head import MultiHeadAttention
from regard.layers.patches import PatchEmbedding, Patches
from regard.layers.pooling import AttentionPooling, Pooled
from regard.layers.readout import Readout
from regard.layers.recurrent import Encoded, RecurrentEncoder
from regard.layers.relative import RelativeBiases, RelativeBucketBiases, RelativePositions
from regard.layers.rotary import RotaryPositions
from regard.layers.score import LearnedAdditive, LearnedBilinear, LearnedCosine, LearnedGaussian, LearnedScore
from regard.layers.self_attention import SelfAttention
from regard.layers.sink import LearnedSink
from regard.layers.sinusoidal import SinusoidalPositions, sinusoids
from regard.layers.spatial import SpatialAttention
from regard.layers.structural import (
    StructuralPositions,
    StructuralRelations,
    tree_depths,
    tree_distances,
    tree_relations,
)
from regard.layers.structured import StructuredSelfAttention
from regard.layers.tf_idf import TfIdf
from regard.layers.token_weights import TokenWeights

__all__ = [
    "AdditiveAttention",
    "AlibiBias",
    "Attend",
    "AttentionPooling",
    "Attentional",
    "BilinearAttention",
    "BlockGated",
    "ChannelAttention",
    "ConditionalGRU",
    "ConvolutionalBlockAttention",
    "CosineAttention",
    "DecoderBlockOutput",
    "DecoderBlockStep",
    "Encoded",
    "EncoderBlockOutput",
    "EncoderBlockStep",
    "Fed",
    "FedState",
    "FeedForward",
    "Gated",
    "GaussianAttention",
    "InputFeedingCell",
    "LearnedAdditive",
    "LearnedBilinear",
    "LearnedCosine",
    "LearnedGaussian",
    "LearnedPositions",
    "LearnedScore",
    "LearnedSink",
    "LocalAttention",
    "LuongAttention",
    "Memory",
    "MultiHeadAttention",
    "PatchEmbedding",
    "Patches",
    "Pooled",
    "Readout",
    "RecurrentEncoder",
    "RelativeBiases",
    "RelativeBucketBiases",
    "RelativePositions",
    "RotaryPositions",
    "SelfAttention",
    "SinusoidalPositions",
    "SpatialAttention",
    "StructuralPositions",
    "StructuralRelations",
    "StructuredSelfAttention",
    "TfIdf",
    "TokenWeights",
    "TransformerDecoderBlock",
    "TransformerEncoderBlock",
    "sinusoids",
    "tree_depths",
    "tree_distances",
    "tree_relations",
]
