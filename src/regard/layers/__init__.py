"""Layers: modules that own parameters and call the operator, one idea per file.

Those that attend over a memory project it once, `memory = layer.remember(key, value, mask)`, and then attend to it as
often as they like, `layer(query, memory)`. `AttentionLayer` is what they have in common. All call the operator through
one child module, `Attend`, where `regard.inspection` records.
"""

from regard.layers.attend import Attend
from regard.layers.attention_layer import Attentional, AttentionLayer, Interface
from regard.layers.mechanisms.additive import AdditiveAttention
from regard.layers.mechanisms.bilinear import BilinearAttention
from regard.layers.mechanisms.cosine import CosineAttention
from regard.layers.mechanisms.dot import DotAttention
from regard.layers.mechanisms.gaussian import GaussianAttention
from regard.layers.mechanisms.learned_score import (
    LearnedAdditive,
    LearnedBilinear,
    LearnedCosine,
    LearnedGaussian,
    LearnedScore,
)
from regard.layers.mechanisms.local import LocalAttention
from regard.layers.mechanisms.luong import LuongAttention
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.mechanisms.pooling import AttentionPooling, Pooled
from regard.layers.mechanisms.self_attention import SelfAttention
from regard.layers.mechanisms.sink import LearnedSink
from regard.layers.mechanisms.structured import StructuredSelfAttention
from regard.layers.mechanisms.tf_idf import TfIdf
from regard.layers.mechanisms.token_weights import TokenWeights
from regard.layers.memory import Memory
from regard.layers.position.alibi import AlibiBias
from regard.layers.position.learned import LearnedPositions
from regard.layers.position.relative import RelativeBiases, RelativeBucketBiases, RelativePositions
from regard.layers.position.rotary import RotaryPositions
from regard.layers.position.sinusoidal import SinusoidalPositions, sinusoids
from regard.layers.position.structural import (
    StructuralPositions,
    StructuralRelations,
    tree_depths,
    tree_distances,
    tree_relations,
)
from regard.layers.recurrent.conditional_gru import ConditionalGRU
from regard.layers.recurrent.encoder import Encoded, RecurrentEncoder
from regard.layers.recurrent.input_feeding import InputFeedingCell, InputFeedingState, InputFeedingStep
from regard.layers.recurrent.readout import Readout
from regard.layers.transformer.decoder_block import DecoderBlockOutput, DecoderBlockStep, TransformerDecoderBlock
from regard.layers.transformer.encoder_block import EncoderBlockOutput, EncoderBlockStep, TransformerEncoderBlock
from regard.layers.transformer.feed_forward import FeedForward
from regard.layers.transformer.memory_block import MemoryBlockOutput, TransformerMemoryBlock
from regard.layers.vision.channel import ChannelAttention, Gated
from regard.layers.vision.convolutional_block import BlockGated, ConvolutionalBlockAttention
from regard.layers.vision.patches import PatchEmbedding, Patches
from regard.layers.vision.spatial import SpatialAttention

__all__ = [
    "AdditiveAttention",
    "AlibiBias",
    "Attend",
    "AttentionLayer",
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
    "DotAttention",
    "Encoded",
    "EncoderBlockOutput",
    "EncoderBlockStep",
    "FeedForward",
    "Gated",
    "GaussianAttention",
    "InputFeedingCell",
    "InputFeedingState",
    "InputFeedingStep",
    "Interface",
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
    "MemoryBlockOutput",
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
    "TransformerMemoryBlock",
    "sinusoids",
    "tree_depths",
    "tree_distances",
    "tree_relations",
]
