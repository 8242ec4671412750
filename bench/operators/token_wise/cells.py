"""What is measured: the operators that treat every token alike, in the shapes of three models, at numbers of tokens of decode and prefill."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    name: str
    hidden: int
    query_heads: int
    kv_heads: int
    intermediate: int
    qk_norm: bool
    head_dim: int = 128

    @property
    def qkv_columns(self):
        """Of the matrix that holds queries, keys and values side by side."""
        return (self.query_heads + 2 * self.kv_heads) * self.head_dim


MODELS = [
    Model("Qwen2.5-1.5B", 1536, 12, 2, 8960, False),
    Model("Qwen3-4B", 2560, 32, 8, 9728, True),
    Model("Qwen3-8B", 4096, 32, 8, 12288, True),
]
FEW = (1, 4, 16)  # tokens of a decode step
MANY = (1024, 4096, 16384)  # tokens of a prefill or of a policy update
EPSILON = 1e-6
ROPE_BASE = 1e6
PAGE_SIZE = 16
