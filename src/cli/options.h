// What the command line asked for, as plain values: one struct a command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tik::cli {

// Every command that works on a search names its folder the same way: as the argument, with -C, or in TIK_DIR; else the current
// folder.
struct OnSearch {
  std::filesystem::path search = ".";
};

// Where audits run: in this process, or on a host that a command reaches.
struct OnHost {
  std::string runner; // empty: in this process
  double runner_seconds = 3600;
  int runner_tries = 3;
};

struct New : OnHost {
  std::filesystem::path folder, specification;
  std::filesystem::path root;   // empty: what the specification names
  std::filesystem::path bundle; // write the root's bundle here instead of auditing it
  std::filesystem::path apply;  // take the root's report from this folder
};
// The language model of `tik run --agent model`; nothing here has a default that reaches a service.
struct ModelOptions {
  std::string api, base_url, name;
  std::string key_variable; // name of the environment variable that holds the key; empty: no key is sent
  std::int64_t tokens = 0, context_tokens = 100000, output_tokens = 8192;
  double cost = 0, input_price = 0, cached_price = -1, output_price = 0;
  double idle_seconds = 120;
  int retries = 4;
  bool old_limit_name = false, require_calls = false;
  std::filesystem::path exchanges; // what --agent replay reads
  std::vector<std::string> given;  // which of these options the command line named
};
struct Run : OnSearch, OnHost {
  std::string agent = "builtin";
  std::uint64_t seed = 1;
  int steps = 0;                    // of this run; 0: no limit of its own
  double seconds = 0;               // of this run; 0: no limit of its own
  std::vector<std::string> without; // parts withheld from the agent
  ModelOptions model;
  bool json = false;
};
struct Status : OnSearch {
  bool json = false;
};
struct Log : OnSearch {
  bool json = false;
  std::size_t limit = 50; // 0: all
};
struct Show : OnSearch {
  std::string id;
  bool json = false;
};
struct Diff : OnSearch {
  std::string from, to;
  bool evidence = false;
};
struct Best : OnSearch {
  std::filesystem::path export_to; // empty: only say which
  bool json = false;
};
struct Evaluate {
  std::filesystem::path specification, source;
  std::filesystem::path incumbent;  // empty: none
  std::filesystem::path bundle;     // instead of specification and source; "-": standard input
  std::filesystem::path out;        // of a bundle's reports
  std::vector<std::string> profile; // workloads
  std::vector<int> devices;         // GPUs; none: the first
  int against_itself = 0;           // measurements beside itself
  bool json = false;
};
struct Report : OnSearch {
  std::filesystem::path out; // empty: SEARCH/report
};
struct OpportunityList : OnSearch {
  bool all = false, json = false;
};
struct OpportunityAdd : OnSearch {
  std::string mechanism, kind = "change", note;
  std::vector<std::string> workloads, entry_points, evidence, implementations;
  bool json = false;
};
struct OpportunityWithdraw : OnSearch {
  std::string id, reason;
};
struct ActBegin : OnSearch {
  std::string opportunity;
  std::vector<std::string> parents;
  std::filesystem::path folder;
};
struct ActSubmit : OnSearch {
  std::filesystem::path folder;
  std::string agent = "person";
  bool batch = false; // joins the implementations that wait for their audits
  bool json = false;
};
struct Audit : OnSearch, OnHost {
  std::vector<std::string> implementations; // none: the first that waits for its audit; of a bundle all that wait
  std::filesystem::path bundle;             // write a bundle here instead of auditing
  std::filesystem::path apply;              // take reports from this folder
  std::vector<std::string> profile;         // workloads
  bool json = false;
};
struct Decide : OnSearch {
  std::string audit;
  std::filesystem::path file; // a decision file; empty: the words below
  std::string implementation, status, interpretation, reason, agent = "person";
  std::vector<std::string> evidence;
  bool json = false;
};
struct Mcp : OnSearch, OnHost {
  std::string agent = "mcp";
  std::vector<std::string> without; // parts withheld from the agent
  bool read_only = false, describe = false;
};
// The sizes of a model, as its config.json has them; all 0 where the model is known by its name.
struct CheckedShape {
  int hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, intermediate = 0, vocabulary = 0;
  bool qk_norm = false;
};
struct Check {
  std::string model = "qwen2.5-1.5b";
  CheckedShape shape;
  bool cpu = false, gpu = false; // neither: the GPU where there is one
  std::filesystem::path library; // empty: the CPU backend of this program, or the GPU's beside it
  bool quick = false, thorough = false;
  std::vector<std::string> operators; // none: all
  std::uint64_t seed = 1;
  bool json = false;
};
struct Verify : OnSearch {
  bool json = false;
};
struct Doctor {
  bool json = false;
};
struct Export : OnSearch {
  std::filesystem::path out;
};
struct Import {
  std::filesystem::path from, folder;
};
struct Completion {
  std::string shell;
};

using Command = std::variant<New, Run, Status, Log, Show, Diff, Best, Evaluate, Report, OpportunityList, OpportunityAdd,
                             OpportunityWithdraw, ActBegin, ActSubmit, Audit, Decide, Mcp, Check, Verify, Doctor, Export,
                             Import, Completion>;

} // namespace tik::cli
