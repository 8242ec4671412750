// Calls laid over drawn memory, as they are timed on a GPU: here with workers on the CPU, which read the same memory.
#include "src/evaluator/device_inputs.h"

#include <algorithm>

#include "src/base/scratch_folder.h"
#include "src/evaluator/timed_calls.h"
#include "tests/evaluator/candidates.h"
#include "tests/evaluator/worker_main.h"

namespace tik::evaluator {
namespace {

class DeviceInputs : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::path const source = folder_.path() / "candidate";
    write_candidate(source, {});
    implementation_.manifest = spec::load_manifest(source).value();
    Checked<Built> built =
        build({source, "", folder_.path(), {}, Layers{}, specification_.build_limits, nullptr}, implementation_.manifest);
    ASSERT_TRUE(built.has_value()) << built.error().message;
    implementation_.built = std::move(*built);
    need_.value_bytes = largest_rewind + (std::size_t{4} << 20);
    need_.input_bytes = need_.value_bytes + (std::size_t{1} << 20);
    need_.result_bytes = std::size_t{1} << 20;
    inputs_ = draw_inputs(need_, values_, random_).value();
  }

  Session start(std::shared_ptr<SharedMemory> inputs) const {
    return start_session(context_, implementation_, WorkerUse::checks, std::nullopt, std::move(inputs)).value();
  }

  static bool same(Outputs const& a, Outputs const& b) { return a.out == b.out && a.lse == b.lse; }
  static Outputs run(Image& image) {
    image.poison_outputs();
    return image.run().value();
  }

  ScratchFolder folder_ = ScratchFolder::temporary("device-inputs-test").value();
  spec::Specification specification_ = spec::parse_specification(small_specification(20, 60), "small.toml").value();
  StageContext context_{specification_, folder_.path(), {}, {}, 1, 0, nullptr, nullptr, {}};
  BuiltImplementation implementation_;
  Random random_{7};
  DrawnValues values_{random_};
  MemoryNeed need_;
  std::shared_ptr<SharedMemory> inputs_;
  // Two sequences in every layout.
  CallShape const shapes_[3] = {{spec::WorkloadKind::full, {{0, 0, 30}, {1, 0, 17}}, spec::KvLayout::packed, 0, true},
                                {spec::WorkloadKind::extend, {{0, 20, 9}, {1, 33, 5}}, spec::KvLayout::contiguous, 0, true},
                                {spec::WorkloadKind::decode, {{0, 40, 1}, {1, 40, 1}}, spec::KvLayout::paged, 16, true}};
};

TEST_F(DeviceInputs, ACallGivesTheBitsOfItsInputsReadBackAndLaidOutElsewhere) {
  Session drawn = start(inputs_), apart = start(nullptr);
  Arena over(drawn, need_.value_bytes, need_.result_bytes), by_itself(apart);
  for (CallShape const& shape : shapes_) {
    over.rewind(random_);
    Image image = Image::place(over, {contract_shape(specification_.shape), {}}, shape, random_).value();
    Outputs const outputs = run(image);
    Dataset const read = image.read_inputs();
    ASSERT_EQ(read.sequences.size(), 2U);
    EXPECT_EQ(read.sequences[1].tokens, shape.rows[1].first + shape.rows[1].count);
    by_itself.clear();
    CallShape elsewhere = shape;
    elsewhere.dense = false;
    Image again = Image::place(by_itself, read, elsewhere, random_).value();
    EXPECT_TRUE(same(again.run().value(), outputs)) << static_cast<int>(shape.kind);
  }
}

TEST_F(DeviceInputs, WhatIsRenewedIsSeenByEveryWorkerAndNamedInPieces) {
  Session first = start(inputs_), second = start(inputs_);
  Arena over(first, need_.value_bytes, need_.result_bytes), beside(second, need_.value_bytes, need_.result_bytes);
  for (CallShape const& shape : shapes_) {
    over.rewind(random_);
    beside.rewind(random_);
    Image image = Image::place(over, {contract_shape(specification_.shape), {}}, shape, random_).value();
    Image other = image.beside(beside, random_).value();
    Outputs const before = run(image);
    EXPECT_TRUE(same(run(other), before));
    std::vector<std::byte> const old(first.input().begin(), first.input().end());
    std::vector<Extent> const changed = renew_in_place(image, true, values_, random_);
    Outputs const after = run(image);
    EXPECT_NE(after.out, before.out);
    EXPECT_TRUE(same(run(other), after));
    // Outside the pieces nothing changed.
    std::vector<std::byte> restored(first.input().begin(), first.input().end());
    for (Extent const& piece : changed) {
      EXPECT_EQ(piece.begin % 16, 0U);
      EXPECT_EQ(piece.end % 16, 0U);
      std::copy_n(old.begin() + static_cast<std::ptrdiff_t>(piece.begin), piece.end - piece.begin,
                  restored.begin() + static_cast<std::ptrdiff_t>(piece.begin));
    }
    EXPECT_EQ(restored, old);
  }
}

TEST_F(DeviceInputs, TheQueriesOfADecodeBatchAreOnePiece) {
  Session worker = start(inputs_);
  Arena over(worker, need_.value_bytes, need_.result_bytes);
  over.rewind(random_);
  Image const image = Image::place(over, {contract_shape(specification_.shape), {}}, shapes_[2], random_).value();
  EXPECT_EQ(renew_in_place(image, false, values_, random_).size(), 1U);
}

} // namespace
} // namespace tik::evaluator
