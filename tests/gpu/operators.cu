#include "operators/check/operators.h"
#include "operators/check/token_cases.h"
#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

using namespace operators::check;

class CudaDevice final : public Device {
 public:
  std::string name() const override { return "CUDA"; }
  operators::Functions const& functions() const override { return functions_; }
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    require(cudaMalloc(&memory, bytes), "allocating device memory");
    return memory;
  }
  void release(void* memory) noexcept override { cudaFree(memory); }
  void upload(void* to, void const* from, std::size_t bytes) override {
    require(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copying to the device");
  }
  void download(void* to, void const* from, std::size_t bytes) override {
    require(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copying from the device");
  }
  void poison(void* memory, std::size_t bytes) override {
    require(cudaMemset(memory, poison_byte, bytes), "poisoning device memory");
  }

 private:
  operators::Functions functions_ = operators::sm90_functions();
};

Extent extent_of(Suite const& suite) { return suite.tiny ? Extent::tiny : suite.quick ? Extent::brief : Extent::thorough; }

} // namespace

void check_operators(Suite& suite) {
  CudaDevice device;
  Record const record = [&](bool passed, std::string const& name, std::string const& label, std::string const& detail) {
    suite.report.record(name, passed, label, detail);
  };
  for (auto const& checked : suite_operators(extent_of(suite))) {
    announce(suite, checked->name() + " " + checked->shape());
    suite.report.start(checked->name());
    Accuracy const accuracy = check_token_operator(device, *checked, {extent_of(suite), suite.seed}, record);
    std::printf("accuracy %s %s: largest error %.2e of the row's largest (at most %.2e)\n", checked->name().c_str(),
                checked->shape().c_str(), accuracy.largest_error, checked->tolerance());
  }
}

} // namespace tik::gpu_suite
