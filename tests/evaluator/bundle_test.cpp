// What a bundle accepts from a file that may have been cut, changed or made by someone else. No candidate runs here.
#include "src/evaluator/bundle.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "src/base/json.h"
#include "src/base/sha256.h"
#include "src/evaluator/version.h"
#include "tests/sample_texts.h"

namespace tik::evaluator {
namespace {

using testing::HasSubstr;

BundledSource source(std::string id, std::vector<SourceFile> files) {
  std::string hash = hash_source_files(files);
  return {std::move(id), std::move(hash), std::move(files)};
}

Bundle sample() {
  Bundle bundle;
  auto specification = spec::parse_specification(tik::test::SampleSpecification{.name = "bundled"}.text(), "spec.toml");
  EXPECT_TRUE(specification) << specification.error().message;
  bundle.specification = std::move(*specification);
  bundle.specification_file = "spec.toml";
  bundle.baseline_us = {{"full-32", 0.1 + 0.2}, {"decode-96", 12.5}};
  bundle.seal = spec::seal(bundle.specification, bundle.baseline_us);
  bundle.incumbent = source("I3", {{"full.cpp", "full, the best so far", false}, {"tune.sh", "a script", true}});
  bundle.incumbent_latency_us = {{"full-32", 1.0 / 3}, {"decode-96", 7}};
  bundle.candidates.push_back(
      source("I4", {{"deep/er/full.cpp", std::string("\0binary\xff", 8), false}, {"tune.sh", "a script", true}}));
  bundle.candidates.push_back(source("I5", {{"empty", "", false}, {"full.cpp", "another", false}}));
  return bundle;
}

// The bundle's bytes after `change` was made to its head, with the first line made true again: what someone makes who knows
// the format.
std::string with_head(Bundle const& bundle, std::function<void(Json&)> const& change) {
  std::string const bytes = *encode_bundle(bundle);
  std::size_t const head = bytes.find('\n') + 1, end = bytes.find('\n', head) + 1;
  Json json = Json::parse(bytes.substr(head, end - head));
  change(json);
  std::string const text = dump_json(json) + '\n';
  return fmt::format("tik-bundle 1 {} {}\n{}{}", text.size(), sha256_hex(text), text, bytes.substr(end));
}

void expect_refused(std::string const& bytes, std::string const& sentence) {
  auto const bundle = decode_bundle(bytes, "b.tik");
  ASSERT_FALSE(bundle) << sentence;
  EXPECT_EQ(bundle.error().kind, ErrorKind::input);
  EXPECT_THAT(bundle.error().message, testing::AllOf(testing::StartsWith("b.tik"), HasSubstr(sentence)));
}

TEST(Bundle, ComesBackAsItWasWritten) {
  Bundle const bundle = sample();
  auto const read = decode_bundle(*encode_bundle(bundle), "b.tik");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->specification.text, bundle.specification.text);
  EXPECT_EQ(read->seal, bundle.seal);
  EXPECT_EQ(read->baseline_us, bundle.baseline_us) << "to the last bit";
  EXPECT_EQ(read->incumbent_latency_us, bundle.incumbent_latency_us);
  ASSERT_EQ(read->candidates.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->candidates[i].id, bundle.candidates[i].id);
    ASSERT_EQ(read->candidates[i].files.size(), bundle.candidates[i].files.size());
    for (std::size_t f = 0; f < bundle.candidates[i].files.size(); ++f) {
      EXPECT_EQ(read->candidates[i].files[f].name, bundle.candidates[i].files[f].name);
      EXPECT_EQ(read->candidates[i].files[f].content, bundle.candidates[i].files[f].content);
      EXPECT_EQ(read->candidates[i].files[f].executable, bundle.candidates[i].files[f].executable);
    }
  }
  EXPECT_EQ(read->incumbent->files[1].content, "a script");
  EXPECT_EQ(*encode_bundle(*read), *encode_bundle(bundle));
}

TEST(Bundle, KeepsAContentThatSeveralTreesShareOnce) {
  Bundle bundle = sample();
  std::string const large(100000, 'x');
  for (int i = 6; i < 16; ++i)
    bundle.candidates.push_back(source(fmt::format("I{}", i), {{"large.h", large, false}, {"own", std::to_string(i), false}}));
  EXPECT_LT(encode_bundle(bundle)->size(), 120000u);
}

RC_GTEST_PROP(Bundle, CutAnywhereIsRefused, ()) {
  static std::string const bytes = *encode_bundle(sample());
  RC_ASSERT(!decode_bundle(std::string_view(bytes).substr(0, *rc::gen::inRange<std::size_t>(0, bytes.size())), "b.tik"));
}

RC_GTEST_PROP(Bundle, WithAnyByteChangedIsRefused, ()) {
  std::string bytes = *encode_bundle(sample());
  std::size_t const at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  bytes[at] = static_cast<char>(bytes[at] ^ *rc::gen::inRange(1, 256));
  RC_ASSERT(!decode_bundle(bytes, "b.tik"));
}

TEST(Bundle, SaysWhatIsWrongWithIt) {
  Bundle const bundle = sample();
  std::string const bytes = *encode_bundle(bundle);
  expect_refused("", "no bundle");
  expect_refused(
      "\x7f"
      "ELF",
      "no bundle");
  expect_refused(bytes + "x", "1 bytes follow its end");
  expect_refused(bytes.substr(0, bytes.size() - 1), "was cut");
  expect_refused(with_head(bundle, [](Json& head) { head["schema"] = 2; }), "schema is 2");
  expect_refused(with_head(bundle, [](Json& head) { head["evaluator_version"] = "0"; }), "evaluator version 0");
  expect_refused(with_head(bundle, [](Json& head) { head["checks_version"] = "9"; }), "checks version 9");
  expect_refused(with_head(bundle, [](Json& head) { head["surprise"] = 1; }), "surprise");
  expect_refused(with_head(bundle, [](Json& head) { head.erase("seal"); }), "seal");
}

TEST(Bundle, WithAnotherSpecificationOrOtherBaselinesThanWereSealedIsRefused) {
  Bundle const bundle = sample();
  expect_refused(
      with_head(bundle, [](Json& head) { head["specification"] = head["specification"].get<std::string>() + "\n# easier\n"; }),
      "do not hash to its seal");
  expect_refused(with_head(bundle, [](Json& head) { head["baseline_us"]["full-32"] = 99; }), "do not hash to its seal");
  expect_refused(with_head(bundle, [](Json& head) { head["incumbent_latency_us"].erase("full-32"); }), "no latency");
  expect_refused(with_head(bundle, [](Json& head) { head["incumbent_latency_us"]["full-32"] = -1; }), "no latency");
}

TEST(Bundle, WithNamesThatLeadOutOfATreeIsRefused) {
  Bundle const bundle = sample();
  for (std::string const name :
       {"/etc/passwd", "../up", "a/../../up", "a//b", "a/", "", ".", ".git/hooks/x", "a\\b", "line\nbreak"})
    expect_refused(with_head(bundle, [&](Json& head) { head["candidates"][0]["files"][0]["name"] = name; }), "which ");
  std::string deep = "x";
  for (int i = 0; i < 40; ++i) deep = "d/" + deep;
  expect_refused(with_head(bundle, [&](Json& head) { head["candidates"][0]["files"][0]["name"] = deep; }), "too deep");
  expect_refused(with_head(bundle, [](Json& head) { head["candidates"][0]["files"][0]["name"] = "tune.sh"; }), "twice");
  expect_refused(with_head(bundle, [](Json& head) { head["candidates"][0]["files"][0]["name"] = "tune.sh/x"; }),
                 "as a file and as a folder");
  for (std::string const id : {"../I4", "", "I4/x", "a name that is much longer than any id"})
    expect_refused(with_head(bundle, [&](Json& head) { head["candidates"][0]["id"] = id; }), "letters and digits");
  expect_refused(with_head(bundle, [](Json& head) { head["candidates"][1]["id"] = "I4"; }), "I4 is there twice");
}

TEST(Bundle, WithATreeThatIsNotTheOneHashedIsRefused) {
  Bundle const bundle = sample();
  expect_refused(with_head(bundle, [](Json& head) { head["candidates"][0]["files"].erase(1); }),
                 "do not hash to its source hash");
  expect_refused(with_head(bundle, [](Json& head) { head["candidates"][0]["source_sha256"] = "0"; }), "do not hash");
  expect_refused(with_head(bundle, [](Json& head) { head["candidates"][0]["files"][0]["sha256"] = "0"; }), "is missing");
  expect_refused(with_head(bundle, [](Json& head) { head["candidates"] = Json::array(); }), "no candidate");
  expect_refused(with_head(bundle, [](Json& head) { head["contents"][0]["bytes"] = 1e18; }), "bytes");
}

} // namespace
} // namespace tik::evaluator
