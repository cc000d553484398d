"""A decoder of today's kind in PyTorch (RMSNorm, rotary positions, grouped queries, SwiGLU), for burn-in and
pretraining.

Its modules are named as in Hugging Face's Llama, so that one plan of tensor parallelism fits both.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    """Causal self-attention. Head counts follow from the projections' width: tensor parallelism leaves fewer here."""

    def __init__(self, sizes: dict[str, int], dropout: float) -> None:
        super().__init__()
        self.head_dim, self.dropout = sizes["head_dim"], dropout
        wide, narrow = sizes["heads"] * self.head_dim, sizes["kv_heads"] * self.head_dim
        self.q_proj = nn.Linear(sizes["hidden"], wide, bias=False)
        self.k_proj = nn.Linear(sizes["hidden"], narrow, bias=False)
        self.v_proj = nn.Linear(sizes["hidden"], narrow, bias=False)
        self.o_proj = nn.Linear(wide, sizes["hidden"], bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = (
            each(x).view(batch, length, -1, self.head_dim).transpose(1, 2)
            for each in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = _rotated(q, cos, sin), _rotated(k, cos, sin)
        share = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1)
        dropout = self.dropout if self.training else 0.0
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
        return self.o_proj(out.transpose(1, 2).reshape(batch, length, -1))


class Mlp(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(sizes["hidden"], sizes["ffn"], bias=False)
        self.up_proj = nn.Linear(sizes["hidden"], sizes["ffn"], bias=False)
        self.down_proj = nn.Linear(sizes["ffn"], sizes["hidden"], bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, sizes: dict[str, int], dropout: float) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(sizes["hidden"], eps=1e-5)
        self.self_attn = Attention(sizes, dropout)
        self.post_attention_layernorm = nn.RMSNorm(sizes["hidden"], eps=1e-5)
        self.mlp = Mlp(sizes)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        x = x + self.drop(self.self_attn(self.input_layernorm(x), cos, sin))
        return x + self.drop(self.mlp(self.post_attention_layernorm(x)))


class Transformer(nn.Module):
    """Logits [batch, length, vocab] of token numbers [batch, length]. `recompute`: selective is every other layer."""

    def __init__(self, sizes: dict[str, int], *, dropout: float = 0.0, recompute: str = "none") -> None:
        super().__init__()
        self.head_dim, self.recompute = sizes["head_dim"], recompute
        self.embed_tokens = nn.Embedding(sizes["vocab"], sizes["hidden"])
        self.layers = nn.ModuleList(Layer(sizes, dropout) for _ in range(sizes["layers"]))
        self.norm = nn.RMSNorm(sizes["hidden"], eps=1e-5)
        self.lm_head = nn.Linear(sizes["hidden"], sizes["vocab"], bias=False)
        deep = (
            0.02 / (2 * sizes["layers"]) ** 0.5
        )  # what adds to the stream starts smaller, so that depth does not blow it up
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                nn.init.normal_(weight, std=deep if name.endswith(("o_proj.weight", "down_proj.weight")) else 0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        cos, sin = _rotary(tokens.shape[1], self.head_dim, tokens.device)
        x = self.embed_tokens(tokens)
        for number, layer in enumerate(self.layers):
            if self.recompute == "full" or (self.recompute == "selective" and number % 2 == 0):
                x = checkpoint(layer, x, cos, sin, use_reentrant=False)
            else:
                x = layer(x, cos, sin)
        return self.lm_head(self.norm(x))


def _rotary(length: int, head_dim: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    frequency = 10000.0 ** (-torch.arange(0, head_dim, 2, device=device, dtype=torch.float32) / head_dim)
    angle = torch.arange(length, device=device, dtype=torch.float32)[:, None] * frequency[None, :]
    return angle.cos(), angle.sin()


def _rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).type_as(x)
