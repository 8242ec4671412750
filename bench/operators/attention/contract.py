"""operators/attention/contract.h for ctypes: the structs, and the three calls as functions that raise with the library's sentence."""

import ctypes as c
import math

ABI_VERSION = 1
PACKED, CONTIGUOUS, PAGED = 0, 1, 2


class Shape(c.Structure):
    _fields_ = [("query_heads", c.c_int32), ("kv_heads", c.c_int32), ("head_dim", c.c_int32), ("softmax_scale", c.c_float)]


class Limits(c.Structure):
    _fields_ = [("batch", c.c_int32), ("query_tokens", c.c_int32), ("query_length", c.c_int32), ("kv_length", c.c_int32)]


class KvView(c.Structure):
    _fields_ = [
        ("layout", c.c_int32), ("page_size", c.c_int32), ("keys", c.c_void_p), ("values", c.c_void_p),
        ("sequence_stride", c.c_int64), ("page_stride", c.c_int64), ("token_stride", c.c_int64), ("head_stride", c.c_int64),
        ("page_table", c.c_void_p), ("page_table_stride", c.c_int32), ("page_count", c.c_int32),
    ]


class Args(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_uint32), ("batch", c.c_int32), ("shape", Shape), ("limits", Limits),
        ("queries", c.c_void_p), ("query_token_stride", c.c_int64), ("query_head_stride", c.c_int64),
        ("query_offsets", c.c_void_p), ("kv", KvView), ("kv_lengths", c.c_void_p),
        ("out", c.c_void_p), ("out_token_stride", c.c_int64), ("out_head_stride", c.c_int64), ("lse", c.c_void_p),
        ("workspace", c.c_void_p), ("workspace_bytes", c.c_size_t), ("stream", c.c_void_p),
    ]


def make_shape(query_heads, kv_heads, head_dim):
    return Shape(query_heads, kv_heads, head_dim, 1 / math.sqrt(head_dim))


class Library:
    """A backend of the contract."""

    def __init__(self, path):
        self.library = c.CDLL(path)
        self.library.tik_attention_last_error.restype = c.c_char_p
        self.library.tik_attention_workspace_bytes.restype = c.c_int64
        version = self.library.tik_attention_abi_version()
        if version != ABI_VERSION:
            raise RuntimeError(f"{path} has contract version {version}, this script knows {ABI_VERSION}: rebuild the library")

    def workspace_bytes(self, shape, limits):
        size = self.library.tik_attention_workspace_bytes(c.byref(shape), c.byref(limits))
        if size < 0:
            raise RuntimeError(self.library.tik_attention_last_error().decode())
        return size

    def call(self, entry, args):
        status = getattr(self.library, f"tik_attention_{entry}")(c.byref(args))
        if status != 0:
            raise RuntimeError(f"tik_attention_{entry}: {self.library.tik_attention_last_error().decode()}")
