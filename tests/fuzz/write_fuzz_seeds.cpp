// What the fuzzers start from: one good input of every kind, written by the project's own writers.
//   write_fuzz_seeds FOLDER    makes FOLDER/{specification,manifest,record,report,wire}
#include <fmt/format.h>

#include <cstdio>

#include "src/evaluator/wire.h"
#include "tests/ir/sample_records.h"

namespace tik::fuzz {
namespace {

namespace fs = std::filesystem;

class Seeds {
 public:
  explicit Seeds(fs::path folder) : folder_(std::move(folder)) {}

  void add(std::string const& subject, std::string const& content) {
    fs::create_directories(folder_ / subject);
    ir::value(write_file(folder_ / subject / fmt::format("{:02}", count_++), content));
  }
  void add_file(std::string const& subject, std::string const& file) {
    add(subject, ir::value(read_file(fs::path(TIK_SOURCE_DIR) / file)));
  }

 private:
  fs::path folder_;
  int count_ = 0;
};

// A seed is a record that reads back.
template <class Record>
void add_record(Seeds& seeds, Record record, Result<Record> (*read)(ir::Json const&)) {
  if constexpr (requires { record.id; }) record.id = {1};
  record.created_at = "2026-01-31T12:34:56.789Z";
  ir::Json const json = ir::to_json(record);
  ir::value(read(json));
  seeds.add("record", json.dump());
}

void add_records(Seeds& seeds) {
  ir::ImplementationId const implementation{1};
  ir::AuditId const audit{1};
  ir::OpportunityId const opportunity{1};
  ir::Opportunity merge = ir::sample_opportunity(implementation, audit);
  merge.kind = ir::Opportunity::Kind::merge;
  add_record(seeds, ir::sample_opportunity(implementation, audit), ir::opportunity_from_json);
  add_record(seeds, merge, ir::opportunity_from_json);
  add_record(seeds, ir::Withdrawal{opportunity, "its mechanism was refuted", ""}, ir::withdrawal_from_json);
  add_record(seeds, ir::sample_implementation(1), ir::implementation_from_json);
  add_record(seeds, ir::sample_action(opportunity, {implementation}), ir::action_from_json);
  add_record(seeds, ir::sample_audit(implementation), ir::audit_from_json);
  add_record(seeds, ir::sample_decision(implementation, audit), ir::lineage_decision_from_json);
  ir::ModelUsage usage;
  usage.number = 1;
  usage.purpose = "act";
  usage.model = "a model";
  usage.input_tokens = 100;
  add_record(seeds, usage, ir::model_usage_from_json);
}

void add_reports(Seeds& seeds) {
  evaluator::Report report = ir::sample_report();
  seeds.add("report", evaluator::to_json(report).dump());
  report.stages[1].outcome = evaluator::Outcome::failed;
  report.stages[1].details = {{"case", {{"token", 3}, {"bits", {"3f80", "3f81"}}}}};
  report.workloads.clear();
  report.evidence = {{"compiler", true, "g++", "", {{"loops", 3}}}, {"profiler", false, "", "there is no counter", {}}};
  report.machine = {{"processor", "a processor"}, {"cores", 2}};
  seeds.add("report", evaluator::to_json(report).dump());
}

void add_messages(Seeds& seeds) {
  using namespace evaluator;
  LoadRequest const load{"/library/lib.so", {"full", "extend", "decode", "workspace", "version"}};
  CallRequest call;
  call.entry = spec::WorkloadKind::decode;
  call.args.batch = 4;
  for (WorkerRequest const& request :
       {WorkerRequest(PingRequest{}), WorkerRequest(load), WorkerRequest(WorkspaceRequest{}), WorkerRequest(call),
        WorkerRequest(PlanCallRequest{call}), WorkerRequest(CaptureRequest{1}),
        WorkerRequest(UploadRequest{64, 2, 1, 0x7fc1, true}), WorkerRequest(ReplayRequest{1}),
        WorkerRequest(FetchRequest{{64, 128}}), WorkerRequest(InspectRequest{1, 2}), WorkerRequest(RecordRequest{true})})
    seeds.add("wire", encode_request(request));
  for (Reply const& reply :
       {Reply(ReadyReply{}), Reply(LoadedReply{1}), Reply(LoadFailedReply{"no such symbol"}), Reply(WorkspaceReply{4096}),
        Reply(DoneReply{1, 1000, 2000, "the batch is 0"}), Reply(FaultReply{11, Region::output, -8}),
        Reply(NodeReply{1, 0, {2, 1, 1}, {128, 1, 1}, 0, 0, 40, 0, 4, 9000, "kernel"})})
    seeds.add("wire", encode_reply(reply));
}

} // namespace
} // namespace tik::fuzz

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: write_fuzz_seeds FOLDER\n"), 2;
  tik::fuzz::Seeds seeds(argv[1]);
  for (auto const* file :
       {"targets/attention-cpu/spec.toml", "targets/attention-cpu/spec-long.toml", "bench/engine/step_overhead.toml"})
    seeds.add_file("specification", file);
  seeds.add_file("manifest", "operators/attention/cpu/implementation.toml");
  tik::fuzz::add_records(seeds);
  tik::fuzz::add_reports(seeds);
  tik::fuzz::add_messages(seeds);
  return 0;
}
