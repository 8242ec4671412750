#include "src/cli/parse_check.h"

#include "src/cli/parse_run.h"

namespace tik::cli {

void add_check_options(CLI::App& sub, Check& check) {
  CLI::Option* const model = sub.add_option("--model", check.model, "A Qwen2.5 or Qwen3 dense model, as qwen3-8b")
                                 ->type_name("NAME")
                                 ->capture_default_str();
  CheckedShape& shape = check.shape;
  std::vector<CLI::Option*> sizes;
  auto const size = [&](char const* name, int& place, char const* description) {
    sizes.push_back(sub.add_option(name, place, description)->type_name("N")->check(CLI::Range(1, 1 << 24))->excludes(model));
  };
  size("--hidden", shape.hidden, "The sizes of another model, all six: columns of the hidden state");
  size("--heads", shape.heads, "Query heads");
  size("--kv-heads", shape.kv_heads, "Heads of keys and values");
  size("--head-dim", shape.head_dim, "Columns of a head");
  size("--intermediate", shape.intermediate, "Columns of SwiGLU");
  size("--vocabulary", shape.vocabulary, "Rows of the embedding and of the head");
  for (CLI::Option* const one : sizes) {
    for (CLI::Option* const other : sizes) {
      if (one != other) one->needs(other);
    }
  }
  sub.add_flag("--qk-norm", shape.qk_norm, "That model normalizes the heads of queries and keys")->needs(sizes.front());
  CLI::Option* const cpu = sub.add_flag("--cpu", check.cpu, "The CPU backend, also where there is a GPU");
  sub.add_flag("--gpu", check.gpu, "The GPU, or an error")->excludes(cpu);
  sub.add_option("--library", check.library,
                 "The library to check; default: libtik_operators_sm90.so beside tik, or the CPU "
                 "backend inside it")
      ->type_name("FILE");
  CLI::Option* const quick = sub.add_flag("--quick", check.quick, "A few small cases of each operator");
  sub.add_flag("--thorough", check.thorough, "Every number of tokens up to 300, and more; takes minutes")->excludes(quick);
  sub.add_option("--operator", check.operators, "Only this one; may be repeated")
      ->type_name("NAME")
      ->expected(1, any_number)
      ->allow_extra_args(false);
  sub.add_option("--seed", check.seed, "Of the random windows, lengths and orders")->type_name("N")->capture_default_str();
}

} // namespace tik::cli
