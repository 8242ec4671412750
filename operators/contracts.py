"""The contracts of the operators for Python's ctypes: every struct with the names of its C header, and the libraries that implement them.

  library = Operators("libtik_operators_cpu.so")
  library.call("swiglu", SwigluArgs(tokens=2, columns=64, gate=Rows(address, 64), up=..., out=...))

Addresses are integers. A call that the library refuses raises RuntimeError with its sentence; a struct that does not fit the library's own
is such a refusal."""

import ctypes as c
import math

BF16, FP32 = 0, 1  # tik_number
PACKED, CONTIGUOUS, PAGED = 0, 1, 2  # tik_kv_layout
UNSCALED, YARN = 0, 1  # tik_rotary_scaling
LINEAR_WORKSPACE_BYTES = 1024
LINEAR_PLAN_BYTES = 256


def _fields(text):
    """The _fields_ of "type name name; type name": int, long, size, float, double, pointer, or the name of a struct."""
    types = {"int": c.c_int32, "uint": c.c_uint32, "long": c.c_int64, "size": c.c_size_t, "float": c.c_float, "double": c.c_double,
             "pointer": c.c_void_p}
    fields = []
    for declaration in text.split(";"):
        kind, *names = declaration.split()
        fields += [(name, types.get(kind) or globals()[kind]) for name in names]
    return fields


class Rows(c.Structure):
    """tik_rows and tik_mutable_rows."""
    _fields_ = _fields("pointer data; long token_stride head_stride")


def rows(tensor):
    """A contiguous [tokens, columns] or [tokens, heads, columns] tensor of PyTorch as a contract takes it."""
    return Rows(tensor.data_ptr(), tensor.stride(0), tensor.stride(1) if tensor.dim() == 3 else 0)


class KvView(c.Structure):
    _fields_ = _fields("int layout page_size; pointer keys values; long sequence_stride page_stride token_stride head_stride;"
                       "pointer page_table; int page_table_stride page_count")


class KvTarget(c.Structure):
    _fields_ = _fields("KvView kv; int batch kv_length settled; pointer sequences positions")


class Outputs(c.Structure):
    """tik_log_probability_outputs."""
    _fields_ = _fields("pointer targets log_probability entropy log_sum")


class Shape(c.Structure):
    """tik_attention_shape."""
    _fields_ = _fields("int query_heads kv_heads head_dim; float softmax_scale")


class Limits(c.Structure):
    """tik_attention_limits."""
    _fields_ = _fields("int batch query_tokens query_length kv_length")


class _Args(c.Structure):
    def __init__(self, **values):
        super().__init__(struct_bytes=c.sizeof(type(self)), **values)


class RmsNormArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int tokens heads columns; float epsilon; Rows x residual; pointer weight; Rows sum out;"
                       "int weight_settled; pointer stream")


class RmsNormBackwardArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int tokens heads columns; float epsilon; Rows x; pointer weight;"
                       "Rows out_gradient sum_gradient x_gradient; pointer weight_gradient workspace; size workspace_bytes; pointer stream")


class RotaryTableArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int positions head_dim scaling; double base factor; int original_positions;"
                       "double beta_fast beta_slow attention_factor; pointer table")


class RotaryArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int tokens query_heads key_heads head_dim inverse settled table_positions; pointer table positions;"
                       "Rows queries keys queries_out keys_out; pointer stream")


class KvWriteArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int tokens kv_heads head_dim; Rows keys values; KvTarget target; pointer stream")


class QkNormRopeKvWriteArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int tokens query_heads kv_heads head_dim; float epsilon; Rows queries keys values;"
                       "pointer query_weight key_weight; int table_positions; pointer table; Rows queries_out; KvTarget target;"
                       "pointer stream")


class SwigluArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int tokens columns; Rows gate up out; pointer stream")


class SwigluBackwardArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int tokens columns; Rows gate up out_gradient gate_gradient up_gradient; pointer stream")


class EmbeddingArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int tokens columns vocabulary; pointer ids; Rows table out; pointer stream")


class EmbeddingBackwardArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int tokens columns vocabulary; pointer ids; Rows out_gradient; pointer table_gradient;"
                       "long table_gradient_stride; pointer stream")


class LinearArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int tokens in_features out_features; Rows x weight; pointer bias out; long out_stride;"
                       "int out_type weight_settled; pointer workspace stream")


class LinearPlanArgs(_Args):
    """tik_linear_plan_args; text is the address of LINEAR_PLAN_BYTES."""
    _fields_ = _fields("uint struct_bytes; LinearArgs call; pointer text")


class LinearBackwardArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int tokens in_features out_features; Rows x weight out_gradient x_gradient;"
                       "pointer weight_gradient bias_gradient workspace stream")


class HeadArgs(_Args):
    """tik_language_model_head_args."""
    _fields_ = _fields("uint struct_bytes; int tokens in_features vocabulary; float temperature; Rows x weight; Outputs outputs;"
                       "int weight_settled; pointer workspace; size workspace_bytes; pointer stream")


class HeadBackwardArgs(_Args):
    """tik_language_model_head_backward_args."""
    _fields_ = _fields("uint struct_bytes; int tokens in_features vocabulary; float temperature; Rows x weight;"
                       "pointer targets log_sum entropy log_probability_gradient entropy_gradient; Rows x_gradient;"
                       "pointer weight_gradient workspace; size workspace_bytes; pointer stream")


class AttentionArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int batch; Shape shape; Limits limits; pointer queries; long query_token_stride query_head_stride;"
                       "pointer query_offsets; KvView kv; pointer kv_lengths out; long out_token_stride out_head_stride; pointer lse workspace;"
                       "size workspace_bytes; pointer stream")


class AttentionFullBackwardArgs(_Args):
    _fields_ = _fields("uint struct_bytes; int batch tokens longest; Shape shape; pointer query_offsets; Rows queries keys values out;"
                       "pointer lse; Rows out_gradient query_gradient key_gradient value_gradient; pointer workspace; size workspace_bytes;"
                       "pointer stream")


def attention_shape(query_heads, kv_heads, head_dim):
    return Shape(query_heads, kv_heads, head_dim, 1 / math.sqrt(head_dim))


class _Library:
    """A library that implements contracts: its functions tik_PREFIXname and its last error."""

    def __init__(self, path, prefix, version, sizes):
        self.library = c.CDLL(str(path))
        self.prefix = prefix
        self.error = getattr(self.library, f"tik_{prefix or 'operators_'}last_error")
        self.error.restype = c.c_char_p
        for name in sizes:
            getattr(self.library, f"tik_{name}").restype = c.c_int64
        found = getattr(self.library, f"tik_{prefix or 'operators_'}abi_version")()
        if found != version:
            raise RuntimeError(f"{path} has contract version {found}, this script knows {version}: rebuild the library")

    def call(self, name, args):
        if getattr(self.library, f"tik_{self.prefix}{name}")(c.byref(args)) != 0:
            raise RuntimeError(f"tik_{self.prefix}{name}: {self.error().decode()}")

    def bytes(self, name, *arguments):
        """What the function tik_PREFIXname_bytes gives."""
        size = getattr(self.library, f"tik_{self.prefix}{name}_bytes")(*arguments)
        if size < 0:
            raise RuntimeError(f"tik_{self.prefix}{name}_bytes: {self.error().decode()}")
        return size


class Operators(_Library):
    """A library of every operator but attention: call("rms_norm", RmsNormArgs(...))."""

    def __init__(self, path):
        super().__init__(path, "", 1, ["rms_norm_backward_workspace_bytes", "language_model_head_workspace_bytes",
                                       "token_log_probability_workspace_bytes", "language_model_head_backward_workspace_bytes",
                                       "attention_full_backward_workspace_bytes"])

    def linear_plan(self, args):
        """How tik_linear computes a call with these LinearArgs, in words."""
        text = c.create_string_buffer(LINEAR_PLAN_BYTES)
        self.call("linear_plan", LinearPlanArgs(call=args, text=c.addressof(text)))
        return text.value.decode()


class Attention(_Library):
    """A library of attention: call("decode", AttentionArgs(...))."""

    def __init__(self, path):
        super().__init__(path, "attention_", 1, ["attention_workspace_bytes"])
