"""The same operators as Triton kernels: one launch each, whole rows or heads in a program, fp32 between bfloat16 tensors. Each is tried with
several numbers of warps, and with programmatic dependent launch (`triton_pdl`), with which our kernels are launched, too."""

import torch
import triton
import triton.language as tl

import cells


@triton.jit
def begin(PDL: tl.constexpr):
    if PDL:
        tl.extra.cuda.gdc_wait()


@triton.jit
def loaded(PDL: tl.constexpr):
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()


@triton.jit
def rms_norm_kernel(x, residual, weight, total, out, columns, epsilon, COLUMNS: tl.constexpr, RESIDUAL: tl.constexpr, PDL: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    column = tl.arange(0, COLUMNS)
    inside = column < columns
    begin(PDL)
    numbers = tl.load(x + row + column, mask=inside, other=0.0)
    scale = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    if RESIDUAL:
        numbers = (numbers.to(tl.float32) + tl.load(residual + row + column, mask=inside, other=0.0).to(tl.float32)).to(tl.bfloat16)
    loaded(PDL)
    if RESIDUAL:
        tl.store(total + row + column, numbers, mask=inside)
    wide = numbers.to(tl.float32)
    inverse = tl.rsqrt(tl.sum(wide * wide, axis=0) / columns + epsilon)
    tl.store(out + row + column, (wide * inverse * scale).to(tl.bfloat16), mask=inside)


@triton.jit
def head_norm(x, weight, epsilon, DIM: tl.constexpr):
    """x: [heads, DIM] in fp32, normalised and rounded to bfloat16."""
    inverse = tl.rsqrt(tl.sum(x * x, axis=1) / DIM + epsilon)
    return (x * inverse[:, None] * weight[None, :]).to(tl.bfloat16)


@triton.jit
def qk_norm_kernel(x, weight, out, token_stride, heads, epsilon, HEADS: tl.constexpr, DIM: tl.constexpr, PDL: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    column = tl.arange(0, DIM)
    at = head[:, None] * DIM + column[None, :]
    inside = (head < heads)[:, None]
    begin(PDL)
    numbers = tl.load(x + token * token_stride + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.load(weight + column).to(tl.float32)
    loaded(PDL)
    tl.store(out + token * heads * DIM + at, head_norm(numbers, scale, epsilon, DIM), mask=inside)


@triton.jit
def rotary_kernel(x, table, positions, q_out, k_out, token_stride, q_heads, k_heads, HEADS: tl.constexpr, DIM: tl.constexpr,
                  PDL: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    column = tl.arange(0, DIM // 2)
    at = head[:, None] * DIM + column[None, :]
    inside = (head < q_heads + k_heads)[:, None]
    is_query = (head < q_heads)[:, None]
    begin(PDL)
    line = table + tl.load(positions + token).to(tl.int64) * DIM
    first = tl.load(x + token * token_stride + at, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(x + token * token_stride + at + DIM // 2, mask=inside, other=0.0).to(tl.float32)
    cosine = tl.load(line + column)[None, :]
    sine = tl.load(line + DIM // 2 + column)[None, :]
    loaded(PDL)
    low = (first * cosine - second * sine).to(tl.bfloat16)
    high = (second * cosine + first * sine).to(tl.bfloat16)
    queries = q_out + token * q_heads * DIM + at
    keys = k_out + (token * k_heads - q_heads) * DIM + at
    tl.store(queries, low, mask=is_query)
    tl.store(queries + DIM // 2, high, mask=is_query)
    tl.store(keys, low, mask=inside & (is_query == 0))
    tl.store(keys + DIM // 2, high, mask=inside & (is_query == 0))


@triton.jit
def swiglu_kernel(gate, up, out, token_stride, columns, COLUMNS: tl.constexpr, PDL: tl.constexpr):
    token = tl.program_id(1).to(tl.int64)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = column < columns
    begin(PDL)
    g = tl.load(gate + token * token_stride + column, mask=inside, other=0.0).to(tl.float32)
    u = tl.load(up + token * token_stride + column, mask=inside, other=0.0).to(tl.float32)
    loaded(PDL)
    tl.store(out + token * columns + column, (g * tl.sigmoid(g) * u).to(tl.bfloat16), mask=inside)


@triton.jit
def kv_write_kernel(keys, values, k_cache, v_cache, slots, token_stride, COLUMNS: tl.constexpr, PDL: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, COLUMNS)
    begin(PDL)
    slot = tl.load(slots + token)
    key = tl.load(keys + token * token_stride + column)
    value = tl.load(values + token * token_stride + column)
    loaded(PDL)
    tl.store(k_cache + slot * COLUMNS + column, key)
    tl.store(v_cache + slot * COLUMNS + column, value)


@triton.jit
def step_kernel(x, q_weight, k_weight, table, positions, slots, q_out, k_cache, v_cache, token_stride, q_heads, kv_heads, epsilon,
                HEADS: tl.constexpr, DIM: tl.constexpr, NORM: tl.constexpr, PDL: tl.constexpr):
    """QK-norm, RoPE and the write into the cache: a program takes heads of one kind. The halves of a head are loaded apart."""
    token = tl.program_id(0).to(tl.int64)
    first_head = tl.program_id(1) * HEADS
    head = first_head + tl.arange(0, HEADS)
    column = tl.arange(0, DIM // 2)
    at = head[:, None] * DIM + column[None, :]
    begin(PDL)
    position = tl.load(positions + token).to(tl.int64)
    slot = tl.load(slots + token)
    low = tl.load(x + token * token_stride + at)
    high = tl.load(x + token * token_stride + at + DIM // 2)
    is_query = first_head < q_heads
    if first_head < q_heads + kv_heads:
        line = table + position * DIM
        cosine = tl.load(line + column)[None, :]
        sine = tl.load(line + DIM // 2 + column)[None, :]
        a, b = low.to(tl.float32), high.to(tl.float32)
        if NORM:
            weight = q_weight if is_query else k_weight
            scale_low = tl.load(weight + column).to(tl.float32)[None, :]
            scale_high = tl.load(weight + DIM // 2 + column).to(tl.float32)[None, :]
            inverse = tl.rsqrt((tl.sum(a * a, axis=1) + tl.sum(b * b, axis=1)) / DIM + epsilon)[:, None]
            a = (a * inverse * scale_low).to(tl.bfloat16).to(tl.float32)
            b = (b * inverse * scale_high).to(tl.bfloat16).to(tl.float32)
        low = (a * cosine - b * sine).to(tl.bfloat16)
        high = (b * cosine + a * sine).to(tl.bfloat16)
    loaded(PDL)
    if is_query:
        target = q_out + token * q_heads * DIM + at
    elif first_head < q_heads + kv_heads:
        target = k_cache + (slot * kv_heads - q_heads) * DIM + at
    else:
        target = v_cache + (slot * kv_heads - q_heads - kv_heads) * DIM + at
    tl.store(target, low)
    tl.store(target + DIM // 2, high)


def _rms_norm(subject, s, warps, pdl):
    columns, residual = subject.model.hidden, hasattr(s, "residual")
    rms_norm_kernel[(subject.tokens,)](s.x, s.residual if residual else s.x, s.weight, s.sum if residual else s.out, s.out, columns,
                                       cells.EPSILON, triton.next_power_of_2(columns), residual, **_launch_options(warps, pdl))
    return subject.outputs(s)


def _qk_norm(subject, s, heads, warps, pdl):
    model = subject.model
    qk_norm_kernel[(subject.tokens, triton.cdiv(model.query_heads, heads))](s.q, s.weight, s.out, s.q.stride(0), model.query_heads,
                                                                            cells.EPSILON, heads, model.head_dim, **_launch_options(warps, pdl))
    return subject.outputs(s)


def _rotary(subject, s, heads, warps, pdl):
    model = subject.model
    rotary_kernel[(subject.tokens, triton.cdiv(model.query_heads + model.kv_heads, heads))](
        s.heads, s.shared.table, s.shared.positions, s.q_out, s.k_out, s.q.stride(0), model.query_heads, model.kv_heads, heads, model.head_dim,
        **_launch_options(warps, pdl))
    return subject.outputs(s)


def _swiglu(subject, s, columns, warps, pdl):
    wide = subject.model.intermediate
    swiglu_kernel[(triton.cdiv(wide, columns), subject.tokens)](s.gate, s.up, s.out, s.gate.stride(0), wide, columns,
                                                                **_launch_options(warps, pdl))
    return subject.outputs(s)


def _kv_write(subject, s, warps, pdl):
    kv_write_kernel[(subject.tokens,)](s.k, s.v, s.k_cache, s.v_cache, s.shared.slots, s.k.stride(0), subject.model.kv_heads * subject.model.head_dim,
                                       **_launch_options(warps, pdl))


def _step(subject, s, heads, warps, pdl):
    model = subject.model
    grid = (subject.tokens, (model.query_heads + 2 * model.kv_heads) // heads)
    step_kernel[grid](s.heads, s.q_weight, s.k_weight, s.shared.table, s.shared.positions, s.shared.slots, s.q_out, s.k_cache, s.v_cache, s.q.stride(0),
                      model.query_heads, model.kv_heads, cells.EPSILON, heads, model.head_dim, model.qk_norm, **_launch_options(warps, pdl))
    return [s.q_out]


def _launch_options(warps, pdl):
    return {"PDL": pdl, "num_warps": warps, **({"launch_pdl": True} if pdl else {})}


CONFIGURATIONS = {  # operator: (launch, its configurations)
    "rms_norm": (_rms_norm, [{"warps": 4}, {"warps": 8}, {"warps": 16}]),
    "rms_norm_residual": (_rms_norm, [{"warps": 4}, {"warps": 8}, {"warps": 16}]),
    "qk_norm": (_qk_norm, [{"heads": 1, "warps": 1}, {"heads": 4, "warps": 1}, {"heads": 8, "warps": 4}, {"heads": 32, "warps": 8}]),
    "rotary": (_rotary, [{"heads": 1, "warps": 1}, {"heads": 4, "warps": 1}, {"heads": 8, "warps": 4}, {"heads": 64, "warps": 8}]),
    "swiglu": (_swiglu, [{"columns": 256, "warps": 1}, {"columns": 1024, "warps": 4}, {"columns": 2048, "warps": 4},
                         {"columns": 4096, "warps": 8}]),
    "kv_write": (_kv_write, [{"warps": 1}, {"warps": 2}, {"warps": 4}]),
    "qk_norm_rope_kv_write": (_step, [{"heads": 1, "warps": 1}, {"heads": 2, "warps": 1}, {"heads": 2, "warps": 4}]),
}


def ways(subject, pdl):
    """{peer: {way: launch}} of every configuration; with `pdl`, also launched while the kernel before still runs."""
    launch, configurations = CONFIGURATIONS[subject.operator]

    def way(configuration, with_pdl):
        return lambda i: launch(subject, subject.sets[i % len(subject.sets)], **configuration, pdl=with_pdl)

    def named(configuration):
        return ", ".join(f"{name} {value}" for name, value in configuration.items())

    return {peer: {named(configuration): way(configuration, with_pdl) for configuration in configurations}
            for peer, with_pdl in (("triton", False), *((("triton_pdl", True),) if pdl else ()))}
