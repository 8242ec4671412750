"""FlashInfer, where its wheel is installed, on the memory that the operator under test reads. It compiles its kernels at first use, which
takes minutes, into the folder that FLASHINFER_WORKSPACE_BASE names.

Ways: decode with CUDA cores or tensor cores; prefill with its kernels named fa2 and fa3. Pages of 16 where it wants pages."""

import functools

import flashinfer
import torch
from peers import tensor

PAGE = 16


@functools.lru_cache(maxsize=None)
def workspace():
    return torch.zeros(256 << 20, dtype=torch.uint8, device="cuda")


def _integers(values):
    return torch.tensor(list(values), dtype=torch.int32, device="cuda")


def _pages(cell):
    """Page table of contiguous sequences: offsets, page numbers, tokens of the last pages."""
    pages = cell.tokens // PAGE
    return (_integers(range(0, (cell.batch + 1) * pages, pages)), _integers(range(cell.batch * pages)),
            _integers([PAGE] * cell.batch))


def _way(cell, sets, plan, query_shape):
    """launch(i) of a wrapper that plan() makes at the first launch. What FlashInfer refuses becomes a RuntimeError."""
    made = []

    def launch(i):
        try:
            if not made:
                made.append(plan())
            q, k, v = sets[i % len(sets)]
            pool = (cell.batch * cell.tokens // PAGE, PAGE, cell.kv_heads, cell.head_dim)
            return made[0].run(tensor(q, *query_shape), (tensor(k, *pool), tensor(v, *pool)))
        except Exception as error:
            raise RuntimeError(f"FlashInfer: {error}") from error

    return launch


def decode_ways(cell, sets):
    def plan(tensor_cores):
        wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace(), "NHD", use_tensor_cores=tensor_cores)
        wrapper.plan(*_pages(cell), cell.query_heads, cell.kv_heads, cell.head_dim, PAGE, q_data_type=torch.bfloat16,
                     kv_data_type=torch.bfloat16)
        return wrapper

    shape = (cell.batch, cell.query_heads, cell.head_dim)
    return {"flashinfer": {name: _way(cell, sets, functools.partial(plan, tensor_cores), shape)
                           for name, tensor_cores in (("CUDA cores", False), ("tensor cores", True))}}


def extend_ways(cell, sets):
    def plan(backend):
        wrapper = flashinfer.BatchPrefillWithPagedKVCacheWrapper(workspace(), "NHD", backend=backend)
        wrapper.plan(_integers(range(0, (cell.batch + 1) * cell.query_tokens, cell.query_tokens)), *_pages(cell), cell.query_heads,
                     cell.kv_heads, cell.head_dim, PAGE, causal=True, q_data_type=torch.bfloat16, kv_data_type=torch.bfloat16)
        return wrapper

    shape = (cell.batch * cell.query_tokens, cell.query_heads, cell.head_dim)
    return {"flashinfer": {backend: _way(cell, sets, functools.partial(plan, backend), shape) for backend in ("fa2", "fa3")}}


def full_ways(cell, sets):
    def way(backend):
        def launch(i):
            q, k, v = sets[i % len(sets)]
            keys = (cell.tokens, cell.kv_heads, cell.head_dim)
            try:
                return flashinfer.single_prefill_with_kv_cache(tensor(q, cell.tokens, cell.query_heads, cell.head_dim),
                                                               tensor(k, *keys), tensor(v, *keys), causal=True, backend=backend)
            except Exception as error:
                raise RuntimeError(f"FlashInfer: {error}") from error

        return launch

    return {"flashinfer": {backend: way(backend) for backend in ("fa2", "fa3")}}
