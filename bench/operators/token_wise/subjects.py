"""The operators under measurement: their tensors in several sets, our call, and the bytes that the call must move.

A subject is one operator in the shapes of a model at a number of tokens. Its sets are like the layers of a model: copies of all that the call
reads and writes, weights and caches included, so that launches that take one after the other find nothing in the L2 cache. What the layers of a
step share, all sets share: positions, page tables and the table of cosines. Queries, keys and values lie side by side in the rows of one
matrix, gate and up in those of another, as projections leave them."""

import types

import torch

import cells
import contracts

FEW_SETS = 128
ARENA_BYTES = 640 << 20  # of all sets together, where tokens are many
TABLE_POSITIONS = 32768
DECODE_CONTEXT = 2048  # tokens that a sequence of a decode step has room for
DECODE_PAGES = 64  # of a cache, most of which the call does not touch


class Workplace:
    """The device, our library, and what all subjects share."""

    def __init__(self, library, device, stream):
        self.library, self.device, self.stream = library, device, stream
        host = torch.empty(TABLE_POSITIONS, 128)
        library.call("rotary_table", contracts.RotaryTableArgs(positions=TABLE_POSITIONS, head_dim=128, scaling=contracts.UNSCALED,
                                                               base=cells.ROPE_BASE, table=host.data_ptr()))
        self.table = host.to(device)

    def normals(self, *shape):
        return torch.randn(*shape, device=self.device, dtype=torch.bfloat16)

    def empty(self, *shape):
        return torch.empty(*shape, device=self.device, dtype=torch.bfloat16)

    def weight(self, columns):
        return self.normals(columns) * 0.1 + 1

    def integers(self, values):
        return torch.tensor(values, device=self.device, dtype=torch.int32)


class Subject:
    """Defines: operator, shape, reads and writes of `bytes` each, tensors() -> one set, tik(set) -> the name and arguments of our call,
    outputs(set) -> what the call wrote."""

    def __init__(self, workplace, model, tokens):
        self.workplace, self.model, self.tokens = workplace, model, tokens
        self.few = tokens <= max(cells.FEW)
        self.shared = self.shared_tensors()
        moved = (self.reads + self.writes) * self.bytes
        count = FEW_SETS if self.few else max(2, min(64, ARENA_BYTES // moved))
        self.sets = [self.tensors() for _ in range(count)]

    def shared_tensors(self):
        """What all sets share."""
        return None

    def launcher(self):
        calls = [self.tik(s) for s in self.sets]
        for _, args in calls:
            args.stream = self.workplace.stream

        def launch(i):
            self.workplace.library.call(*calls[i % len(calls)])

        return launch


class RmsNorm(Subject):
    operator = "rms_norm"
    residual = False

    def __init__(self, workplace, model, tokens):
        self.shape = f"{model.name} {model.hidden}"
        self.reads = self.writes = 2 if self.residual else 1
        self.bytes = tokens * model.hidden * 2
        super().__init__(workplace, model, tokens)

    def tensors(self):
        w, shape = self.workplace, (self.tokens, self.model.hidden)
        s = types.SimpleNamespace(x=w.normals(*shape), weight=w.weight(self.model.hidden), out=w.empty(*shape))
        if self.residual:
            s.residual, s.sum = w.normals(*shape), w.empty(*shape)
        return s

    def tik(self, s):
        args = contracts.RmsNormArgs(tokens=self.tokens, heads=1, columns=self.model.hidden, epsilon=cells.EPSILON, x=contracts.rows(s.x),
                                     weight=s.weight.data_ptr(), out=contracts.rows(s.out), weight_settled=1)
        if self.residual:
            args.residual, args.sum = contracts.rows(s.residual), contracts.rows(s.sum)
        return "rms_norm", args

    def outputs(self, s):
        return [s.sum, s.out] if self.residual else [s.out]


class RmsNormResidual(RmsNorm):
    operator = "rms_norm_residual"
    residual = True


class _OfHeads(Subject):
    """Its sets hold a matrix of queries, keys and values, and views of it as heads. Where tokens are many they are one sequence, else each is
    the next token of a sequence of its own."""
    reads = writes = 1

    def __init__(self, workplace, model, tokens):
        self.bytes = tokens * self.heads(model) * model.head_dim * 2
        super().__init__(workplace, model, tokens)

    def qkv(self):
        model = self.model
        matrix = self.workplace.normals(self.tokens, model.qkv_columns)
        heads = matrix.view(self.tokens, -1, model.head_dim)
        return types.SimpleNamespace(shared=self.shared, heads=heads, q=heads[:, :model.query_heads], k=heads[:, model.query_heads:-model.kv_heads],
                                     v=heads[:, -model.kv_heads:])

    def shared_tensors(self):
        w, tokens, page = self.workplace, self.tokens, cells.PAGE_SIZE
        positions = torch.tensor([1000 + 37 * t for t in range(tokens)] if self.few else range(tokens), dtype=torch.int32)
        pages = DECODE_PAGES if self.few else tokens // page
        order = torch.randperm(pages, generator=torch.Generator().manual_seed(1), dtype=torch.int32)
        if self.few:
            table = torch.zeros(tokens, DECODE_CONTEXT // page, dtype=torch.int32)
            table[torch.arange(tokens), positions.long() // page] = order[:tokens]
        else:
            table = order[None]
        own = order[:tokens] if self.few else order.repeat_interleave(page)
        slots = own.long() * page + positions.long() % page
        return types.SimpleNamespace(positions=positions.to(w.device), table=w.table, pages=pages, page_table=table.to(w.device),
                                     slots=slots.to(w.device), sequences=None if self.few else torch.zeros(tokens, dtype=torch.int32).to(w.device))

    def like(self, heads):
        return self.workplace.empty(self.tokens, heads, self.model.head_dim)

    def with_cache(self, s):
        """The set with a cache: pages of keys and of values, and the same as [slots, kv_heads, head_dim]."""
        shape = (self.shared.pages, cells.PAGE_SIZE, self.model.kv_heads, self.model.head_dim)
        s.k_cache, s.v_cache = (self.workplace.empty(*shape).zero_() for _ in range(2))
        s.k_slots, s.v_slots = (cache.view(-1, *shape[2:]) for cache in (s.k_cache, s.v_cache))
        return s

    def target(self, s):
        kv_heads, dim, page, shared = self.model.kv_heads, self.model.head_dim, cells.PAGE_SIZE, self.shared
        view = contracts.KvView(layout=contracts.PAGED, page_size=page, keys=s.k_cache.data_ptr(), values=s.v_cache.data_ptr(),
                                page_stride=page * kv_heads * dim, token_stride=kv_heads * dim, head_stride=dim,
                                page_table=shared.page_table.data_ptr(), page_table_stride=shared.page_table.shape[1], page_count=shared.pages)
        return contracts.KvTarget(view, shared.page_table.shape[0], DECODE_CONTEXT if self.few else self.tokens, 1,
                                  None if self.few else shared.sequences.data_ptr(), shared.positions.data_ptr())

    def written(self, s):
        """The rows of keys and values in the cache, [tokens, kv_heads, 128] each."""
        return [slots[self.shared.slots] for slots in (s.k_slots, s.v_slots)]


class QkNorm(_OfHeads):
    operator = "qk_norm"

    def __init__(self, workplace, model, tokens):
        self.shape = f"{model.name} {model.query_heads} heads x {model.head_dim}"
        super().__init__(workplace, model, tokens)

    @staticmethod
    def heads(model):
        return model.query_heads

    def tensors(self):
        s = self.qkv()
        s.weight, s.out = self.workplace.weight(self.model.head_dim), self.like(self.model.query_heads)
        return s

    def tik(self, s):
        return "rms_norm", contracts.RmsNormArgs(tokens=self.tokens, heads=self.model.query_heads, columns=self.model.head_dim,
                                                 epsilon=cells.EPSILON, x=contracts.rows(s.q), weight=s.weight.data_ptr(), out=contracts.rows(s.out), weight_settled=1)

    def outputs(self, s):
        return [s.out]


class Rotary(_OfHeads):
    operator = "rotary"

    def __init__(self, workplace, model, tokens):
        self.shape = f"{model.name} {model.query_heads} + {model.kv_heads} heads x {model.head_dim}"
        super().__init__(workplace, model, tokens)

    @staticmethod
    def heads(model):
        return model.query_heads + model.kv_heads

    def tensors(self):
        s = self.qkv()
        s.q_out, s.k_out = self.like(self.model.query_heads), self.like(self.model.kv_heads)
        return s

    def tik(self, s):
        return "rotary", contracts.RotaryArgs(tokens=self.tokens, query_heads=self.model.query_heads, key_heads=self.model.kv_heads,
                                              head_dim=self.model.head_dim, settled=1, table_positions=TABLE_POSITIONS, table=s.shared.table.data_ptr(),
                                              positions=s.shared.positions.data_ptr(), queries=contracts.rows(s.q), keys=contracts.rows(s.k),
                                              queries_out=contracts.rows(s.q_out), keys_out=contracts.rows(s.k_out))

    def outputs(self, s):
        return [s.q_out, s.k_out]


class KvWrite(_OfHeads):
    operator = "kv_write"

    def __init__(self, workplace, model, tokens):
        self.shape = f"{model.name} 2 x {model.kv_heads} heads x {model.head_dim}, pages of {cells.PAGE_SIZE}"
        super().__init__(workplace, model, tokens)

    @staticmethod
    def heads(model):
        return 2 * model.kv_heads

    def tensors(self):
        return self.with_cache(self.qkv())

    def tik(self, s):
        return "kv_write", contracts.KvWriteArgs(tokens=self.tokens, kv_heads=self.model.kv_heads, head_dim=self.model.head_dim,
                                                 keys=contracts.rows(s.k), values=contracts.rows(s.v), target=self.target(s))

    def outputs(self, s):
        return self.written(s)


class QkNormRopeKvWrite(_OfHeads):
    operator = "qk_norm_rope_kv_write"

    def __init__(self, workplace, model, tokens):
        norm = "" if model.qk_norm else ", no norm"
        self.shape = f"{model.name} {model.query_heads} + 2 x {model.kv_heads} heads x {model.head_dim}, pages of {cells.PAGE_SIZE}{norm}"
        super().__init__(workplace, model, tokens)

    @staticmethod
    def heads(model):
        return model.query_heads + 2 * model.kv_heads

    def tensors(self):
        s = self.with_cache(self.qkv())
        s.q_out = self.like(self.model.query_heads)
        s.q_weight, s.k_weight = [self.workplace.weight(self.model.head_dim) if self.model.qk_norm else None for _ in range(2)]
        return s

    def tik(self, s):
        weights = [weight.data_ptr() if weight is not None else None for weight in (s.q_weight, s.k_weight)]
        return "qk_norm_rope_kv_write", contracts.QkNormRopeKvWriteArgs(
            tokens=self.tokens, query_heads=self.model.query_heads, kv_heads=self.model.kv_heads, head_dim=self.model.head_dim,
            epsilon=cells.EPSILON, queries=contracts.rows(s.q), keys=contracts.rows(s.k), values=contracts.rows(s.v), query_weight=weights[0],
            key_weight=weights[1], table_positions=TABLE_POSITIONS, table=s.shared.table.data_ptr(), queries_out=contracts.rows(s.q_out),
            target=self.target(s))

    def outputs(self, s):
        return [s.q_out, *self.written(s)]


class Swiglu(Subject):
    operator = "swiglu"
    reads, writes = 2, 1

    def __init__(self, workplace, model, tokens):
        self.shape = f"{model.name} {model.intermediate}"
        self.bytes = tokens * model.intermediate * 2
        super().__init__(workplace, model, tokens)

    def tensors(self):
        matrix = self.workplace.normals(self.tokens, 2 * self.model.intermediate)
        gate, up = matrix.chunk(2, dim=1)
        return types.SimpleNamespace(gate=gate, up=up, out=self.workplace.empty(self.tokens, self.model.intermediate))

    def tik(self, s):
        return "swiglu", contracts.SwigluArgs(tokens=self.tokens, columns=self.model.intermediate, gate=contracts.rows(s.gate), up=contracts.rows(s.up),
                                              out=contracts.rows(s.out))

    def outputs(self, s):
        return [s.out]


def subjects(workplace, model, operators=None):
    """Every subject of a model, or those of some operators, the few tokens first; made when they are asked for."""
    kinds = [RmsNorm, RmsNormResidual, *([QkNorm] if model.qk_norm else []), Rotary, Swiglu, KvWrite, QkNormRopeKvWrite]
    for tokens in (*cells.FEW, *cells.MANY):
        for kind in kinds:
            if operators and kind.operator not in operators:
                continue
            yield lambda kind=kind, tokens=tokens: kind(workplace, model, tokens)
