#include "src/evaluator/device_scatter.h"

namespace tik::evaluator {
namespace {

// A block an extent, 16 bytes a thread at a time. In PTX, because the program is built without a CUDA compiler.
constexpr char source[] = R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry scatter(.param .u64 device, .param .u64 host, .param .u64 table) {
  .reg .pred %done;
  .reg .b32 %block, %thread, %threads, %w<4>;
  .reg .b64 %to, %from, %entry, %at, %end, %step, %source, %target;
  ld.param.u64 %to, [device];
  ld.param.u64 %from, [host];
  ld.param.u64 %entry, [table];
  mov.u32 %block, %ctaid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %threads, %ntid.x;
  mul.wide.u32 %at, %block, 16;
  add.u64 %entry, %entry, %at;
  ld.global.u64 %at, [%entry];
  ld.global.u64 %end, [%entry+8];
  mul.wide.u32 %step, %thread, 16;
  add.u64 %at, %at, %step;
  mul.wide.u32 %step, %threads, 16;
next:
  setp.ge.u64 %done, %at, %end;
  @%done bra last;
  add.u64 %source, %from, %at;
  add.u64 %target, %to, %at;
  ld.global.v4.u32 {%w0, %w1, %w2, %w3}, [%source];
  st.global.v4.u32 [%target], {%w0, %w1, %w2, %w3};
  add.u64 %at, %at, %step;
  bra next;
last:
  ret;
}
)";
constexpr unsigned threads = 128;

} // namespace

bool Scatter::load(cuda::Driver const& driver, Mapping const& input) {
  cuda::Module module = nullptr;
  return driver.MemHostRegister(input.base, input.size, cuda::register_mapped | cuda::register_read_only) == 0 &&
         driver.MemHostGetDevicePointer(&mapped_, input.base, 0) == 0 && driver.ModuleLoadData(&module, source) == 0 &&
         driver.ModuleGetFunction(&kernel_, module, "scatter") == 0;
}

cuda::Status Scatter::run(cuda::Driver const& driver, cuda::Stream stream, cuda::Pointer device_input, std::uint64_t table,
                          std::uint64_t count) const {
  cuda::Pointer to = device_input, from = mapped_, entries = mapped_ + table;
  void* parameters[] = {&to, &from, &entries};
  return driver.LaunchKernel(kernel_, static_cast<unsigned>(count), 1, 1, threads, 1, 1, 0, stream, parameters, nullptr);
}

} // namespace tik::evaluator
