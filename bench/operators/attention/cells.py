"""What is measured: the paper's grid and the head shapes of models in use, and what others published for the same cells."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HeadShape:
    name: str
    query_heads: int
    kv_heads: int
    head_dim: int = 128


@dataclass(frozen=True)
class Cell:
    entry: str  # full, extend or decode
    query_heads: int
    kv_heads: int
    head_dim: int
    batch: int
    tokens: int  # keys of a sequence
    query_tokens: int  # of a sequence, the last of its keys

    def kv_bytes(self):
        """Bytes of the keys, as of the values, of one call."""
        return self.batch * self.tokens * self.kv_heads * self.head_dim * 2

    def operations(self):
        """Two products, each a multiplication and an addition, over the keys that each query token sees; of a full sequence over half of
        the square, as others count."""
        seen = self.query_tokens * (self.tokens - self.query_tokens / 2)
        return 4 * self.head_dim * self.query_heads * seen * self.batch

    def title(self):
        chunk = f"{self.query_tokens} of " if self.entry == "extend" else ""
        return f"{self.entry} {self.query_heads}/{self.kv_heads}x{self.head_dim} batch {self.batch} tokens {chunk}{self.tokens}"


PAPER_SHAPE = HeadShape("Qwen3-4B/8B", 32, 8)
HEAD_SHAPES = [
    PAPER_SHAPE,
    HeadShape("Qwen2.5-1.5B", 12, 2),
    HeadShape("Qwen3-30B-A3B", 32, 4),
    HeadShape("Qwen3-235B-A22B", 64, 4),
]
FULL_TOKENS = [1024, 4096, 8192, 16384]
DECODE_TOKENS = [128, 1024, 4096, 8192]
DECODE_BATCHES = [1, 4, 8, 16]
# (batch, query tokens, cached before): two chunks of a prefill, a step of speculative decoding.
EXTENDS = [(1, 2048, 8192), (1, 256, 4096), (8, 4, 4092)]

PUBLISHED_SOURCE = (
    "measured once on one NVIDIA H200, driver 580, CUDA 13.0, 2026-11-29, median of 7-9 replays of a CUDA graph of 10-64 launches; "
    "flashinfer: published report, best route; areal_tik: the published AReaL-TIK kernel, its own report. Not measured in this run."
)

# Microseconds for PAPER_SHAPE: full by tokens, decode by (tokens, batch). None of these ran beside ours.
PUBLISHED_FULL = {
    "flash_attention_3": {1024: 21.7, 4096: 199, 8192: 786, 16384: 3290},
    "areal_tik": {1024: 25.1, 4096: 289, 8192: 1101, 16384: 4315},
}
PUBLISHED_DECODE = {
    "flash_attention_3": {
        (128, 1): 11.4, (128, 4): 12.2, (128, 8): 12.0, (128, 16): 12.6,
        (1024, 1): 13.8, (1024, 4): 17.7, (1024, 8): 21.0, (1024, 16): 27.8,
        (4096, 1): 17.7, (4096, 4): 29.3, (4096, 8): 46.5, (4096, 16): 81.8,
        (8192, 1): 21.1, (8192, 4): 46.6, (8192, 8): 83.2, (8192, 16): 154,
    },
    "flashinfer": {
        (128, 1): 5.8, (128, 4): 6.1, (128, 8): 6.3, (128, 16): 6.9,
        (1024, 1): 8.7, (1024, 4): 11.3, (1024, 8): 14.8, (1024, 16): 28.1,
        (4096, 1): 11.7, (4096, 4): 27.5, (4096, 8): 42.6, (4096, 16): 72.9,
        (8192, 1): 15.2, (8192, 4): 42.3, (8192, 8): 71.5, (8192, 16): 134,
    },
    "areal_tik": {
        (128, 1): 3.5, (128, 4): 3.6, (128, 8): 3.7, (128, 16): 4.4,
        (1024, 1): 10.2, (1024, 4): 11.5, (1024, 8): 13.7, (1024, 16): 21.2,
        (4096, 1): 27.2, (4096, 4): 37.2, (4096, 8): 48.4, (4096, 16): 74.4,
        (8192, 1): 50.1, (8192, 4): 70.1, (8192, 8): 88.6, (8192, 16): 154,
    },
}


def cells(shapes=HEAD_SHAPES):
    for shape in shapes:
        heads = (shape.query_heads, shape.kv_heads, shape.head_dim)
        for tokens in FULL_TOKENS:
            yield Cell("full", *heads, 1, tokens, tokens)
        for batch, query_tokens, before in EXTENDS:
            yield Cell("extend", *heads, batch, before + query_tokens, query_tokens)
        for tokens in DECODE_TOKENS:
            for batch in DECODE_BATCHES:
                yield Cell("decode", *heads, batch, tokens, 1)


def published(cell):
    """Others' figures for this cell by name; empty for other head shapes."""
    if (cell.query_heads, cell.kv_heads, cell.head_dim) != (32, 8, 128) or cell.entry == "extend":
        return {}
    if cell.entry == "full":
        return {name: table[cell.tokens] for name, table in PUBLISHED_FULL.items()}
    return {name: table[cell.tokens, cell.batch] for name, table in PUBLISHED_DECODE.items()}
