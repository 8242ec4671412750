// Every kind of bad specification ends in one sentence with file, line and key; good ones are read exactly.
#include "src/spec/specification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "src/base/files.h"

namespace tik::spec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string const good = R"(schema = 1
name = "demo"
operator = "attention"
target = "cpu"
root = "../root"
[shape]
query_heads = 8
kv_heads = 2
head_dim = 64
[[workloads]]
id = "full-256"
entry_point = "full"
batch = 2
tokens = 256
weight = 2
[[workloads]]
id = "extend-16"
entry_point = "extend"
tokens = 16
prefix = 240
layout = "paged"
page_size = 16
[[workloads]]
id = "decode-1024"
entry_point = "decode"
tokens = 1024
layout = "contiguous"
weight = 0.5
max_slowdown = 1.25
cache = "warm"
[checks]
seed = 7
prompts = [1, 17]
responses = [1, 5]
batches = [1, 3]
page_sizes = [1, 16]
query_heads_per_kv = [1, 16]
accuracy_distributions = ["normal", "equal"]
[measurement]
rounds = 5
[stopping]
patience = 12
seconds = 1.5
tokens = 1000
[limits.build]
seconds = 30
[limits.run]
memory_mb = 512
)";

// `good` with the first occurrence of `from` replaced; the test breaks loudly when there is none.
std::string with(std::string const& from, std::string const& to, std::string text = good) {
  auto const place = text.find(from);
  if (place == std::string::npos) throw std::logic_error("the good specification has no '" + from + "'");
  return text.replace(place, from.size(), to);
}

std::string error_of(std::string const& text) {
  auto const result = parse_specification(text, "spec.toml");
  if (result) return "accepted";
  EXPECT_EQ(result.error().kind, ErrorKind::input);
  return result.error().message;
}

TEST(SpecificationTest, EveryKeyIsRead) {
  auto const result = parse_specification(good, "spec.toml");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->name, "demo");
  EXPECT_EQ(result->operator_name, "attention");
  EXPECT_EQ(result->target, "cpu");
  EXPECT_EQ(result->root, "../root");
  EXPECT_EQ(result->shape.query_heads, 8);
  EXPECT_DOUBLE_EQ(result->shape.softmax_scale, 0.125);
  ASSERT_EQ(result->workloads.size(), 3u);
  auto const& full = result->workloads[0];
  EXPECT_EQ(full.kind, WorkloadKind::full);
  EXPECT_EQ(full.layout, KvLayout::packed);
  EXPECT_EQ(full.batch, 2);
  EXPECT_EQ(full.weight, 2.0);
  EXPECT_EQ(full.max_slowdown, 1.1);
  EXPECT_EQ(full.cache, CacheState::cold);
  auto const& extend = result->workloads[1];
  EXPECT_EQ(extend.kind, WorkloadKind::extend);
  EXPECT_EQ(extend.entry_point(), EntryPoint::full);
  EXPECT_EQ(extend.prefix, 240);
  EXPECT_EQ(extend.page_size, 16);
  auto const* decode = result->find_workload("decode-1024");
  ASSERT_NE(decode, nullptr);
  EXPECT_EQ(decode->entry_point(), EntryPoint::decode);
  EXPECT_EQ(decode->layout, KvLayout::contiguous);
  EXPECT_EQ(decode->weight, 0.5);
  EXPECT_EQ(decode->max_slowdown, 1.25);
  EXPECT_EQ(decode->cache, CacheState::warm);
  EXPECT_EQ(result->find_workload("decode-1"), nullptr);
  EXPECT_EQ(result->checks.seed, 7u);
  EXPECT_THAT(result->checks.prompts, ElementsAre(1, 17));
  EXPECT_THAT(result->checks.query_heads_per_kv, ElementsAre(1, 16));
  EXPECT_THAT(result->checks.accuracy_distributions, ElementsAre("normal", "equal"));
  EXPECT_EQ(result->measurement.rounds, 5);
  EXPECT_EQ(result->stopping.patience, 12);
  EXPECT_EQ(result->stopping.seconds, 1.5);
  EXPECT_EQ(result->stopping.tokens, 1000);
  EXPECT_FALSE(result->stopping.steps);
  EXPECT_EQ(result->build_limits.seconds, 30);
  EXPECT_EQ(result->run_limits.memory_mb, 512);
  EXPECT_EQ(result->text, good);
}

TEST(SpecificationTest, DefaultsAreThoseOfTheDocumentation) {
  auto text = with("[measurement]\nrounds = 5\n[stopping]\npatience = 12\nseconds = 1.5\ntokens = 1000\n", "");
  auto const result =
      parse_specification(with("[limits.build]\nseconds = 30\n[limits.run]\nmemory_mb = 512\n", "", text), "spec.toml");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->measurement.rounds, 11);
  EXPECT_EQ(result->measurement.max_rounds, 33);
  EXPECT_EQ(result->measurement.noise, 0.01);
  EXPECT_EQ(result->measurement.repeats, 4);
  EXPECT_EQ(result->stopping.patience, 30);
  EXPECT_FALSE(result->stopping.seconds);
  EXPECT_EQ(result->run_limits.memory_mb, 4096);
  EXPECT_EQ(result->checks.repeats, 3);
}

TEST(SpecificationTest, TheSameTextSealsTheSame) {
  auto const one = *parse_specification(good, "a.toml");
  auto const same = *parse_specification(good, "b.toml");
  EXPECT_EQ(seal(one), seal(same));
  EXPECT_EQ(seal(one).size(), 64u);
}

TEST(SpecificationTest, TheSealCoversEveryByteAndTheBaselines) {
  auto const one = *parse_specification(good, "spec.toml");
  auto const comment = *parse_specification(good + "# a comment\n", "spec.toml");
  EXPECT_NE(seal(one), seal(comment));
  EXPECT_NE(seal(one), seal(one, {{"full-256", 1.5}}));
  EXPECT_NE(seal(one, {{"full-256", 1.5}}), seal(one, {{"full-256", std::nextafter(1.5, 2.0)}}));
  EXPECT_NE(seal(one, {{"a", 1.5}}), seal(one, {{"b", 1.5}}));
  EXPECT_EQ(seal(one, {{"full-256", 0.1}}), seal(one, {{"full-256", 0.1}}));
}

struct BadInput {
  char const* name;
  std::string text;
  std::string place; // start of the sentence
  std::string words; // somewhere in it
};

void PrintTo(BadInput const& input, std::ostream* out) { *out << input.name; }

class BadSpecificationTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadSpecificationTest, EndsInASentenceWithPlaceAndRemedy) {
  auto const message = error_of(GetParam().text);
  EXPECT_THAT(message, StartsWith(GetParam().place));
  EXPECT_THAT(message, HasSubstr(GetParam().words));
  EXPECT_TRUE(message.ends_with(".")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadSpecificationTest,
    ::testing::Values(
        BadInput{"NotToml", "schema = [", "spec.toml:1: ", "not valid TOML"},
        BadInput{"TableWithoutName", "[[#\n]]", "spec.toml:1: ", "not valid TOML"},
        BadInput{"LetterBeyondAscii", with("seed = 7", "seed = Ǚ7"), "spec.toml:32: ", "not valid TOML"},
        BadInput{"DuplicateKey", with("name = \"demo\"", "name = \"demo\"\nname = \"again\""),
                 "spec.toml:3: ", "not valid TOML"},
        BadInput{"NotUtf8", with("demo", "de\xff"), "spec.toml:2: ", "not valid TOML"},
        BadInput{"UnknownKey", with("page_size = 16", "pagesize = 16"),
                 "spec.toml:22: [[workloads]] #2 pagesize: ", "did you mean 'page_size'?"},
        BadInput{"UnknownTable", with("[measurement]", "[measurements]"),
                 "spec.toml:39: measurements: ", "did you mean 'measurement'?"},
        BadInput{"UnknownLimit", with("[limits.run]", "[limits.rum]"), "spec.toml:", "did you mean 'run'?"},
        BadInput{"UnknownKeyWithoutNeighbour", with("rounds = 5", "colour = 5"),
                 "spec.toml:40: [measurement] colour: ", "known here: "},
        BadInput{"MissingSchema", with("schema = 1\n", ""), "spec.toml:1: schema: ", "is missing"},
        BadInput{"NewerSchema", with("schema = 1", "schema = 2"), "spec.toml:1: schema: ", "between 1 and 1"},
        BadInput{"MissingName", with("name = \"demo\"\n", ""), "spec.toml:1: name: ", "is missing"},
        BadInput{"EmptyName", with("demo", ""), "spec.toml:2: name: ", "is empty"},
        BadInput{"ControlCharacter", with("demo", "de\\u001bmo"), "spec.toml:2: name: ", "control character"},
        BadInput{"UnknownOperator", with("\"attention\"", "\"atention\""),
                 "spec.toml:3: operator: ", "did you mean 'attention'?"},
        BadInput{"UnknownTarget", with("\"cpu\"", "\"sm_90\""), "spec.toml:4: target: ", "did you mean 'sm_90a'?"},
        BadInput{"WrongType", with("query_heads = 8", "query_heads = \"8\""),
                 "spec.toml:7: [shape] query_heads: ", "is a text, but must be an integer"},
        BadInput{"FloatForInteger", with("query_heads = 8", "query_heads = 8.0"),
                 "spec.toml:7: [shape] query_heads: ", "is a number, but must be an integer"},
        BadInput{"MissingShape", with("[shape]\nquery_heads = 8\nkv_heads = 2\nhead_dim = 64\n", ""),
                 "spec.toml:1: [shape]: ", "is missing"},
        BadInput{"ShapeIsNoTable", with("[shape]\nquery_heads = 8\nkv_heads = 2\nhead_dim = 64\n", "shape = 3\n"),
                 "spec.toml:6: [shape]: ", "must be a table"},
        BadInput{"HeadsNotAMultiple", with("kv_heads = 2", "kv_heads = 3"),
                 "spec.toml:7: [shape] query_heads: ", "not a multiple of kv_heads 3"},
        BadInput{"RatioTooLarge", with("query_heads = 8", "query_heads = 64"),
                 "spec.toml:7: [shape] query_heads: ", "at most 16 times"},
        BadInput{"OddHeadDim", with("head_dim = 64", "head_dim = 96"), "spec.toml:9: [shape] head_dim: ", "64 or 128"},
        BadInput{"ScaleNotFinite", with("head_dim = 64", "head_dim = 64\nsoftmax_scale = inf"),
                 "spec.toml:10: [shape] softmax_scale: ", "must be a finite number"},
        BadInput{"ScaleZero", with("head_dim = 64", "head_dim = 64\nsoftmax_scale = 0"),
                 "spec.toml:10: [shape] softmax_scale: ", "greater than 0"},
        BadInput{"NoWorkload", good.substr(0, good.find("[[workloads]]")) + good.substr(good.find("[checks]")),
                 "spec.toml:1: workloads: ", "there is none"},
        BadInput{"NoDecodeWorkload", with("entry_point = \"decode\"", "entry_point = \"extend\"\nprefix = 1"),
                 "spec.toml:", "none has entry_point = \"decode\""},
        BadInput{"NoFullWorkload",
                 with("entry_point = \"extend\"\ntokens = 16\nprefix = 240\n", "entry_point = \"decode\"\ntokens = 16\n",
                      with("entry_point = \"full\"", "entry_point = \"decode\"")),
                 "spec.toml:", "none has entry_point = \"full\""},
        BadInput{"WorkloadsAreNoTables",
                 with("[shape]", "workloads = 3\n[shape]",
                      good.substr(0, good.find("[[workloads]]")) + good.substr(good.find("[checks]"))),
                 "spec.toml:6: [[workloads]]: ", "must be a list of tables"},
        BadInput{"DuplicateId", with("extend-16", "full-256"),
                 "spec.toml:16: [[workloads]] #2 id: ", "taken by the workload in line 10"},
        BadInput{"OddId", with("extend-16", "extend 16"), "spec.toml:17: [[workloads]] #2 id: ", "letters, digits"},
        BadInput{"MissingTokens", with("tokens = 256\n", ""), "spec.toml:10: [[workloads]] #1 tokens: ", "is missing"},
        BadInput{"NoTokens", with("tokens = 256", "tokens = 0"), "spec.toml:14: [[workloads]] #1 tokens: ", "between 1 and"},
        BadInput{"NegativeWeight", with("weight = 2", "weight = -2"),
                 "spec.toml:15: [[workloads]] #1 weight: ", "is -2, but must be between 0"},
        BadInput{"WeightNotFinite", with("weight = 0.5", "weight = nan"), "spec.toml:28: [[workloads]] #3 weight: ", "finite"},
        BadInput{"AllWeightsZero",
                 with("prefix = 240", "prefix = 240\nweight = 0",
                      with("weight = 2", "weight = 0", with("weight = 0.5", "weight = 0"))),
                 "spec.toml:", "every weight is 0"},
        BadInput{"SlowdownBelowOne", with("max_slowdown = 1.25", "max_slowdown = 0.9"),
                 "spec.toml:29: [[workloads]] #3 max_slowdown: ", "between 1 and"},
        BadInput{"FullIsPacked", with("batch = 2", "layout = \"paged\""),
                 "spec.toml:13: [[workloads]] #1 layout: ", "write one of 'packed'"},
        BadInput{"DecodeIsNotPacked", with("layout = \"contiguous\"", "layout = \"packed\""),
                 "spec.toml:27: [[workloads]] #3 layout: ", "'contiguous' and 'paged'"},
        BadInput{"PageSizeWithoutPages", with("layout = \"contiguous\"", "page_size = 16"),
                 "spec.toml:27: [[workloads]] #3 page_size: ", "only for layout"},
        BadInput{"PagesWithoutPageSize", with("page_size = 16\n", ""),
                 "spec.toml:16: [[workloads]] #2 page_size: ", "is missing"},
        BadInput{"PageTooLarge", with("page_size = 16", "page_size = 512"),
                 "spec.toml:22: [[workloads]] #2 page_size: ", "between 1 and 256"},
        BadInput{"PrefixOfDecode", with("tokens = 1024", "prefix = 4\ntokens = 1024"),
                 "spec.toml:26: [[workloads]] #3 prefix: ", "only for entry_point = \"extend\""},
        BadInput{"ExtendWithoutPrefix", with("prefix = 240\n", ""), "spec.toml:16: [[workloads]] #2 prefix: ", "is missing"},
        BadInput{"WorkloadTooLarge", with("tokens = 256", "tokens = 16000000"),
                 "spec.toml:14: [[workloads]] #1 tokens: ", "[limits.run] memory_mb"},
        BadInput{"UnknownCache", with("cache = \"warm\"", "cache = \"hot\""),
                 "spec.toml:30: [[workloads]] #3 cache: ", "'cold' and 'warm'"},
        BadInput{"MissingChecks", good.substr(0, good.find("[checks]")), "spec.toml:1: [checks]: ", "is missing"},
        BadInput{"NegativeSeed", with("seed = 7", "seed = -7"), "spec.toml:32: [checks] seed: ", "between 0"},
        BadInput{"EmptyList", with("prompts = [1, 17]", "prompts = []"), "spec.toml:33: [checks] prompts: ", "empty list"},
        BadInput{"ListIsNoList", with("prompts = [1, 17]", "prompts = 1"),
                 "spec.toml:33: [checks] prompts: ", "must be a list"},
        BadInput{"ListOfTexts", with("prompts = [1, 17]", "prompts = [1, \"17\"]"),
                 "spec.toml:33: [checks] prompts: ", "must be an integer"},
        BadInput{"ListOutOfRange", with("page_sizes = [1, 16]", "page_sizes = [1, 257]"),
                 "spec.toml:36: [checks] page_sizes: ", "between 1 and 256"},
        BadInput{"ListWithATwin", with("batches = [1, 3]", "batches = [1, 1]"),
                 "spec.toml:35: [checks] batches: ", "holds 1 twice"},
        BadInput{"UnknownDistribution", with("\"equal\"", "\"equals\""),
                 "spec.toml:38: [checks] accuracy_distributions: ", "did you mean 'equal'?"},
        BadInput{"ErrorLimitZero", with("seed = 7", "accuracy_max_error = 0.0"),
                 "spec.toml:32: [checks] accuracy_max_error: ", "greater than 0"},
        BadInput{"CasesTooLarge", with("prompts = [1, 17]", "prompts = [131072]"),
                 "spec.toml:31: [checks] prompts: ", "make the largest case smaller"},
        BadInput{"RoundsBelowLimit", with("rounds = 5", "rounds = 5\nmax_rounds = 4"),
                 "spec.toml:41: [measurement] max_rounds: ", "at least rounds, 5"},
        BadInput{"NoiseAboveLimit", with("rounds = 5", "noise = 0.6"),
                 "spec.toml:40: [measurement] noise: ", "between 0 and 0.5"},
        BadInput{"RepeatsBelowLimit", with("rounds = 5", "repeats = -1"),
                 "spec.toml:40: [measurement] repeats: ", "between 0 and 20"},
        BadInput{"PinIsNoTruth", with("rounds = 5", "pin_cpu = 1"),
                 "spec.toml:40: [measurement] pin_cpu: ", "must be true or false"},
        BadInput{"NoPatience", with("patience = 12", "patience = 0"), "spec.toml:42: [stopping] patience: ", "between 1"},
        BadInput{"NegativeSeconds", with("seconds = 1.5", "seconds = -1.5"), "spec.toml:43: [stopping] seconds: ", "between 0"},
        BadInput{"NoMemory", with("memory_mb = 512", "memory_mb = 0"), "spec.toml:48: [limits.run] memory_mb: ", "between 16"},
        BadInput{"DateForText", with("\"demo\"", "1979-05-27"), "spec.toml:2: name: ", "is a date or time"},
        BadInput{"TooLong", good + "#" + std::string(1 << 20, 'x'), "spec.toml:1: ", "at most 1048576 are read"},
        BadInput{"TooDeep",
                 "[" + std::string(2000, 'a') + "]\n[a" +
                     [] {
                       std::string dots;
                       for (int i = 0; i < 600; ++i) dots += ".a";
                       return dots;
                     }() +
                     "]\n",
                 "spec.toml:1: ", "joins keys by dots 600 times"}),
    [](auto const& info) { return info.param.name; });

TEST(SpecificationTest, LoadNamesWhatItCannotRead) {
  auto const missing = load_specification("/nowhere/spec.toml");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, StartsWith("/nowhere/spec.toml: there is no such file"));
  auto const folder = load_specification("/");
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("is not a regular file"));
  auto const endless = load_specification("/dev/zero");
  ASSERT_FALSE(endless);
  EXPECT_THAT(endless.error().message, HasSubstr("is not a regular file"));
}

// Whatever happens to the text, the answer is a value or a sentence that names the file.
RC_GTEST_PROP(SpecificationProperty, DamagedTextsNeverBreakTheParser, ()) {
  auto text = good;
  auto const edits = *rc::gen::inRange(1, 6);
  for (int i = 0; i < edits && !text.empty(); ++i) {
    auto const place = *rc::gen::inRange<std::size_t>(0, text.size());
    auto const length = *rc::gen::inRange<std::size_t>(0, std::min<std::size_t>(12, text.size() - place));
    auto const piece = *rc::gen::element<std::string>("", "[", "]", "\"", "=", "\n", ".", "-", "9999999999999", "nan", "#",
                                                      "'''", "{a=", "\xff", "true");
    text.replace(place, length, piece);
  }
  auto const result = parse_specification(text, "spec.toml");
  if (!result) RC_ASSERT(result.error().message.starts_with("spec.toml:"));
  if (result) RC_ASSERT(result->text == text);
}

RC_GTEST_PROP(SpecificationProperty, ArbitraryBytesNeverBreakTheParser, (std::string const& text)) {
  auto const result = parse_specification(text, "spec.toml");
  RC_ASSERT(!result);
  RC_ASSERT(result.error().message.starts_with("spec.toml:"));
}

} // namespace
} // namespace tik::spec
