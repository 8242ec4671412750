#!/usr/bin/env python3
"""Measures attention's backward on a Hopper GPU beside PyTorch's, in one run.

  bench.py --library libtik_operators_sm90.so [--json FILE] [--quick] [--seconds N]

For every cell: the median of replays of CUDA graphs of one call, ours and the peers' in an order that changes each round, each after the L2 cache was
overwritten. Peers are the backward of torch.nn.functional.scaled_dot_product_attention through cuDNN and through FlashAttention-2, causal,
one sequence, with keys and values of the same heads as ours (enable_gqa), as they run by default and, where PyTorch offers it,
with deterministic algorithms. TFLOP/s count five products over half of the square. Errors are the largest against float64, as a part of
the tensor's largest magnitude, up to 1024 tokens; at more, the largest differences of the peers' gradients from ours.
"""

import json
import pathlib
import statistics
import sys
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path += [str(FOLDER.parent), str(FOLDER.parents[2] / "operators")]

import contracts
import result
import timer as timing

ROUNDS = 9
# query heads, key/value heads, head_dim, tokens
CELLS = [(32, 8, 128, tokens) for tokens in (1024, 2048, 4096, 8192, 16384)] + [(12, 2, 128, 4096), (14, 2, 64, 4096)]
PEERS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash_attention_2": SDPBackend.FLASH_ATTENTION}
WITH_FLOAT64 = 1024  # tokens up to which errors are computed


class Cell:
    def __init__(self, library, attention, timer, query_heads, kv_heads, head_dim, tokens):
        self.heads, self.tokens, self.timer = (query_heads, kv_heads, head_dim), tokens, timer
        self.library = library

        def rows(heads):
            return torch.randn(tokens, heads, head_dim, device="cuda", dtype=torch.bfloat16)

        self.q, self.k, self.v, self.g = rows(query_heads), rows(kv_heads), rows(kv_heads), rows(query_heads)
        self.out, self.lse = torch.empty_like(self.q), torch.empty(tokens, query_heads, device="cuda")
        self.gradients = [torch.empty_like(tensor) for tensor in (self.q, self.k, self.v)]
        self.offsets = torch.tensor([0, tokens], device="cuda", dtype=torch.int32)
        self.forward(attention)
        self.args = self.backward_args()

    def forward(self, attention):
        query_heads, kv_heads, dim = self.heads
        shape = contracts.attention_shape(*self.heads)
        limits = contracts.Limits(1, self.tokens, self.tokens, self.tokens)
        size = attention.bytes("workspace", contracts.c.byref(shape), contracts.c.byref(limits))
        workspace = torch.zeros(max(size, 1), dtype=torch.uint8, device="cuda")
        kv = contracts.KvView(layout=contracts.PACKED, keys=self.k.data_ptr(), values=self.v.data_ptr(), token_stride=kv_heads * dim,
                              head_stride=dim)
        attention.call("full", contracts.AttentionArgs(
            batch=1, shape=shape, limits=limits, queries=self.q.data_ptr(), query_token_stride=query_heads * dim, query_head_stride=dim,
            query_offsets=self.offsets.data_ptr(), kv=kv, out=self.out.data_ptr(), out_token_stride=query_heads * dim, out_head_stride=dim,
            lse=self.lse.data_ptr(), workspace=workspace.data_ptr() if size else None, workspace_bytes=size))
        torch.cuda.synchronize()

    def backward_args(self):
        rows, query_heads = contracts.rows, self.heads[0]
        size = self.library.bytes("attention_full_backward_workspace", self.tokens, query_heads)
        self.workspace = torch.empty(size, dtype=torch.uint8, device="cuda")
        return contracts.AttentionFullBackwardArgs(
            batch=1, tokens=self.tokens, longest=self.tokens, shape=contracts.attention_shape(*self.heads),
            query_offsets=self.offsets.data_ptr(), queries=rows(self.q), keys=rows(self.k), values=rows(self.v), out=rows(self.out),
            lse=self.lse.data_ptr(), out_gradient=rows(self.g), query_gradient=rows(self.gradients[0]),
            key_gradient=rows(self.gradients[1]), value_gradient=rows(self.gradients[2]), workspace=self.workspace.data_ptr(),
            workspace_bytes=size, stream=self.timer.stream.cuda_stream)

    def tik(self):
        self.library.call("attention_full_backward", self.args)

    def peer(self, backend):
        """A backward call of PyTorch, [1, heads, tokens, head_dim] as it takes them, and its gradients."""
        q, k, v, g = (tensor.transpose(0, 1)[None].detach() for tensor in (self.q, self.k, self.v, self.g))
        inputs = [tensor.requires_grad_() for tensor in (q, k, v)]
        with torch.cuda.stream(self.timer.stream), sdpa_kernel(backend):
            out = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True, enable_gqa=True)
            return lambda: torch.autograd.grad(out, inputs, g, retain_graph=True)

    def exact(self):
        query_heads, kv_heads, dim = self.heads
        inputs = [tensor.double().transpose(0, 1).detach().requires_grad_() for tensor in (self.q, self.k, self.v)]
        q, k, v = inputs[0], *(tensor.repeat_interleave(query_heads // kv_heads, 0) for tensor in inputs[1:])
        scores = (q @ k.transpose(1, 2)) * dim**-0.5
        hidden = torch.ones(self.tokens, self.tokens, device="cuda", dtype=torch.bool).triu(1)
        out = scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v
        return [gradient.transpose(0, 1) for gradient in torch.autograd.grad(out, inputs, self.g.double().transpose(0, 1))]

    def measure(self):
        contenders, results = {"tik": self.timer.capture(lambda _: self.tik(), 1)}, {}
        first = [gradient.clone() for gradient in self.gradients]
        for name, backend in PEERS.items():
            for deterministic in (False, True):
                label = name + (" deterministic" if deterministic else "")
                torch.use_deterministic_algorithms(deterministic)
                torch.utils.deterministic.fill_uninitialized_memory = False  # it would be timed with the peer
                try:
                    call = self.peer(backend)
                    results[label] = [gradient[0].transpose(0, 1) for gradient in call()]
                    contenders[label] = self.timer.capture(lambda _, call=call: call(), 1)
                except RuntimeError as error:
                    print(f"  {label} {self.heads} {self.tokens}: {str(error).splitlines()[0]}", file=sys.stderr)
                torch.use_deterministic_algorithms(False)
        samples = result.in_turns(contenders, ROUNDS, self.timer.time)
        same = all(torch.equal(a, b) for a, b in zip(first, self.gradients))
        median = {name: round(statistics.median(values), 3) for name, values in samples.items()}
        query_heads, kv_heads, dim = self.heads
        operations = 5 * 2 * query_heads * dim * self.tokens * self.tokens / 2
        cell = {"operator": "attention_full_backward", "shape": f"{query_heads}/{kv_heads}x{dim}", "rows": self.tokens,
                "tik_us": median.pop("tik"), "peers": median}
        cell["tik_tflops"] = round(operations / cell["tik_us"] / 1e6, 1)
        cell["last_repeat_has_same_bits"] = same
        if self.tokens <= WITH_FLOAT64:
            exact = self.exact()
            cell["largest_errors"] = {name: differences(gradients, exact) for name, gradients in [("tik", self.gradients), *results.items()]}
        else:
            cell["peers_differ_by"] = {name: differences(gradients, self.gradients) for name, gradients in results.items()}
        cell["samples_us"] = result.rounded(samples)
        return cell


def differences(gradients, from_these):
    """The largest difference of each gradient, as a part of the largest magnitude of what it is compared with."""
    return [round(((a.double() - b.double()).abs().max() / b.double().abs().max()).item(), 6)
            for a, b in zip(gradients, from_these, strict=True)]


def line_of(cell):
    peers = "  ".join(f"{name} {us:.1f} ({us / cell['tik_us']:.3f})" for name, us in cell["peers"].items())
    return (f"{cell['shape']:10} {cell['rows']:6} {cell['tik_us']:9.1f} us {cell['tik_tflops']:6.1f} TFLOP/s  same bits "
            f"{cell['last_repeat_has_same_bits']}  {peers}  {cell.get('largest_errors') or cell['peers_differ_by']}")


def write(options, machine, left_out, measured):
    if options.json:
        result.write(options.json, {"commit": options.commit, "command": options.command, "machine": machine,
                                    "method": result.method(__doc__), "rounds": ROUNDS, "not_measured": left_out}, measured)


def main():
    parser = result.parser(__doc__)
    parser.add_argument("--library", required=True, help="the shared library of the operators")
    options = parser.parse_args()
    started = time.time()
    torch.manual_seed(1)
    timer = timing.Timer()
    library, attention = contracts.Operators(options.library), contracts.Attention(options.library)
    machine = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
               "cudnn": torch.backends.cudnn.version()}
    print(json.dumps(machine))
    measured, left_out = [], []
    for heads in CELLS[2:3] if options.quick else CELLS:
        if time.time() - started > options.seconds:
            left_out.append(str(heads))
        else:
            measured.append(Cell(library, attention, timer, *heads).measure())
            print(line_of(measured[-1]), flush=True)
            torch.cuda.empty_cache()
        write(options, machine, left_out, measured)


if __name__ == "__main__":
    main()
