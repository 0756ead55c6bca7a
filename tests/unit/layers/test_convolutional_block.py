import torch

from regard.layers.vision.convolutional_block import ConvolutionalBlockAttention


def test_it_is_channel_then_spatial():
    """Woo et al., equation 1."""
    block = ConvolutionalBlockAttention(8, reduction=2, kernel_size=3)
    image = torch.randn(2, 8, 5, 6)
    features, channel, spatial = block(image, return_weights=True)
    half = image * channel[:, :, None, None]
    torch.testing.assert_close(half, block.channel(image))
    torch.testing.assert_close(features, half * spatial[:, None])
    torch.testing.assert_close(features, block.spatial(block.channel(image)))
    assert torch.equal(block(image), features)
    assert block.channel.pooling == ("average", "max")


def test_parameter_names():
    names = ["channel.squeeze.weight", "channel.excite.weight", "spatial.convolution.weight"]
    assert list(ConvolutionalBlockAttention(16).state_dict()) == names
