"""The same operators through PyTorch: `unfused` as Megatron writes them without its fusions (RMSNorm as in its legacy module; Megatron-Core itself
wraps PyTorch's, which is in `torch`; RoPE as Megatron-Core's function for batches), `torch` with PyTorch's own fused functions, `torch_compile` as
Inductor makes one kernel of plain source. A function takes a set (subjects.py) and returns the outputs of our call; those that write into the
cache return what they wrote from there."""

import torch
from torch.nn.functional import rms_norm, silu

import cells

MAGNITUDE_SCALE = 1.0  # of cosines and sines: Megatron-Core multiplies by it whatever it is


def plain_norm(x, weight):
    """RMSNorm in fp32 between bfloat16 tensors, as an eager module spells it."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + cells.EPSILON)).type_as(x) * weight


def fused_norm(x, weight):
    return rms_norm(x, weight.shape, weight, cells.EPSILON)


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def megatron_rotary(x, angles):
    """x: [tokens, 1, heads, head_dim]; angles: [tokens, 1, 1, head_dim] in fp32. Cosines and sines are made in every call."""
    turned, kept = x[..., :angles.shape[-1]], x[..., angles.shape[-1]:]
    cosines, sines = ((function(angles) * MAGNITUDE_SCALE).to(x.dtype) for function in (torch.cos, torch.sin))
    turned = turned * cosines + rotate_half(turned) * sines
    return torch.cat((turned, kept), dim=-1)


def table_rotary(x, table, positions):
    """From the table of cosines and sines that our call reads, in fp32."""
    cosines, sines = table[positions][:, None].chunk(2, dim=-1)
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat((first * cosines - second * sines, second * cosines + first * sines), dim=-1).to(x.dtype)


def write(s, keys, values, by_index_put=False):
    for slots, rows in ((s.k_slots, keys), (s.v_slots, values)):
        if by_index_put:
            slots[s.shared.slots] = rows
        else:
            slots.index_copy_(0, s.shared.slots, rows)


def normed(s, norm):
    if s.q_weight is None:
        return s.q, s.k
    return norm(s.q, s.q_weight), norm(s.k, s.k_weight)


def residual(s, norm):
    total = s.x + s.residual
    return [total, norm(total, s.weight)]


def rotary(s):
    return [table_rotary(s.q, s.shared.table, s.shared.positions), table_rotary(s.k, s.shared.table, s.shared.positions)]


def step(s, norm, by_index_put=False):
    """QK-norm, RoPE and the write into the cache."""
    q, k = normed(s, norm)
    write(s, table_rotary(k, s.shared.table, s.shared.positions), s.v, by_index_put)
    return [table_rotary(q, s.shared.table, s.shared.positions)]


def unfused_rotary(s):
    return [megatron_rotary(x.unsqueeze(1), s.shared.angles)[:, 0] for x in (s.q, s.k)]


def unfused_step(s):
    q, k = normed(s, plain_norm)
    q, k = (megatron_rotary(x.unsqueeze(1), s.shared.angles)[:, 0] for x in (q, k))
    write(s, k, s.v)
    return [q]


UNFUSED = {
    "rms_norm": lambda s: [plain_norm(s.x, s.weight)],
    "rms_norm_residual": lambda s: residual(s, plain_norm),
    "qk_norm": lambda s: [plain_norm(s.q, s.weight)],
    "rotary": unfused_rotary,
    "swiglu": lambda s: [silu(s.gate) * s.up],
    "kv_write": lambda s: write(s, s.k, s.v),
    "qk_norm_rope_kv_write": unfused_step,
}
FUSED = {  # operator: {way: function}
    "rms_norm": {"rms_norm": lambda s: [fused_norm(s.x, s.weight)]},
    "rms_norm_residual": {"add, rms_norm": lambda s: residual(s, fused_norm)},
    "qk_norm": {"rms_norm": lambda s: [fused_norm(s.q, s.weight)]},
    "rotary": {"eager": rotary},
    "swiglu": {"silu, mul": lambda s: [silu(s.gate) * s.up]},
    "kv_write": {"index_copy_": lambda s: write(s, s.k, s.v), "index_put_": lambda s: write(s, s.k, s.v, True)},
    "qk_norm_rope_kv_write": {"rms_norm, eager, index_copy_": lambda s: step(s, fused_norm)},
}
PLAIN = {  # what is compiled
    "rms_norm": UNFUSED["rms_norm"],
    "rms_norm_residual": UNFUSED["rms_norm_residual"],
    "qk_norm": UNFUSED["qk_norm"],
    "rotary": rotary,
    "swiglu": UNFUSED["swiglu"],
    "kv_write": lambda s: write(s, s.k, s.v, True),
    "qk_norm_rope_kv_write": lambda s: step(s, plain_norm, True),
}


def with_angles(subject):
    """Gives a subject of heads the angles that Megatron-Core's functions start from."""
    half = torch.arange(0, subject.model.head_dim, 2, device=subject.workplace.device, dtype=torch.float64) / subject.model.head_dim
    angles = subject.shared.positions.double()[:, None] * cells.ROPE_BASE ** -half
    subject.shared.angles = torch.cat((angles, angles), dim=-1).float()[:, None, None]


def _launch(subject, function):
    return lambda i: function(subject.sets[i % len(subject.sets)])


def ways(subject, compiled):
    """{peer: {way: launch}}; with `compiled`, torch_compile too."""
    if subject.shared:
        with_angles(subject)
    found = {"unfused": {"eager": _launch(subject, UNFUSED[subject.operator])},
             "torch": {way: _launch(subject, function) for way, function in FUSED[subject.operator].items()}}
    if compiled:
        torch._dynamo.reset()
        found["torch_compile"] = {"default": _launch(subject, torch.compile(PLAIN[subject.operator], dynamic=False))}
    return found
