// Requests and their memory written to files and read back.
#include "src/evaluator/tape.h"

#include <gtest/gtest.h>

#include "src/base/files.h"
#include "src/base/scratch_folder.h"

namespace tik::evaluator {
namespace {

class TapeTest : public testing::Test {
 protected:
  ScratchFolder folder_ = ScratchFolder::temporary("tape-test").value();
  std::vector<WorkerRequest> requests_ = {
      LoadRequest{"/library/candidate.so", {"full", "extend", "decode", "workspace", "version"}}, CallRequest{}};
  std::vector<std::byte> input_ = std::vector<std::byte>(10000, std::byte{7}),
                         output_ = std::vector<std::byte>(5, std::byte{9});
};

TEST_F(TapeTest, ReadsBackAsItWasWritten) {
  ASSERT_TRUE(write_tape(folder_.path(), requests_, input_, output_).has_value());
  Result<Tape> const tape = read_tape(folder_.path());
  ASSERT_TRUE(tape.has_value()) << tape.error().message;
  ASSERT_EQ(tape->requests.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(encode_request(tape->requests[i]), encode_request(requests_[i]));
  ASSERT_EQ(tape->memory.input.size, input_.size());
  EXPECT_EQ(static_cast<std::byte>(tape->memory.input.base[9999]), std::byte{7});
  ASSERT_EQ(tape->memory.output.size, output_.size());
  tape->memory.output.base[0] = 1; // may be written, and the file stays as it is
  EXPECT_EQ(static_cast<std::byte>(read_tape(folder_.path())->memory.output.base[0]), std::byte{9});
}

TEST_F(TapeTest, WhatWasCutIsRefused) {
  ASSERT_TRUE(write_tape(folder_.path(), requests_, input_, output_).has_value());
  std::string const whole = read_file(folder_.path() / "requests").value();
  for (std::size_t const length : {std::size_t{2}, std::size_t{10}, whole.size() - 1}) {
    ASSERT_TRUE(write_file(folder_.path() / "requests", whole.substr(0, length)).has_value());
    EXPECT_FALSE(read_tape(folder_.path()).has_value()) << length;
  }
  EXPECT_FALSE(read_tape(folder_.path() / "nowhere").has_value());
}

} // namespace
} // namespace tik::evaluator
