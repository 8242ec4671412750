"""harness.h for Python: device memory, captured graphs, and times of their replays."""

import ctypes as c
import json

import result


class Harness:
    def __init__(self, path):
        self.library = c.CDLL(path)
        self.library.bench_error_text.restype = c.c_char_p
        self.library.bench_machine.restype = c.c_char_p
        self.stream = c.c_void_p()
        self.check(self.library.bench_create_stream(c.byref(self.stream)))

    def check(self, error):
        if error != 0:
            raise RuntimeError(f"CUDA: {self.library.bench_error_text(error).decode()}")

    def machine(self):
        return json.loads(self.library.bench_machine().decode())

    def allocate(self, size):
        memory = c.c_void_p()
        self.check(self.library.bench_allocate(c.c_size_t(size), c.byref(memory)))
        return memory.value

    def zeros(self, size):
        memory = self.allocate(max(size, 256))
        self.check(self.library.bench_zero(c.c_void_p(memory), c.c_size_t(size)))
        return memory

    def normals(self, size, seed):
        memory = self.allocate(size)
        self.check(self.library.bench_fill_normal(c.c_void_p(memory), c.c_size_t(size), c.c_uint64(seed)))
        return memory

    def integers(self, values):
        array = (c.c_int32 * len(values))(*values)
        memory = self.allocate(c.sizeof(array))
        self.check(self.library.bench_upload(c.c_void_p(memory), array, c.c_size_t(c.sizeof(array))))
        return memory

    def synchronize(self):
        self.check(self.library.bench_synchronize())

    def capture(self, launch, launches):
        """A graph of launch(0) .. launch(launches - 1), as a function that replays it. The first launch runs before, alone."""
        launch(0)
        self.synchronize()
        self.check(self.library.bench_begin_capture(self.stream))
        for i in range(launches):
            launch(i)
        graph = c.c_void_p()
        self.check(self.library.bench_end_capture(self.stream, c.byref(graph)))
        return lambda: self.check(self.library.bench_replay(graph, self.stream))

    def time(self, replay):
        """Microseconds of one replay that finds nothing in the L2 cache."""
        self.check(self.library.bench_flush_cache(self.stream))
        self.check(self.library.bench_mark(0, self.stream))
        replay()
        self.check(self.library.bench_mark(1, self.stream))
        elapsed = c.c_float()
        self.check(self.library.bench_elapsed(c.byref(elapsed)))
        return elapsed.value

    def compare(self, contenders, launches, rounds):
        """Samples by name of several graphs of `launches` launches: microseconds a launch."""
        samples = result.in_turns(contenders, rounds, self.time)
        return {name: [us / launches for us in values] for name, values in samples.items()}

    def read(self, keys, values, size, loads):
        self.check(self.library.bench_read(c.c_void_p(keys), c.c_void_p(values), c.c_size_t(size), loads, self.stream))

    def matrix_rate(self, rounds=9, iterations=4000):
        """Operations a second of the tensor cores on resident random operands: samples."""
        operations = c.c_double()

        def launch(_):
            self.check(self.library.bench_matrix(iterations, c.byref(operations), self.stream))

        replay = self.capture(launch, 1)
        return [operations.value / (self.time(replay) * 1e-6) for _ in range(rounds)]
