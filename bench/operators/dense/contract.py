"""The contracts of dense linear and of the head for ctypes, and calls that raise with the library's sentence."""

import ctypes as c

BF16, FP32 = 0, 1
LINEAR_WORKSPACE_BYTES = 1024


class Rows(c.Structure):
    _fields_ = [("data", c.c_void_p), ("token_stride", c.c_int64), ("head_stride", c.c_int64)]


class _Args(c.Structure):
    def __init__(self, **values):
        super().__init__(struct_bytes=c.sizeof(type(self)), **values)


class LinearArgs(_Args):
    _fields_ = [("struct_bytes", c.c_uint32), ("tokens", c.c_int32), ("in_features", c.c_int32), ("out_features", c.c_int32),
                ("x", Rows), ("weight", Rows), ("bias", c.c_void_p), ("out", c.c_void_p), ("out_stride", c.c_int64),
                ("out_type", c.c_int32), ("weight_settled", c.c_int32), ("workspace", c.c_void_p), ("stream", c.c_void_p)]


class Outputs(c.Structure):
    _fields_ = [("targets", c.c_void_p), ("log_probability", c.c_void_p), ("entropy", c.c_void_p), ("log_sum", c.c_void_p)]


class HeadArgs(_Args):
    _fields_ = [("struct_bytes", c.c_uint32), ("tokens", c.c_int32), ("in_features", c.c_int32), ("vocabulary", c.c_int32),
                ("temperature", c.c_float), ("x", Rows), ("weight", Rows), ("outputs", Outputs), ("weight_settled", c.c_int32),
                ("workspace", c.c_void_p), ("workspace_bytes", c.c_size_t), ("stream", c.c_void_p)]


class Library:
    def __init__(self, path):
        self.library = c.CDLL(path)
        self.library.tik_operators_last_error.restype = c.c_char_p
        self.library.tik_language_model_head_workspace_bytes.restype = c.c_int64

    def call(self, name, args):
        if getattr(self.library, f"tik_{name}")(c.byref(args)) != 0:
            raise RuntimeError(f"tik_{name}: {self.library.tik_operators_last_error().decode()}")
