#include "src/evaluator/wire.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tik::evaluator {
namespace {

TEST(Wire, RepliesReadBackAsTheyWereWritten) {
  EXPECT_TRUE(rc::check([](std::int32_t status, std::uint64_t cpu, std::uint64_t wall, std::string const& error) {
    DoneReply written{status, cpu, wall, error.substr(0, 1000)};
    Result<Reply> const read = decode_reply(encode_reply(written));
    RC_ASSERT(read.has_value());
    auto const& done = std::get<DoneReply>(*read);
    RC_ASSERT(done.status == status && done.cpu_nanoseconds == cpu && done.wall_nanoseconds == wall &&
              done.error == written.error);
  }));
}

TEST(Wire, RequestsReadBackAsTheyWereWritten) {
  EXPECT_TRUE(rc::check([](std::string const& library, std::string const& symbol, std::int32_t batch, std::uint64_t offset) {
    LoadRequest load;
    load.library = library.substr(0, 1000);
    load.symbols[3] = symbol.substr(0, 1000);
    Result<WorkerRequest> const loaded = decode_request(encode_request(load));
    RC_ASSERT(loaded.has_value());
    RC_ASSERT(std::get<LoadRequest>(*loaded).library == load.library);
    RC_ASSERT(std::get<LoadRequest>(*loaded).symbols[3] == load.symbols[3]);
    CallRequest call;
    call.entry = spec::WorkloadKind::decode;
    call.args.batch = batch;
    call.args.out = reinterpret_cast<tik_bf16*>(address_in(Region::output, offset_of(offset)));
    Result<WorkerRequest> const called = decode_request(encode_request(call));
    RC_ASSERT(called.has_value());
    auto const& args = std::get<CallRequest>(*called).args;
    RC_ASSERT(args.batch == batch);
    RC_ASSERT(region_of(reinterpret_cast<std::uintptr_t>(args.out)) == Region::output);
    RC_ASSERT(offset_of(reinterpret_cast<std::uintptr_t>(args.out)) == offset_of(offset));
  }));
}

TEST(Wire, MessagesOfAWorkerOnAGpuReadBackAsTheyWereWritten) {
  CallRequest call;
  call.transfer = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, 9, true};
  std::vector<WorkerRequest> const requests = {PlanCallRequest{call}, CaptureRequest{3},    UploadRequest{1, 2, 3, 4, true},
                                               ReplayRequest{5},      FetchRequest{{6, 7}}, InspectRequest{8, 9},
                                               RecordRequest{true},   RecordRequest{false}};
  for (WorkerRequest const& request : requests) {
    std::string const bytes = encode_request(request);
    Result<WorkerRequest> const read = decode_request(bytes);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->index(), request.index());
    EXPECT_EQ(encode_request(*read), bytes);
  }
  NodeReply node;
  node.nodes = 2;
  node.grid = {1, 2, 3};
  node.blocks_a_multiprocessor = 4;
  node.nanoseconds = 5;
  node.name = "kernel";
  Result<Reply> const read = decode_reply(encode_reply(node));
  ASSERT_TRUE(read.has_value());
  auto const& found = std::get<NodeReply>(*read);
  EXPECT_EQ(found.grid, node.grid);
  EXPECT_EQ(found.name, "kernel");
  EXPECT_EQ(found.blocks_a_multiprocessor, 4U);
  EXPECT_EQ(found.nanoseconds, 5U);
}

TEST(Wire, AnyBytesAreReadOrRefusedAndWhatIsReadWritesBackTheSame) {
  EXPECT_TRUE(rc::check([](std::vector<std::uint8_t> const& bytes) {
    std::string const text(bytes.begin(), bytes.end());
    Result<Reply> const reply = decode_reply(text);
    if (reply) RC_ASSERT(encode_reply(*reply) == text);
  }));
}

// Every byte of a good message changed in every bit: it is another good message or refused, never more.
TEST(Wire, DamagedMessagesAreReadOrRefused) {
  std::string const good = encode_reply(DoneReply{3, 1000, 2000, "a sentence"});
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = good;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      Result<Reply> const reply = decode_reply(damaged);
      if (reply) {
        EXPECT_EQ(encode_reply(*reply), damaged);
      }
    }
    EXPECT_FALSE(decode_reply(good.substr(0, at)).has_value());
  }
  EXPECT_FALSE(decode_reply(good + "x").has_value());
}

TEST(Wire, LongTextsAreCut) {
  std::string const message = encode_reply(LoadFailedReply{std::string(100000, 'x')});
  EXPECT_LE(message.size(), largest_message);
  EXPECT_TRUE(decode_reply(message).has_value());
}

} // namespace
} // namespace tik::evaluator
