// The specifications and manifests that tests start from. What all of them share is written here once; a test says what is
// particular to it.
#pragma once

#include <fmt/format.h>

#include <string>

namespace tik::test {

// The checks of tests in which no candidate runs.
inline constexpr char const* least_checks = "prompts = [1]\nresponses = [1]\nbatches = [1]\npage_sizes = [16]\n";

// A specification of attention on a CPU with one workload for each entry point, full-TOKENS and decode-TOKENS.
struct SampleSpecification {
  std::string name;
  int query_heads = 2, kv_heads = 1;
  int full_tokens = 32, decode_tokens = 96;
  std::string full = {}, decode = {}; // further lines of the workloads
  std::string checks = least_checks;
  std::string rest = {}; // further tables

  std::string text() const {
    return fmt::format(
        "schema = 1\nname = \"{}\"\noperator = \"attention\"\ntarget = \"cpu\"\n\n"
        "[shape]\nquery_heads = {}\nkv_heads = {}\nhead_dim = 64\n\n{}{}[checks]\n{}\n{}",
        name, query_heads, kv_heads, workload("full", full_tokens, full), workload("decode", decode_tokens, decode), checks,
        rest);
  }

 private:
  static std::string workload(char const* entry_point, int tokens, std::string const& more) {
    return fmt::format("[[workloads]]\nid = \"{0}-{1}\"\nentry_point = \"{0}\"\ntokens = {1}\n{2}\n", entry_point, tokens,
                       more);
  }
};

// A manifest of attention on a CPU.
struct SampleManifest {
  std::string description;
  std::string files;   // the lines of [files]
  std::string command; // the words of the build command, quoted, with commas between
  std::string rest = {};

  std::string text() const {
    return fmt::format(
        "[implementation]\nschema = 1\noperator = \"attention\"\ntarget = \"cpu\"\nabi = 1\ndescription = \"{}\"\n\n"
        "[entry_points]\nfull = \"tik_attention_full\"\nextend = \"tik_attention_extend\"\ndecode = \"tik_attention_decode\"\n"
        "workspace = \"tik_attention_workspace_bytes\"\nversion = \"tik_attention_abi_version\"\n\n"
        "[files]\n{}\n[build]\ncommand = [{}]\n\n{}",
        description, files, command, rest);
  }
};

} // namespace tik::test
