#include "operators/check/dense_cases.h"
#include "operators/check/source.h"
#include "operators/linear/sm90/choose.h"
#include "operators/linear/sm90/kernels.h"
#include "operators/linear/sm90/products.h"
#include "tests/gpu/cuda_device.h"
#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

namespace check = operators::check;
namespace sm90 = operators::sm90;

// Random operands of a product, and its output by two kernels.
class TwoKernels {
 public:
  TwoKernels(int tokens, int in_features, int out_features, bool fp32)
      : x_(random(tokens * in_features, 1)),
        weight_(random(int64_t{out_features} * in_features, 2)),
        bias_(random(out_features, 3)),
        out_(int64_t{tokens} * out_features * (fp32 ? 2 : 1)) {
    args_.struct_bytes = sizeof args_;
    args_.tokens = tokens;
    args_.in_features = in_features;
    args_.out_features = out_features;
    args_.x = {x_.data(), in_features, 0};
    args_.weight = {weight_.data(), in_features, 0};
    args_.bias = bias_.data();
    args_.out = out_.data();
    args_.out_stride = out_features;
    args_.out_type = fp32 ? TIK_FP32 : TIK_BF16;
  }

  // The bits that `launch` computes; nothing of an earlier call is left.
  template <typename Launch>
  std::vector<uint16_t> bits(Launch launch) {
    require(cudaMemset(out_.data(), 0xff, out_.bytes()), "poisoning");
    require(launch(args_), "launching a kernel of dense linear");
    return out_.download();
  }

 private:
  static Buffer<tik_bf16> random(int64_t count, uint64_t seed) {
    std::vector<tik_bf16> numbers(count);
    for (int64_t i = 0; i < count; ++i) {
      numbers[i] = operators::to_bf16(check::near_normal(check::mix(seed) + static_cast<uint64_t>(i)));
    }
    return Buffer<tik_bf16>(numbers);
  }

  Buffer<tik_bf16> x_, weight_, bias_;
  Buffer<uint16_t> out_;
  tik_linear_args args_{};
};

// Cuts of every kind, also those that no size has as candidates: strips that fill the tensor core's width and some that do not,
// tiles, stages, and rings.
std::vector<sm90::StripCut> strip_cuts() {
  std::vector<sm90::StripCut> cuts;
  for (int const tile : {8, 16, 40, 64}) {
    for (int const rows : {2, 8, 10, 12, 16, 24, 32, 34, 48, 64, 72, 96, 128, 136, 192}) {
      for (int const chunks : {2, 4}) {
        for (int const ring : {24 * 1024, sm90::half_ring_bytes, sm90::largest_ring_bytes}) {
          int const least = sm90::fewest_stages * sm90::stage_bytes(chunks, tile, sm90::eights(rows));
          if (least <= ring) cuts.push_back({rows, tile, chunks, ring});
        }
      }
    }
  }
  return cuts;
}

void check_strips(Suite& suite) {
  struct Sizes {
    int tokens, in_features, out_features;
  };
  int number = 0;
  for (Sizes const sizes : {Sizes{1, 16, 8}, Sizes{3, 144, 200}, Sizes{16, 1536, 128}, Sizes{29, 2560, 392},
                            Sizes{64, 8960, 64}, Sizes{130, 272, 1000}}) {
    bool const fp32 = number++ % 2 == 0;
    TwoKernels kernels(sizes.tokens, sizes.in_features, sizes.out_features, fp32);
    auto const expected = kernels.bits([](tik_linear_args const& args) { return sm90::launch_simple(args); });
    int cut_number = 0;
    std::vector<sm90::StripCut> cuts = strip_cuts();
    auto const candidates = sm90::strip_candidates(sm90::token_bucket(sizes.tokens), sizes.out_features);
    cuts.insert(cuts.end(), candidates.begin(), candidates.end());
    for (sm90::StripCut const& cut : cuts) {
      if (suite.tiny && cut_number++ % 16 != 0) continue;
      auto const actual = kernels.bits([&](tik_linear_args args) {
        args.weight_settled = cut.strip_rows % 16 == 0;
        return sm90::launch_strip(args, cut);
      });
      suite.report.record("linear-strips", actual == expected,
                          std::to_string(sizes.tokens) + " tokens, " + std::to_string(sizes.in_features) + " to " +
                              std::to_string(sizes.out_features) + ", strips of " + std::to_string(cut.strip_rows) +
                              ", tiles of " + std::to_string(cut.tile_tokens) + ", stages of " +
                              std::to_string(cut.stage_chunks) + " chunks, ring " + std::to_string(cut.ring_bytes),
                          "other bits than the simple kernel's");
    }
  }
}

} // namespace

void check_dense(Suite& suite) {
  CudaDevice device;
  check::Results results([&](check::Line const& line, bool passed, std::string const& label, std::string const& detail) {
    suite.report.start(line.operator_name);
    suite.report.record(line.operator_name, passed, line.shape + ", " + label, detail);
  });
  suite.report.start("linear-strips");
  check_strips(suite);
  check::Extent const extent = suite.tiny ? check::Extent::tiny : suite.quick ? check::Extent::brief : check::Extent::thorough;
  check::check_dense(device, {extent, suite.seed}, results);
  for (check::Line const& line : results.lines()) {
    if (line.largest_error < 0) continue;
    std::printf("accuracy %s %s: largest error %.2e of the largest\n", line.operator_name.c_str(), line.shape.c_str(),
                line.largest_error);
  }
}

} // namespace tik::gpu_suite
