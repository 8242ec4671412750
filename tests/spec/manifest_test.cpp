// Every kind of bad manifest ends in one sentence with file, line and key; what the folder holds agrees with what is listed.
#include "src/spec/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "src/base/files.h"
#include "tests/temporary_folder.h"

namespace tik::spec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string const good = R"(# one implementation
[implementation]
schema = 1
operator = "attention"
target = "cpu"
abi = 1
description = "simple"
[entry_points]
full = "tik_attention_full"
extend = "tik_attention_extend"
decode = "tik_attention_decode"
workspace = "tik_attention_workspace_bytes"
version = "tik_attention_abi_version"
[files]
full = ["full.cpp"]
decode = ["sub/decode.cpp"]
shared = ["numerics.h"]
[build]
command = ["g++", "-shared", "-I", "{include}", "-o", "{output}", "full.cpp", "sub/decode.cpp"]
[[variants]]
name = "scalar"
entry_point = "full"
file = "full.cpp"
when = "always"
[[dispatch]]
entry_point = "full"
when = "any shape"
variant = "scalar"
[[numerics]]
class = "reduction-order"
requirement = "both sum 8 lanes in the same order"
[[tunables]]
name = "lanes"
file = "numerics.h"
line = "constexpr int kLanes = {};"
domain = [8, 16.5, "32", true]
entry_points = ["full", "decode"]
mechanism = "more sums in flight"
risk = "reduction-order"
helps = "not-vectorized"
[[rewrites]]
name = "split"
mechanism = "two loops"
entry_points = ["decode"]
edits = [{file = "numerics.h", find = "a", replace = ""}]
requires = ["lanes"]
enables = ["fuse"]
[[rewrites]]
name = "fuse"
mechanism = "one loop"
entry_points = ["full"]
edits = [{file = "full.cpp", find = "b", replace = "c"}]
)";

std::string with(std::string const& from, std::string const& to, std::string text = good) {
  auto const place = text.find(from);
  if (place == std::string::npos) throw std::logic_error("the good manifest has no '" + from + "'");
  return text.replace(place, from.size(), to);
}

TEST(ManifestTest, EveryKeyIsRead) {
  auto const result = parse_manifest(good, "implementation.toml");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->operator_name, "attention");
  EXPECT_EQ(result->target, "cpu");
  EXPECT_EQ(result->abi, 1);
  EXPECT_EQ(result->workspace_symbol, "tik_attention_workspace_bytes");
  EXPECT_THAT(result->full_files, ElementsAre("full.cpp"));
  EXPECT_THAT(result->decode_files, ElementsAre("sub/decode.cpp"));
  EXPECT_THAT(result->shared_files, ElementsAre("numerics.h"));
  EXPECT_EQ(result->build_command.size(), 8u);
  EXPECT_EQ(result->variants.at(0).when, "always");
  EXPECT_EQ(result->dispatch.at(0).variant, "scalar");
  EXPECT_EQ(result->numerics.at(0).risk, NumericalClass::reduction_order);
  EXPECT_THAT(result->tunables.at(0).domain, ElementsAre("8", "16.5", "32", "true"));
  EXPECT_THAT(result->tunables.at(0).entry_points, ElementsAre(EntryPoint::full, EntryPoint::decode));
  EXPECT_EQ(result->tunables.at(0).risk, "reduction-order");
  EXPECT_EQ(result->rewrites.at(0).edits.at(0).replace, "");
  EXPECT_THAT(result->rewrites.at(0).requires_, ElementsAre("lanes"));
  EXPECT_THAT(result->rewrites.at(0).enables, ElementsAre("fuse"));
  EXPECT_EQ(result->rewrites.at(1).risk, "none");
}

TEST(ManifestTest, NumericalClassesHaveOneNameEach) {
  for (auto const risk : {NumericalClass::reduction_order, NumericalClass::scaling_masking, NumericalClass::transcendentals,
                          NumericalClass::conversion_rescaling})
    EXPECT_EQ(numerical_class_from(to_string(risk)), risk);
  auto const unknown = numerical_class_from("reduction-orders");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("did you mean 'reduction-order'?"));
}

struct BadInput {
  char const* name;
  std::string text;
  std::string place;
  std::string words;
};
void PrintTo(BadInput const& input, std::ostream* out) { *out << input.name; }

class BadManifestTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadManifestTest, EndsInASentenceWithPlaceAndRemedy) {
  auto const result = parse_manifest(GetParam().text, "implementation.toml");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::input);
  auto const& message = result.error().message;
  EXPECT_THAT(message, StartsWith("implementation.toml:" + GetParam().place));
  EXPECT_THAT(message, HasSubstr(GetParam().words));
  EXPECT_TRUE(message.ends_with(".")) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadManifestTest,
    ::testing::Values(
        BadInput{"NotToml", "[implementation", "1: ", "not valid TOML"},
        BadInput{"Empty", "", "1: [implementation]: ", "is missing"},
        BadInput{"UnknownTable", with("[build]", "[built]"), "18: built: ", "did you mean 'build'?"},
        BadInput{"UnknownKey", with("description", "descripton"),
                 "7: [implementation] descripton: ", "did you mean 'description'?"},
        BadInput{"NewerSchema", with("schema = 1", "schema = 2"), "3: [implementation] schema: ", "between 1 and 1"},
        BadInput{"UnknownOperator", with("\"attention\"", "\"matmul\""), "4: [implementation] operator: ", "not known"},
        BadInput{"UnknownTarget", with("\"cpu\"", "\"gpu\""), "5: [implementation] target: ", "did you mean 'cpu'?"},
        BadInput{"AbiIsText", with("abi = 1", "abi = \"1\""), "6: [implementation] abi: ", "must be an integer"},
        BadInput{"MissingSymbol", with("extend = \"tik_attention_extend\"\n", ""), "8: [entry_points] extend: ", "is missing"},
        BadInput{"SymbolIsNoIdentifier", with("\"tik_attention_full\"", "\"full()\""),
                 "9: [entry_points] full: ", "not a C identifier"},
        BadInput{"FileOutside", with("\"numerics.h\"", "\"../numerics.h\""),
                 "17: [files] shared: ", "'../numerics.h' is no name of a file"},
        BadInput{"FileAbsolute", with("\"numerics.h\"", "\"/etc/passwd\""), "17: [files] shared: ", "is absolute"},
        BadInput{"FileTwice", with("\"numerics.h\"", "\"full.cpp\""), "17: [files] shared: ", "listed under 'full' already"},
        BadInput{"ManifestListed", with("\"numerics.h\"", "\"implementation.toml\""),
                 "17: [files] shared: ", "the manifest itself"},
        BadInput{"NoFile", with("[\"full.cpp\"]", "[]", with("[\"sub/decode.cpp\"]", "[]", with("[\"numerics.h\"]", "[]"))),
                 "15: [files] full: ", "no file is listed"},
        BadInput{"NoOutput", with("\"{output}\"", "\"lib.so\""), "19: [build] command: ", "has no {output}"},
        BadInput{"CommandIsText", with("[\"g++\",", "\"g++\" #"), "19: [build] command: ", "must be a list"},
        BadInput{"VariantOfUnknownFile", with("file = \"full.cpp\"", "file = \"ful.cpp\""),
                 "23: [[variants]] #1 file: ", "did you mean 'full.cpp'?"},
        BadInput{"VariantOfUnknownEntryPoint", with("entry_point = \"full\"", "entry_point = \"extend\""),
                 "22: [[variants]] #1 entry_point: ", "'full' and 'decode'"},
        BadInput{"DispatchToNowhere", with("variant = \"scalar\"", "variant = \"scaler\""),
                 "28: [[dispatch]] #1 variant: ", "did you mean 'scalar'?"},
        BadInput{"DispatchOfTheOtherEntryPoint",
                 with("[[dispatch]]\nentry_point = \"full\"", "[[dispatch]]\nentry_point = \"decode\""),
                 "28: [[dispatch]] #1 variant: ", "belongs to the entry point 'full'"},
        BadInput{"UnknownClass", with("class = \"reduction-order\"", "class = \"reduction order\""),
                 "30: [[numerics]] #1 class: ", "did you mean 'reduction-order'?"},
        BadInput{"LineWithoutPlace", with("kLanes = {};", "kLanes = 8;"), "35: [[tunables]] #1 line: ", "{} exactly once"},
        BadInput{"LineWithTwoPlaces", with("kLanes = {};", "kLanes = {} + {};"),
                 "35: [[tunables]] #1 line: ", "{} exactly once"},
        BadInput{"DomainOfOne", with("[8, 16.5, \"32\", true]", "[8]"), "36: [[tunables]] #1 domain: ", "list of 2 to"},
        BadInput{"DomainWithATwin", with("[8, 16.5, \"32\", true]", "[8, \"8\"]"),
                 "36: [[tunables]] #1 domain: ", "holds 8 twice"},
        BadInput{"DomainOfLists", with("[8, 16.5, \"32\", true]", "[8, [9]]"),
                 "36: [[tunables]] #1 domain: ", "no value for a source line"},
        BadInput{"NoMechanism", with("mechanism = \"more sums in flight\"\n", ""),
                 "32: [[tunables]] #1 mechanism: ", "is missing"},
        BadInput{"UnknownRisk", with("risk = \"reduction-order\"", "risk = \"high\""), "39: [[tunables]] #1 risk: ", "'none'"},
        BadInput{"EntryPointTwice", with("[\"full\", \"decode\"]", "[\"full\", \"full\"]"),
                 "37: [[tunables]] #1 entry_points: ", "twice"},
        BadInput{"NameTwice", with("name = \"split\"", "name = \"lanes\""), "42: [[rewrites]] #1 name: ", "taken in line 32"},
        BadInput{"NoEdits", with("[{file = \"numerics.h\", find = \"a\", replace = \"\"}]", "[]"),
                 "45: [[rewrites]] #1 edits: ", "there is none"},
        BadInput{"EditWithoutReplace", with(", replace = \"\"", ""), "45: [[rewrites]] #1 edits #1 replace: ", "is missing"},
        BadInput{"EditThatChangesNothing", with("replace = \"\"", "replace = \"a\""),
                 "45: [[rewrites]] #1 edits #1 replace: ", "changes something"},
        BadInput{"RequiresNothingKnown", with("requires = [\"lanes\"]", "requires = [\"lane\"]"),
                 "41: [[rewrites]] #1 requires: ", "did you mean 'lanes'?"},
        BadInput{"EnablesItself", with("enables = [\"fuse\"]", "enables = [\"split\"]"),
                 "41: [[rewrites]] #1 enables: ", "itself"}),
    [](auto const& info) { return info.param.name; });

class ManifestFolderTest : public ::testing::Test {
 protected:
  ManifestFolderTest() {
    std::filesystem::create_directory(folder / "sub");
    for (auto const* file : {"full.cpp", "sub/decode.cpp", "numerics.h"}) EXPECT_TRUE(write_file(folder / file, "x\n"));
    EXPECT_TRUE(write_file(folder / manifest_file, good));
  }

  std::string error_of() {
    auto const result = load_manifest(folder);
    return result ? "accepted" : result.error().message;
  }

  test::TemporaryFolder temporary;
  std::filesystem::path const folder = temporary.path();
};

TEST_F(ManifestFolderTest, AFolderThatAgreesIsRead) { EXPECT_EQ(error_of(), "accepted"); }

TEST_F(ManifestFolderTest, AListedFileMustBeThere) {
  std::filesystem::remove(folder / "sub/decode.cpp");
  EXPECT_THAT(error_of(), HasSubstr("implementation.toml:1: [files]: 'sub/decode.cpp' is listed, but not in the folder"));
}

TEST_F(ManifestFolderTest, AFileThatIsThereMustBeListed) {
  EXPECT_TRUE(write_file(folder / "sub/extra.h", "x\n"));
  EXPECT_THAT(error_of(), HasSubstr("implementation.toml:1: [files]: 'sub/extra.h' is in the folder, but not listed"));
}

TEST_F(ManifestFolderTest, ASymbolicLinkIsRefused) {
  std::filesystem::remove(folder / "numerics.h");
  std::filesystem::create_symlink("/etc/passwd", folder / "numerics.h");
  EXPECT_THAT(error_of(), HasSubstr("'numerics.h' is a symbolic link"));
}

TEST_F(ManifestFolderTest, AFolderWithoutManifestIsNamed) {
  std::filesystem::remove(folder / manifest_file);
  EXPECT_THAT(error_of(), HasSubstr("implementation.toml: there is no such file"));
}

RC_GTEST_PROP(ManifestProperty, DamagedTextsNeverBreakTheParser, ()) {
  auto text = good;
  auto const edits = *rc::gen::inRange(1, 6);
  for (int i = 0; i < edits && !text.empty(); ++i) {
    auto const place = *rc::gen::inRange<std::size_t>(0, text.size());
    auto const length = *rc::gen::inRange<std::size_t>(0, std::min<std::size_t>(12, text.size() - place));
    auto const piece = *rc::gen::element<std::string>("", "[", "]", "\"", "=", "\n", ".", "{}", "9999999999999", "nan", "#",
                                                      "'''", "{a=", "\xff", "..");
    text.replace(place, length, piece);
  }
  auto const result = parse_manifest(text, "implementation.toml");
  if (!result) RC_ASSERT(result.error().message.starts_with("implementation.toml:"));
}

RC_GTEST_PROP(ManifestProperty, ArbitraryBytesNeverBreakTheParser, (std::string const& text)) {
  auto const result = parse_manifest(text, "implementation.toml");
  RC_ASSERT(!result);
  RC_ASSERT(result.error().message.starts_with("implementation.toml:"));
}

} // namespace
} // namespace tik::spec
