"""Models: layers wired into architectures, and model folders.

`build_model(spec)` makes one of a config; the classes themselves take modules and sizes. All are `GeneratingModel`s:
`encode`, `start`, `step`, and a training `forward` that gives the same numbers.
"""

from regard.layers.mechanisms.dot import DotAttention
from regard.models.sequence.build import Model, build_model, count_parameters
from regard.models.sequence.current_state import CurrentStateDecoder
from regard.models.sequence.fixed_vector import FixedVectorDecoder
from regard.models.sequence.input_feeding import InputFeedingDecoder
from regard.models.sequence.prediction import Predicted, Read
from regard.models.sequence.previous_state import PreviousStateDecoder
from regard.models.sequence.protocol import AnyModel, GeneratingModel, Stepped
from regard.models.sequence.recurrent import RecurrentModel, RecurrentStep
from regard.models.sequence.recurrent_decoder import RecurrentDecoder, RecurrentMemory, RecurrentState
from regard.models.sequence.transformer import TransformerModel, TransformerStep
from regard.models.sequence.transformer_state import TransformerMemory, TransformerState

__all__ = [
    "AnyModel",
    "CurrentStateDecoder",
    "DotAttention",
    "FixedVectorDecoder",
    "GeneratingModel",
    "InputFeedingDecoder",
    "Model",
    "Predicted",
    "PreviousStateDecoder",
    "Read",
    "RecurrentDecoder",
    "RecurrentMemory",
    "RecurrentModel",
    "RecurrentState",
    "RecurrentStep",
    "Stepped",
    "TransformerMemory",
    "TransformerModel",
    "TransformerState",
    "TransformerStep",
    "build_model",
    "count_parameters",
]
