"""The families of the conv module, each in the file of its subject."""

from __future__ import annotations

from reference.columns import col2im1d, im2col, im2col1d
from reference.convolve import conv1d, conv2d, conv_transpose1d, conv_transpose2d
from reference.pool import avg_pool2d, max_pool2d
from reference.upsample import upsample_bilinear2d, upsample_nearest2d

__all__ = [
    "avg_pool2d",
    "col2im1d",
    "conv1d",
    "conv2d",
    "conv_transpose1d",
    "conv_transpose2d",
    "im2col",
    "im2col1d",
    "max_pool2d",
    "upsample_bilinear2d",
    "upsample_nearest2d",
]
