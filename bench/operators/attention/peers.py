"""cuDNN and FlashAttention-2 as PyTorch offers them, on the memory that the operator under test reads.

Each peer is asked in every way that computes the same and may be fast; the fastest counts:
  layout   keys and values as [token, head] rows or as [head, token] rows of the same memory (decode)
  grouped  enable_gqa on 32 query heads, or the query heads of a group as rows of one head without a mask (decode)
"""

import functools

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash_attention_2": SDPBackend.FLASH_ATTENTION}


class _Memory:
    def __init__(self, address, elements):
        self.__cuda_array_interface__ = {"data": (address, False), "shape": (elements,), "typestr": "<i2", "version": 2}


@functools.lru_cache(maxsize=None)
def tensor(address, *shape):
    """bfloat16 device memory at an address as a tensor."""
    elements = 1
    for size in shape:
        elements *= size
    return torch.as_tensor(_Memory(address, elements), device="cuda").view(torch.bfloat16).view(*shape)


def capture(harness, launch, launches):
    """As Harness.capture, in a graph that PyTorch owns: its calls allocate. launch(i) may raise: the way is not supported."""
    stream = torch.cuda.ExternalStream(harness.stream.value)
    with torch.no_grad(), torch.cuda.stream(stream):
        for i in range(launches):
            launch(i)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for i in range(launches):
                launch(i)

    def replay():
        with torch.cuda.stream(stream):
            graph.replay()

    return replay


def _with_backend(backend, call):
    def launch(i):
        with sdpa_kernel(backend):
            return call(i)

    return launch


def full_ways(cell, sets):
    """{peer: {way: launch}} for a causal sequence. sets: addresses (queries, keys, values) of each rotated buffer."""
    def call(i):
        q, k, v = sets[i % len(sets)]
        shape = (1, cell.tokens)
        return scaled_dot_product_attention(
            tensor(q, *shape, cell.query_heads, cell.head_dim).transpose(1, 2),
            tensor(k, *shape, cell.kv_heads, cell.head_dim).transpose(1, 2),
            tensor(v, *shape, cell.kv_heads, cell.head_dim).transpose(1, 2),
            is_causal=True, enable_gqa=cell.query_heads != cell.kv_heads)

    return {name: {"causal, enable_gqa": _with_backend(backend, call)} for name, backend in BACKENDS.items()}


def decode_ways(cell, sets):
    """{peer: {way: launch}} for one query token a sequence."""
    ratio = cell.query_heads // cell.kv_heads

    def keys(address, heads_first):
        if heads_first:
            return tensor(address, cell.batch, cell.kv_heads, cell.tokens, cell.head_dim)
        return tensor(address, cell.batch, cell.tokens, cell.kv_heads, cell.head_dim).transpose(1, 2)

    def grouped(i, heads_first):
        q, k, v = sets[i % len(sets)]
        return scaled_dot_product_attention(tensor(q, cell.batch, cell.query_heads, 1, cell.head_dim), keys(k, heads_first),
                                            keys(v, heads_first), enable_gqa=ratio > 1)

    def rows(i, heads_first):
        q, k, v = sets[i % len(sets)]
        return scaled_dot_product_attention(tensor(q, cell.batch, cell.kv_heads, ratio, cell.head_dim), keys(k, heads_first),
                                            keys(v, heads_first))

    ways = {}
    for name, backend in BACKENDS.items():
        ways[name] = {}
        for layout, heads_first in (("[token, head]", False), ("[head, token]", True)):
            for form, call in (("enable_gqa", grouped), ("group as rows", rows)):
                ways[name][f"{form}, {layout}"] = _with_backend(backend, lambda i, call=call, first=heads_first: call(i, first))
    return ways


def extend_ways(cell, sets):
    """As decode_ways for several query tokens at the end of each sequence. PyTorch offers this mask with FlashAttention-2 alone."""
    def call(i):
        q, k, v = sets[i % len(sets)]
        keys = (cell.batch, cell.tokens, cell.kv_heads, cell.head_dim)
        return scaled_dot_product_attention(
            tensor(q, cell.batch, cell.query_tokens, cell.query_heads, cell.head_dim).transpose(1, 2), tensor(k, *keys).transpose(1, 2),
            tensor(v, *keys).transpose(1, 2), attn_mask=causal_lower_right(cell.query_tokens, cell.tokens),
            enable_gqa=cell.query_heads != cell.kv_heads)

    return {"flash_attention_2": {"lower right, enable_gqa": _with_backend(BACKENDS["flash_attention_2"], call)}}


def largest_difference(address, shape, launch):
    """Largest difference between bfloat16 output at an address and what a peer returns."""
    with torch.no_grad():
        other = launch(0)
        mine = tensor(address, *shape)
        if mine.dim() == 4:
            mine = mine.transpose(1, 2)
        return (mine.float() - other.float().reshape(mine.shape)).abs().max().item()
