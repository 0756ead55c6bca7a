"""The parameters a model starts from, as the papers state them."""

from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.layers.mechanisms.additive import AdditiveAttention
from regard.layers.mechanisms.luong import LuongAttention
from regard.layers.recurrent.conditional_gru import ConditionalGRU
from regard.layers.recurrent.readout import Features
from regard.models.alignment.mask_align import MaskedPredictor
from regard.models.embedding import TokenEmbedding
from regard.models.sequence.conditional import ConditionalRNN
from regard.models.sequence.recurrent import RecurrentModel
from regard.models.sequence.recurrent_decoder import DecoderStart
from regard.models.sequence.transformer import TransformerModel

Initialization = Literal["glorot", "uniform", "bahdanau"]


def initialize_recurrent(model: RecurrentModel, how: Initialization) -> None:
    """Draw every parameter anew.

    - "glorot": recurrent matrices orthogonal, others as Glorot and Bengio (2010) draw them, biases zero but an LSTM's
      forget gate, one (Jozefowicz, Zaremba and Sutskever, 2015), embeddings from N(0, 0.1²). Vectors of attention
      are left as their layers draw them.
    - "uniform": all from U(−0.1, 0.1), as Luong, Pham and Manning (2015), section 4.1.
    - "bahdanau": recurrent matrices orthogonal, W_a and U_a from N(0, 0.001²), v_a and biases zero, others from
      N(0, 0.01²), as Bahdanau, Cho and Bengio (2015), section B.1. Made for weeks of Adadelta: it starts slowly.
    """
    if how == "glorot":
        model.apply(_start_glorot)
        return
    for parameter in model.parameters():
        if parameter.ndim and how == "uniform":
            nn.init.uniform_(parameter, -0.1, 0.1)
        elif parameter.ndim > 1:
            nn.init.normal_(parameter, std=0.01)
        elif parameter.ndim:
            nn.init.zeros_(parameter)
    if how == "bahdanau":
        model.apply(_start_as_bahdanau)


def initialize_transformer(model: TransformerModel | MaskedPredictor) -> None:
    """Draw embeddings from N(0, 1/size), so that times √size they have unit variance; maps as Glorot and Bengio do.

    The paper states nothing; this is what its authors' code, tensor2tensor, does.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for embedding in (model.source.table, model.target.table):
        nn.init.normal_(embedding.weight, std=embedding.embedding_dim**-0.5)


@torch.no_grad()
def start_from_counts(output: nn.Linear, counts: Int[Tensor, " vocabulary"]) -> None:
    r"""Let the output layer begin with how often each token occurs.

    $$b_v = \log \frac{n_v + 1}{\sum_w (n_w + 1)}$$

    Otherwise the first updates push every feature the same way until the biases are right, which can drive the tanh
    features of a recurrent decoder into saturation for good.
    """
    output.bias.copy_((counts + 1).double().div((counts + 1).sum()).log())


def recurrent_blocks(module: nn.Module) -> list[Tensor]:
    """Find the square matrices that a cell multiplies its state by, one for each gate."""
    if isinstance(module, nn.RNNBase):
        fused = [weight for name, weight in module.named_parameters() if name.startswith("weight_hh")]
        return [block for weight in fused for block in weight.split(module.hidden_size)]
    if isinstance(module, nn.RNNCellBase):
        return list(module.weight_hh.split(module.hidden_size))
    if isinstance(module, ConditionalGRU):
        return [*module.gates.weight.split(module.state_size), module.candidate.weight]
    if isinstance(module, ConditionalRNN):
        return list(module.recurrent.weight.split(module.state_size))
    return []


@torch.no_grad()
def _start_glorot(module: nn.Module) -> None:
    match module:
        case TokenEmbedding():
            nn.init.normal_(module.table.weight, std=0.1)
        case nn.RNNBase() | nn.RNNCellBase():
            for name, parameter in module.named_parameters():
                if name.startswith("weight_ih"):
                    for block in parameter.split(module.hidden_size):
                        nn.init.xavier_uniform_(block)
                elif name.startswith("bias"):
                    nn.init.zeros_(parameter)
                    if isinstance(module, nn.LSTM | nn.LSTMCell) and name.startswith("bias_ih"):
                        parameter[module.hidden_size : 2 * module.hidden_size] = 1.0
        case ConditionalRNN():
            for block in (
                *module.input.weight.split(module.state_size),
                *module.context.weight.split(module.state_size),
            ):
                nn.init.xavier_uniform_(block)
            nn.init.zeros_(module.input.bias)
            if module.num_gates == 4:
                module.input.bias[module.state_size : 2 * module.state_size] = 1.0
        case Features(join=nn.Linear() as join):
            _start_linear(join)
        case LuongAttention():
            for parameter in module.parameters():
                if parameter.ndim > 1:
                    nn.init.xavier_uniform_(parameter)
        case DecoderStart():
            for item in (*module.state, *module.cell):
                _start_linear(item)
        case RecurrentModel():
            _start_linear(module.output)
    for block in recurrent_blocks(module):
        nn.init.orthogonal_(block)


def _start_linear(linear: nn.Module) -> None:
    assert isinstance(linear, nn.Linear)
    nn.init.xavier_uniform_(linear.weight)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)


def _start_as_bahdanau(module: nn.Module) -> None:
    if isinstance(module, AdditiveAttention):
        module.reset_as_printed()
    for block in recurrent_blocks(module):
        nn.init.orthogonal_(block)
