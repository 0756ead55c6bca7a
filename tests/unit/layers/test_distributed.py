"""Two processes train one layer as one process would. Run as a script, this file is one of the two."""

import os
import socket
import subprocess
import sys

import pytest
import torch
from torch import Tensor, distributed, nn

from regard import Causal
from regard.inspection import attention_layers
from regard.layers import AdditiveAttention, MultiHeadAttention


class Pair(nn.Module):
    """A layer that looks at itself, and one that looks at a memory."""

    def __init__(self) -> None:
        super().__init__()
        self.own = MultiHeadAttention(8, 2)
        self.cross = AdditiveAttention(8, 8, 4)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.cross(self.own(x, mask=Causal()), self.cross.remember(x))
        return found


def train(rank: int) -> None:
    """Compare the gradients of half the batch, averaged over both processes, with those of the whole."""
    torch.manual_seed(0)
    model, whole, x = Pair(), Pair(), torch.randn(4, 5, 8)
    whole.load_state_dict(model.state_dict())
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    wrapped = nn.parallel.DistributedDataParallel(model)
    assert list(attention_layers(wrapped)) == ["own", "cross"]
    wrapped(x[rank::2]).square().mean().backward()
    whole(x).square().mean().backward()
    for parameter, expected in zip(model.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, expected.grad, atol=1e-6, rtol=1e-4)
    del wrapped  # or it is the last to hold the group, and frees it under Python's lock
    distributed.destroy_process_group()


@pytest.mark.slow
def test_two_processes_agree_with_one() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen([sys.executable, __file__, str(rank)], env=environment, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors


if __name__ == "__main__":
    train(int(sys.argv[1]))
