"""FlashAttention-3, where its wheel is installed (fa3-fwd: the forward kernels alone, without pages), on the memory that the operator under
test reads.

Ways: the number of parts that keys are split into (0: its own choice), and whether the query heads of a group share a tile."""

import importlib.metadata

import fa3_fwd_interface
from peers import tensor

VERSION = importlib.metadata.version("fa3_fwd")
SPLITS = (0, 1, 2, 4, 8, 16, 32)


def _way(cell, sets, splits, packed):
    def launch(i):
        q, k, v = sets[i % len(sets)]
        keys = (cell.batch, cell.tokens, cell.kv_heads, cell.head_dim)
        return fa3_fwd_interface.flash_attn_with_kvcache(
            tensor(q, cell.batch, cell.query_tokens, cell.query_heads, cell.head_dim), tensor(k, *keys), tensor(v, *keys),
            causal=cell.query_tokens > 1, num_splits=splits, pack_gqa=packed)

    return launch


def _ways(cell, sets, splits, packings):
    return {"flash_attention_3": {f"splits {count}, packed {packed}": _way(cell, sets, count, packed)
                                  for count in splits for packed in packings}}


def full_ways(cell, sets):
    return _ways(cell, sets, (1,), (None, False, True))


def decode_ways(cell, sets):
    return _ways(cell, sets, SPLITS, (True,))


def extend_ways(cell, sets):
    return _ways(cell, sets, (0, 1), (None,))
