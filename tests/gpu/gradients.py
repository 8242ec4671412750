#!/usr/bin/env python3
"""Compares the gradients of every operator with PyTorch's autograd.

  gradients.py --library libtik_operators_sm90.so     on the GPU; with libtik_operators_cpu.so on the CPU
                                                      [--device cuda|cpu]

Each case draws bfloat16 inputs and lets autograd differentiate the operator in float64 on the same numbers. An error is the largest difference,
as a part of the largest gradient of the tensor; what is rounded to bfloat16 may be off by that rounding, fp32 sums by 1e-5. Prints one line
a case and, last, `gradients: N passed, N failed`."""

import argparse
import pathlib
import sys

import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "operators"))

import contracts
from contracts import rows

BF16_ROUNDING = 2**-8 * 1.0625  # half a step of bfloat16 at most, and some more
FP32_SUMS = 1e-5
EPSILON = 1e-6


class Case:
    """name; inputs {name: bfloat16 tensor}; forward(**inputs) -> outputs in the dtype of the inputs; backward(inputs, out_gradients) ->
    {input: gradient} by our library; tolerances {input: largest error}."""

    def __init__(self, name, inputs, forward, backward, tolerances):
        self.name, self.inputs, self.forward, self.backward = name, inputs, forward, backward
        self.tolerances = tolerances

    def expected(self):
        inputs = {name: x.double().requires_grad_() for name, x in self.inputs.items()}
        outputs = self.forward(**inputs)
        gradients = [torch.randn_like(out).bfloat16() for out in outputs]
        torch.autograd.backward(outputs, [g.double() for g in gradients])
        return gradients, {name: x.grad for name, x in inputs.items()}

    def errors(self):
        gradients, expected = self.expected()
        actual = self.backward(self.inputs, gradients)
        return {name: ((x.double() - expected[name]).abs().max() / expected[name].abs().max()).item() for name, x in actual.items()}


class Cases:
    def __init__(self, library, device, stream):
        self.library, self.device, self.stream = library, device, stream

    def normals(self, *shape, scale=1.0):
        return (torch.randn(*shape, device=self.device) * scale).bfloat16()

    def floats(self, *shape):
        """Zeros: what gradients of parameters are added to, and outputs in fp32."""
        return torch.zeros(*shape, device=self.device)

    def workspace(self, size):
        """At least `size` bytes, 256-byte aligned."""
        memory = torch.empty(size + 256, dtype=torch.uint8, device=self.device)
        return memory[-memory.data_ptr() % 256:]

    def call(self, name, args):
        args.stream = self.stream
        self.library.call(name, args)

    def rms_norm(self, tokens, heads, columns, residual):
        def forward(x, weight):
            out = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * weight
            return (out, x * 1) if residual else (out,)  # x is what was normalised, and goes on past the norm

        def backward(inputs, gradients):
            x, weight = inputs["x"], inputs["weight"]
            x_gradient, weight_gradient = torch.empty_like(x), self.floats(columns)
            size = self.library.bytes("rms_norm_backward_workspace", tokens, heads, columns)
            workspace = self.workspace(size)
            args = contracts.RmsNormBackwardArgs(
                tokens=tokens, heads=heads, columns=columns, epsilon=EPSILON, x=rows(x), weight=weight.data_ptr(),
                out_gradient=rows(gradients[0]), x_gradient=rows(x_gradient), weight_gradient=weight_gradient.data_ptr(),
                workspace=workspace.data_ptr(), workspace_bytes=size)
            if residual:
                args.sum_gradient = rows(gradients[1])
            self.call("rms_norm_backward", args)
            return {"x": x_gradient, "weight": weight_gradient}

        return Case(f"rms_norm {tokens} x {heads} x {columns}{', residual' if residual else ''}",
                    {"x": self.normals(tokens, heads, columns), "weight": self.normals(columns) * 0.1 + 1}, forward, backward,
                    {"x": BF16_ROUNDING, "weight": FP32_SUMS})

    def rotary(self, tokens, query_heads, key_heads, dim, scaling):
        host = torch.empty(tokens * 5, dim)
        self.library.call("rotary_table", contracts.RotaryTableArgs(
            positions=tokens * 5, head_dim=dim, scaling=scaling, base=1e6, factor=4, original_positions=64, beta_fast=32, beta_slow=1,
            table=host.data_ptr()))
        table = host.to(self.device)
        positions = torch.randint(0, tokens * 5, (tokens,), device=self.device, dtype=torch.int32)
        cosines, sines = table[positions.long()].double()[:, None].chunk(2, dim=-1)

        def turned(x):
            first, second = x.chunk(2, dim=-1)
            return torch.cat((first * cosines - second * sines, second * cosines + first * sines), dim=-1)

        def backward(_, gradients):
            out = [torch.empty_like(g) for g in gradients]
            self.call("rotary", contracts.RotaryArgs(
                tokens=tokens, query_heads=query_heads, key_heads=key_heads, head_dim=dim, inverse=1, table_positions=tokens * 5,
                table=table.data_ptr(), positions=positions.data_ptr(), queries=rows(gradients[0]), keys=rows(gradients[1]),
                queries_out=rows(out[0]), keys_out=rows(out[1])))
            return {"q": out[0], "k": out[1]}

        return Case(f"rotary {tokens} x {query_heads} + {key_heads} x {dim}{', yarn' if scaling else ''}",
                    {"q": self.normals(tokens, query_heads, dim), "k": self.normals(tokens, key_heads, dim)},
                    lambda q, k: (turned(q), turned(k)), backward, {"q": BF16_ROUNDING, "k": BF16_ROUNDING})

    def swiglu(self, tokens, columns):
        def backward(inputs, gradients):
            gate, up = torch.empty_like(inputs["gate"]), torch.empty_like(inputs["up"])
            self.call("swiglu_backward", contracts.SwigluBackwardArgs(
                tokens=tokens, columns=columns, gate=rows(inputs["gate"]), up=rows(inputs["up"]), out_gradient=rows(gradients[0]),
                gate_gradient=rows(gate), up_gradient=rows(up)))
            return {"gate": gate, "up": up}

        return Case(f"swiglu {tokens} x {columns}", {"gate": self.normals(tokens, columns, scale=3), "up": self.normals(tokens, columns)},
                    lambda gate, up: (torch.nn.functional.silu(gate) * up,), backward, {"gate": BF16_ROUNDING, "up": BF16_ROUNDING})

    def embedding(self, tokens, columns, vocabulary):
        ids = torch.randint(0, vocabulary, (tokens,), device=self.device, dtype=torch.int32)

        def backward(_, gradients):
            table = self.floats(vocabulary, columns)
            self.call("embedding_backward", contracts.EmbeddingBackwardArgs(
                tokens=tokens, columns=columns, vocabulary=vocabulary, ids=ids.data_ptr(), out_gradient=rows(gradients[0]),
                table_gradient=table.data_ptr(), table_gradient_stride=columns))
            return {"table": table}

        return Case(f"embedding {tokens} of {vocabulary} x {columns}", {"table": self.normals(vocabulary, columns)},
                    lambda table: (torch.nn.functional.embedding(ids.long(), table),), backward, {"table": FP32_SUMS})

    def linear(self, tokens, in_features, out_features):
        def backward(inputs, gradients):
            x_gradient, weight, bias = torch.empty_like(inputs["x"]), self.floats(out_features, in_features), self.floats(out_features)
            workspace = self.workspace(contracts.LINEAR_WORKSPACE_BYTES)
            self.call("linear_backward", contracts.LinearBackwardArgs(
                tokens=tokens, in_features=in_features, out_features=out_features, x=rows(inputs["x"]), weight=rows(inputs["weight"]),
                out_gradient=rows(gradients[0]), x_gradient=rows(x_gradient), weight_gradient=weight.data_ptr(),
                bias_gradient=bias.data_ptr(), workspace=workspace.data_ptr()))
            return {"x": x_gradient, "weight": weight, "bias": bias}

        inputs = {"x": self.normals(tokens, in_features), "weight": self.normals(out_features, in_features), "bias": self.normals(out_features)}
        return Case(f"linear {tokens} x {in_features} to {out_features}", inputs,
                    lambda x, weight, bias: (torch.nn.functional.linear(x, weight, bias),), backward,
                    {"x": BF16_ROUNDING, "weight": FP32_SUMS, "bias": FP32_SUMS})

    def head(self, tokens, in_features, vocabulary, temperature):
        targets = torch.randint(0, vocabulary, (tokens,), device=self.device, dtype=torch.int32)

        def forward(x, weight):
            logs = torch.log_softmax(torch.nn.functional.linear(x, weight) / temperature, -1)
            return logs.gather(-1, targets[:, None].long())[:, 0], -(logs.exp() * logs).sum(-1)

        def backward(inputs, gradients):
            x, weight = inputs["x"], inputs["weight"]
            log_probability, entropy, log_sum = (self.floats(tokens) for _ in range(3))
            size = max(self.library.bytes("language_model_head_workspace", tokens, vocabulary),
                       self.library.bytes("language_model_head_backward_workspace", tokens, in_features, vocabulary))
            workspace = self.workspace(size)
            shared = {"tokens": tokens, "in_features": in_features, "vocabulary": vocabulary, "temperature": temperature, "x": rows(x),
                      "weight": rows(weight), "workspace": workspace.data_ptr(), "workspace_bytes": size}
            self.call("language_model_head", contracts.HeadArgs(
                outputs=contracts.Outputs(targets.data_ptr(), log_probability.data_ptr(), entropy.data_ptr(), log_sum.data_ptr()), **shared))
            x_gradient, weight_gradient = torch.empty_like(x), self.floats(vocabulary, in_features)
            wanted = [g.float() for g in gradients]
            self.call("language_model_head_backward", contracts.HeadBackwardArgs(
                targets=targets.data_ptr(), log_sum=log_sum.data_ptr(), entropy=entropy.data_ptr(),
                log_probability_gradient=wanted[0].data_ptr(), entropy_gradient=wanted[1].data_ptr(), x_gradient=rows(x_gradient),
                weight_gradient=weight_gradient.data_ptr(), **shared))
            return {"x": x_gradient, "weight": weight_gradient}

        # The gradients of logits are rounded to bfloat16, too.
        return Case(f"language_model_head {tokens} x {in_features} to {vocabulary}, temperature {temperature}",
                    {"x": self.normals(tokens, in_features), "weight": self.normals(vocabulary, in_features, scale=2 / in_features**0.5)},
                    forward, backward, {"x": 2 * BF16_ROUNDING, "weight": BF16_ROUNDING})

    def attention(self, lengths, query_heads, kv_heads, dim):
        tokens = sum(lengths)
        offsets = torch.tensor([0, *lengths], device=self.device).cumsum(0).int()

        def attend(q, k, v):
            """Output and log-sum-exp of packed sequences."""
            outs, sums = [], []
            for q, k, v in zip(q.split(lengths), k.split(lengths), v.split(lengths)):
                k, v = (x.repeat_interleave(query_heads // kv_heads, 1) for x in (k, v))
                scores = torch.einsum("ihd,jhd->hij", q, k) * dim**-0.5
                scores = scores.masked_fill(torch.ones_like(scores[0], dtype=torch.bool).triu(1), float("-inf"))
                outs.append(torch.einsum("hij,jhd->ihd", scores.softmax(-1), v))
                sums.append(scores.logsumexp(-1).T)
            return torch.cat(outs), torch.cat(sums)

        def backward(inputs, gradients):
            out, lse = attend(*(x.double() for x in inputs.values()))
            out, lse = out.bfloat16(), lse.float().contiguous()
            wanted = {name: torch.empty_like(x) for name, x in inputs.items()}
            size = self.library.bytes("attention_full_backward_workspace", tokens, query_heads)
            workspace = self.workspace(size)
            self.call("attention_full_backward", contracts.AttentionFullBackwardArgs(
                batch=len(lengths), tokens=tokens, longest=max(lengths), shape=contracts.attention_shape(query_heads, kv_heads, dim),
                query_offsets=offsets.data_ptr(), queries=rows(inputs["q"]), keys=rows(inputs["k"]), values=rows(inputs["v"]), out=rows(out),
                lse=lse.data_ptr(), out_gradient=rows(gradients[0]), query_gradient=rows(wanted["q"]), key_gradient=rows(wanted["k"]),
                value_gradient=rows(wanted["v"]), workspace=workspace.data_ptr(), workspace_bytes=size))
            return wanted

        inputs = {name: self.normals(tokens, heads, dim) for name, heads in (("q", query_heads), ("k", kv_heads), ("v", kv_heads))}
        # Weights, gradients of scores and the output are rounded to bfloat16, too.
        return Case(f"attention {'+'.join(map(str, lengths))} x {query_heads}/{kv_heads} x {dim}", inputs,
                    lambda q, k, v: attend(q, k, v)[:1], backward, dict.fromkeys("qkv", 2**-6))

    def all(self):
        for hidden in (1536, 2560, 4096, 8192):
            for residual in (False, True):
                yield self.rms_norm(133, 1, hidden, residual)
        for heads, dim in ((32, 128), (8, 128), (14, 64)):
            yield self.rms_norm(133, heads, dim, False)
            for scaling in (contracts.UNSCALED, contracts.YARN):
                yield self.rotary(133, heads, 2, dim, scaling)
        for columns in (8960, 9728, 12288):
            yield self.swiglu(133, columns)
        yield self.embedding(700, 2560, 50)
        yield self.embedding(3, 4096, 1000)
        for tokens, in_features, out_features in ((1, 64, 8), (37, 1536, 2048), (200, 2560, 1024), (513, 1024, 2560)):
            yield self.linear(tokens, in_features, out_features)
        for temperature in (1.0, 0.6):
            yield self.head(1, 64, 1096, temperature)
            yield self.head(37, 1536, 5000, temperature)
        for lengths, query_heads, kv_heads, dim in (([1, 64, 131], 12, 2, 128), ([300], 8, 8, 64), ([90, 200], 16, 1, 128)):
            yield self.attention(lengths, query_heads, kv_heads, dim)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="the shared library of the operators")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU; --device cpu checks a library for CPUs")
    torch.manual_seed(1)
    stream = torch.cuda.current_stream().cuda_stream if options.device == "cuda" else None
    passed = failed = 0
    for case in Cases(contracts.Operators(options.library), options.device, stream).all():
        errors = case.errors()
        good = all(error <= case.tolerances[name] for name, error in errors.items())  # NaN is not good
        passed, failed = passed + good, failed + (not good)
        print(f"{'' if good else 'FAILED '}{case.name}: " + ", ".join(f"{name} {error:.1e}" for name, error in errors.items()), flush=True)
    print(f"gradients: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
