"""One call of an attention function of `transformers`, in the words of the operator."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import ScaledDot, Score
from regard.attention.normalize import NormalizeFunction
from regard.attention.score import ScoreFunction


def translate_call(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    settings: Mapping[str, Any],
    *,
    causal: bool,
) -> dict[str, Any]:
    """Give the arguments of `Attend` that mean the same: score, mask, bias, grouped heads.

    `causal` says whether a call without a mask may still be causal, which fused kernels receive as a flag.
    """
    queries, keys = query.size(-2), key.size(-2)
    mask, bias = _divide(None if attention_mask is None else attention_mask[..., :keys])
    if attention_mask is None and causal and queries > 1 and _is_causal(module, settings):
        mask = torch.ones(queries, keys, dtype=torch.bool, device=query.device).tril()
    learned = settings.get("position_bias")
    if learned is not None:
        bias = learned if bias is None else learned + bias
    return {
        "query": query,
        "key": key,
        "value": value,
        "score": _score(settings),
        "mask": mask,
        "bias": bias,
        "grouped": query.size(1) != key.size(1),
    }


def _is_causal(module: nn.Module, settings: Mapping[str, Any]) -> bool:
    setting = settings.get("is_causal")
    return bool(getattr(module, "is_causal", True) if setting is None else setting)


def _divide(mask: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Part a mask that is added to the scores into what forbids and what only weighs."""
    if mask is None or mask.dtype == torch.bool:
        return mask, None
    allowed = mask > torch.finfo(mask.dtype).min / 2
    bias = mask.masked_fill(~allowed, 0.0)
    return allowed, bias if bool(bias.any()) else None


def _score(settings: Mapping[str, Any]) -> Score | ScoreFunction:
    """Choose the score: scaled dot products, through a soft cap where the model has one (Gemma 2)."""
    scaled, cap = ScaledDot(settings.get("scaling")), settings.get("softcap")
    if cap is None:
        return scaled
    return lambda query, key: cap * torch.tanh(scaled.dense(query, key) / cap)


def normalizer_of(settings: Mapping[str, Any]) -> NormalizeFunction | None:
    """Make the softmax that keeps a share for nobody, where the model has learned how much (GPT-OSS)."""
    sink = settings.get("s_aux")
    if sink is None:
        return None

    def normalize(scores: Tensor, mask: Tensor | None) -> Tensor:
        scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
        nobody = sink.to(scores).view(-1, 1, 1).expand(*scores.shape[:-1], 1)
        return torch.cat([scores, nobody], dim=-1).softmax(-1)[..., :-1]

    return normalize
