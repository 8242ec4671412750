#include "src/cli/parse_run.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace tik::cli {
namespace {

CLI::Validator number(bool zero_too) {
  auto const check = [zero_too](std::string& text) -> std::string {
    double value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const whole = error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
    if (whole && (value > 0 || (zero_too && value == 0))) return {};
    return fmt::format("'{}' is not a number {}", text, zero_too ? "of at least 0" : "above 0");
  };
  return CLI::Validator(check, zero_too ? "NONNEGATIVE" : "POSITIVE");
}

void add_model_options(CLI::App& sub, Run& run) {
  ModelOptions& value = run.model;
  sub.add_option("--without", run.without, without_help)->type_name("PART")->expected(1, any_number)->allow_extra_args(false);
  char const* const group = "With --agent model";
  sub.add_option("--api", value.api, "Wire format: openai (chat completions) or anthropic (messages)")
      ->type_name("NAME")
      ->group(group);
  sub.add_option("--base-url", value.base_url, "Where the service is: http://127.0.0.1:8080/v1")
      ->type_name("URL")
      ->group(group);
  sub.add_option("--model", value.name, "The model's name at the service")->type_name("NAME")->group(group);
  sub.add_option("--key-env", value.key_variable, "Environment variable that holds the key; without it none is sent")
      ->type_name("VAR")
      ->group(group);
  sub.add_option("--max-tokens", value.tokens, "Ask no more after N input and output tokens of this run")
      ->type_name("N")
      ->check(positive_number())
      ->group(group);
  sub.add_option("--max-cost", value.cost, "Ask no more after this cost, by the prices given")
      ->type_name("X")
      ->check(positive_number())
      ->group(group);
  sub.add_option("--input-price", value.input_price, "Price of a million input tokens")
      ->type_name("X")
      ->check(non_negative_number())
      ->group(group);
  sub.add_option("--cached-price", value.cached_price, "Price of a million input tokens from a cache; default: as input")
      ->type_name("X")
      ->check(non_negative_number())
      ->group(group);
  sub.add_option("--output-price", value.output_price, "Price of a million output tokens")
      ->type_name("X")
      ->check(non_negative_number())
      ->group(group);
  sub.add_option("--context-tokens", value.context_tokens, "Begin a conversation again from the records beyond this size")
      ->type_name("N")
      ->check(CLI::Range(1000, 100000000))
      ->capture_default_str()
      ->group(group);
  sub.add_option("--output-tokens", value.output_tokens, "Longest answer of the model")
      ->type_name("N")
      ->check(CLI::Range(16, 1000000))
      ->capture_default_str()
      ->group(group);
  sub.add_option("--idle-seconds", value.idle_seconds, "Give an answer up after so long without a byte")
      ->type_name("N")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str()
      ->group(group);
  sub.add_option("--retries", value.retries, "Ask again so often when the service fails")
      ->type_name("N")
      ->check(CLI::Range(0, 100))
      ->capture_default_str()
      ->group(group);
  sub.add_flag(
         "--require-calls", value.require_calls,
         "Ask the service for answers that are calls, and name the ids that there are in their schemas: helps small models")
      ->group(group);
  sub.add_flag("--old-limit-name", value.old_limit_name, "Send max_tokens, which older servers know, for max_completion_tokens")
      ->group(group);
  sub.add_option("--exchanges", value.exchanges, "With --agent replay: the file exchanges.jsonl of a search")
      ->type_name("FILE")
      ->group(group);
  for (CLI::Option* const option : sub.get_options([&](CLI::Option const* each) { return each->get_group() == group; }))
    option->each([&value, name = option->get_name()](std::string const&) { value.given.push_back(name); });
}

} // namespace

CLI::Validator positive_number() { return number(false); }
CLI::Validator non_negative_number() { return number(true); }

void add_run_options(CLI::App& sub, Run& value) {
  sub.add_option("--agent", value.agent, "Who proposes: builtin, model (a language model), replay (recorded answers)")
      ->type_name("NAME")
      ->capture_default_str();
  sub.add_option("--seed", value.seed, "Seed of the built-in agent")
      ->type_name("N")
      ->check(non_negative_number())
      ->capture_default_str();
  sub.add_option("--steps", value.steps, "Stop after N steps of this run")->type_name("N")->check(CLI::Range(1, 1000000000));
  sub.add_option("--seconds", value.seconds, "Begin no step after N seconds of this run")
      ->type_name("N")
      ->check(positive_number());
  add_model_options(sub, value);
}

} // namespace tik::cli
