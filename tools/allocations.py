"""What PyTorch allocates, counted without a GPU: every storage that an operator makes, until it is freed.

Kernels' own workspaces are not seen, nor what an allocator keeps of what was freed.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_BLOCK = 512  # PyTorch's CUDA allocator hands out multiples of it


class Peak(TorchDispatchMode):
    """Bytes of all live storages, and the most that they ever were."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self.parameters: set[tuple[int, ...]] = set()
        self._seen: dict[int, Any] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.add.Tensor and not torch.is_grad_enabled() and args[0].shape in self.parameters:
            func = torch.ops.aten.add_.Tensor  # autograd sums a parameter's gradients in place, but for subclasses
        made = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(made):
            if isinstance(leaf, torch.Tensor):
                self.hold(leaf.untyped_storage())
        return made

    def hold(self, storage: Any) -> None:
        """Count a storage from now on, until it is freed."""
        key = id(storage)
        if key in self._seen:
            return
        size = -(-storage.nbytes() // _BLOCK) * _BLOCK

        def freed(_: Any) -> None:
            self.now -= size
            del self._seen[key]

        self._seen[key] = weakref.ref(storage, freed)
        self.now += size
        self.most = max(self.most, self.now)
