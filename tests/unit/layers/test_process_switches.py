"""Settings of the whole process, wanted by several at once."""

import threading
from contextlib import ExitStack, contextmanager

import pytest
import torch
from torch import nn
from torch._dynamo import eval_frame

from regard.inspection import intervene, record
from regard.layers import SelfAttention
from regard.layers.process_switches import SharedSwitch, eager, without_cudnn


def stance() -> str:
    return eval_frame._stance.stance


def test_who_leaves_first_does_not_end_it_and_who_leaves_last_puts_back_what_was():
    before, first, second = stance(), ExitStack(), ExitStack()
    first.enter_context(eager)
    second.enter_context(eager)
    first.close()
    assert stance() == "force_eager"
    second.close()
    assert stance() == before != "force_eager"


def test_looks_at_two_models_may_overlap():
    before, first, second = stance(), ExitStack(), ExitStack()
    first.enter_context(record(SelfAttention()))
    second.enter_context(intervene(SelfAttention()))
    first.close()
    assert stance() == "force_eager"
    second.close()
    assert stance() == before


def test_threads_are_counted():
    entered, left, gate = [], [], threading.Barrier(4)

    @contextmanager
    def noted():
        entered.append(1)
        yield
        left.append(1)

    shared = SharedSwitch(noted)

    def visit():
        with shared:
            gate.wait(10)
            assert (len(entered), len(left)) == (1, 0)

    threads = [threading.Thread(target=visit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert (len(entered), len(left)) == (1, 1)


def test_what_cannot_be_entered_is_not_counted():
    @contextmanager
    def broken():
        raise OSError("no")
        yield

    shared = SharedSwitch(broken)
    for _ in range(2):
        with pytest.raises(OSError, match="no"), shared:
            pass


def test_cudnn_is_off_inside_and_as_before_after_an_error():
    before = torch.backends.cudnn.enabled
    with without_cudnn:
        with pytest.raises(ValueError, match="wrong"), without_cudnn:
            raise ValueError("wrong")
        assert not torch.backends.cudnn.enabled
    assert torch.backends.cudnn.enabled == before


@pytest.mark.gpu
def test_gradients_go_through_a_recurrent_network_in_evaluation_mode(cuda):
    network, x = nn.GRU(2, 3).to(cuda).eval(), torch.randn(4, 1, 2, device=cuda, requires_grad=True)
    with without_cudnn:
        network(x)[0].sum().backward()
    assert x.grad is not None
