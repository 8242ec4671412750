"""What is measured: every projection of three models at numbers of rows from decode to prefill, and the heads of the models."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Projection:
    model: str
    name: str
    out_features: int
    in_features: int


PROJECTIONS = [
    Projection("Qwen2.5-1.5B", "qkv", 2048, 1536),
    Projection("Qwen2.5-1.5B", "o", 1536, 1536),
    Projection("Qwen2.5-1.5B", "gate_up", 17920, 1536),
    Projection("Qwen2.5-1.5B", "down", 1536, 8960),
    Projection("Qwen3-4B", "qkv", 6144, 2560),
    Projection("Qwen3-4B", "o", 2560, 4096),
    Projection("Qwen3-4B", "gate_up", 19456, 2560),
    Projection("Qwen3-4B", "down", 2560, 9728),
    Projection("Qwen3-8B", "qkv", 6144, 4096),
    Projection("Qwen3-8B", "o", 4096, 4096),
    Projection("Qwen3-8B", "gate_up", 24576, 4096),
    Projection("Qwen3-8B", "down", 4096, 12288),
]
ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096, 16384]

HEADS = [("Qwen2.5-1.5B", 1536), ("Qwen3-4B", 2560), ("Qwen3-8B", 4096)]
VOCABULARY = 151936
HEAD_TOKENS = 4096
