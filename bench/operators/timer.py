"""Graphs of launches in PyTorch's stream, and the time of their replays with a cold L2 cache."""

import torch

import result

FLUSH_BYTES = 192 << 20  # an H200 has 50 MiB of L2


class Timer:
    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.flushed = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        self.marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def capture(self, launch, launches):
        """A graph of launch(0) .. launch(launches - 1); the first launch runs before, alone."""
        with torch.no_grad(), torch.cuda.stream(self.stream):
            launch(0)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=self.stream):
                for i in range(launches):
                    launch(i)
        return graph

    def time(self, graph):
        """Microseconds of one replay that finds nothing in the L2 cache."""
        with torch.cuda.stream(self.stream):
            self.flushed.zero_()
            self.marks[0].record()
            graph.replay()
            self.marks[1].record()
        torch.cuda.synchronize()
        return self.marks[0].elapsed_time(self.marks[1]) * 1e3

    def compare(self, graphs, launches, rounds):
        """Samples by name of graphs of as many launches: microseconds a launch."""
        samples = result.in_turns(graphs, rounds, self.time)
        return {name: [us / launches for us in values] for name, values in samples.items()}
