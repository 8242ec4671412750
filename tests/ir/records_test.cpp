// Ids, and records as JSON: both ways without loss, and strict about everything that others may have written.
#include "src/ir/records.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "src/base/json.h"
#include "tests/ir/sample_records.h"

namespace tik::ir {
namespace {

using ::testing::HasSubstr;

TEST(IdTest, IdsAreALetterAndANumber) {
  EXPECT_EQ(value(parse_id<'O'>("O12")), OpportunityId{12});
  EXPECT_EQ(value(parse_id<'I'>("I0")), ImplementationId{0});
  EXPECT_EQ(to_string(AuditId{7}), "U7");
}

TEST(IdTest, WhatIsNoIdIsRefusedWithAnExample) {
  for (auto const* text : {"", "I", "7", "i7", "I07", "I-1", "I7 ", "I 7", "O7", "I7x"}) {
    auto const id = parse_id<'I'>(text);
    ASSERT_FALSE(id) << text;
    EXPECT_THAT(id.error().message, HasSubstr(std::string("'") + text +
                                              "' is not the id of an implementation: write I and a number, for example I7."));
  }
  for (auto const* text : {"I99999999999999999", "I9007199254740993"}) {
    auto const id = parse_id<'I'>(text);
    ASSERT_FALSE(id) << text;
    EXPECT_THAT(id.error().message,
                HasSubstr(std::string("'") + text + "' is not the id of an implementation: no number is that large."));
  }
  EXPECT_FALSE(parse_id<'U'>("U0"));
}

RC_GTEST_PROP(IdProperty, PrintedIdsAreReadBack, ()) {
  LineageId const id{*rc::gen::inRange<std::int64_t>(1, INT64_C(1) << 53)};
  RC_ASSERT(value(parse_id<'L'>(to_string(id))) == id);
}

TEST(StatusTest, StatusesAreThePapersWords) {
  for (auto const* word : {"continue", "merge", "archive", "reactivate", "abandon"})
    EXPECT_EQ(to_string(value(branch_status_from(word))), word);
  EXPECT_THAT(branch_status_from("continued").error().message,
              HasSubstr("write one of continue, merge, archive, reactivate, abandon"));
}

// Text as people and models write it: any characters, as UTF-8.
rc::Gen<std::string> any_text() {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
                          "a", "Z", "0", " ", "\n", "\t", "\"", "\\", "ä", "€", "𝄞", "\x01", "{}", "null")),
                      [](std::vector<std::string> const& pieces) {
                        std::string text;
                        for (auto const& piece : pieces) text += piece;
                        return text;
                      });
}

template <char L>
rc::Gen<std::vector<Id<L>>> any_ids() {
  return rc::gen::map(rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 100000)),
                      [](std::vector<std::int64_t> const& numbers) {
                        std::vector<Id<L>> ids;
                        for (auto const number : numbers) ids.push_back({number});
                        return ids;
                      });
}

// Through the text of the journal and back.
template <class Record>
Record again(Record const& record, Result<Record> (*read)(Json const&)) {
  return value(read(value(parse_json(dump_json(to_json(record)), "body"))));
}

RC_GTEST_PROP(RecordProperty, OpportunitiesAreReadBackExactly, ()) {
  Opportunity record;
  record.id = {*rc::gen::inRange<std::int64_t>(1, 1000)};
  record.kind = *rc::gen::element(Opportunity::Kind::change, Opportunity::Kind::merge, Opportunity::Kind::reactivate);
  record.mechanism = *any_text();
  record.workloads = *rc::gen::container<std::vector<std::string>>(any_text());
  record.entry_points =
      *rc::gen::container<std::vector<spec::EntryPoint>>(rc::gen::element(spec::EntryPoint::full, spec::EntryPoint::decode));
  record.evidence = *any_ids<'U'>();
  record.evidence_note = *any_text();
  record.implementations = *any_ids<'I'>();
  if (*rc::gen::arbitrary<bool>()) record.origin = LineageId{*rc::gen::inRange<std::int64_t>(1, 1000)};
  record.hint = {{"note", *any_text()}, {"value", *rc::gen::arbitrary<int>()}};
  record.created_at = *any_text();
  auto const read = again(record, opportunity_from_json);
  RC_ASSERT(to_json(read) == to_json(record));
  RC_ASSERT(read.evidence == record.evidence && read.implementations == record.implementations && read.origin == record.origin);
  RC_ASSERT(read.mechanism == record.mechanism && read.kind == record.kind);
}

RC_GTEST_PROP(RecordProperty, ActionsAreReadBackExactly, ()) {
  auto record = sample_action({*rc::gen::inRange<std::int64_t>(1, 1000)}, {{0}});
  record.id = {*rc::gen::inRange<std::int64_t>(1, 1000)};
  record.parents = *any_ids<'I'>();
  record.form = *rc::gen::element(ActionForm::full_only, ActionForm::decode_only, ActionForm::joint);
  record.diff = *any_text();
  record.scope = *any_text();
  record.contradiction = *any_text();
  record.risks = {
      {*rc::gen::element(spec::NumericalClass::scaling_masking, spec::NumericalClass::transcendentals), *any_text()}};
  auto const read = again(record, action_from_json);
  RC_ASSERT(to_json(read) == to_json(record));
  RC_ASSERT(read.diff == record.diff && read.form == record.form && read.parents == record.parents &&
            read.risks.at(0).note == record.risks.at(0).note);
}

RC_GTEST_PROP(RecordProperty, DecisionsAreReadBackExactly, ()) {
  auto record = sample_decision({*rc::gen::inRange<std::int64_t>(0, 1000)}, {*rc::gen::inRange<std::int64_t>(1, 1000)});
  record.id = {*rc::gen::inRange<std::int64_t>(1, 1000)};
  record.status = *rc::gen::element(BranchStatus::continued, BranchStatus::merge, BranchStatus::archived,
                                    BranchStatus::reactivated, BranchStatus::abandoned);
  record.interpretation = *any_text();
  record.evidence = *any_ids<'U'>();
  record.follow_ups = *any_ids<'O'>();
  auto const read = again(record, lineage_decision_from_json);
  RC_ASSERT(to_json(read) == to_json(record));
  RC_ASSERT(read.status == record.status && read.follow_ups == record.follow_ups && read.audit == record.audit);
}

RC_GTEST_PROP(RecordProperty, AuditsKeepEveryBitOfTheirNumbers, ()) {
  auto record = sample_audit({*rc::gen::inRange<std::int64_t>(0, 1000)});
  record.id = {1};
  auto const bits = *rc::gen::arbitrary<std::uint64_t>();
  double latency_us = 0;
  static_assert(sizeof bits == sizeof latency_us);
  std::memcpy(&latency_us, &bits, sizeof bits);
  RC_PRE(std::isfinite(latency_us));
  record.report.workloads[0].samples_us = {latency_us};
  auto const read = again(record, audit_from_json);
  RC_ASSERT(read.report.workloads.at(0).samples_us.at(0) == latency_us);
  RC_ASSERT(to_json(read) == to_json(record));
}

TEST(RecordTest, ImplementationsKeepTheirManifest) {
  auto record = sample_implementation(3);
  record.id = {3};
  record.parents = {{1}, {2}};
  record.created_at = "now";
  auto const read = again(record, implementation_from_json);
  EXPECT_EQ(to_json(read), to_json(record));
  EXPECT_EQ(read.manifest.tunables.at(0).domain, record.manifest.tunables.at(0).domain);
  EXPECT_EQ(read.manifest.rewrites.at(0).edits.at(0).find, "a");
  EXPECT_EQ(read.manifest.numerics.at(0).risk, spec::NumericalClass::transcendentals);
}

TEST(RecordTest, UsagesAndWithdrawalsAreReadBack) {
  ModelUsage usage;
  usage.number = 3;
  usage.action = ActionId{2};
  usage.input_tokens = INT64_C(1) << 40;
  usage.raw = {{"prompt_tokens", 7}};
  EXPECT_EQ(to_json(again(usage, model_usage_from_json)), to_json(usage));
  Withdrawal const withdrawal{{4}, "the incumbent has it already", "now"};
  EXPECT_EQ(to_json(again(withdrawal, withdrawal_from_json)), to_json(withdrawal));
}

// Every field of every record: missing, of another type, or one too many is refused by name.
template <class Record>
void refuses_damaged_fields(Record const& record, Result<Record> (*read)(Json const&), std::string const& name) {
  Json const good = to_json(record);
  ASSERT_TRUE(read(good)) << name;
  for (auto const& field : good.items()) {
    auto missing = good;
    missing.erase(field.key());
    bool const optional = field.key() == "origin" || field.key() == "action";
    if (!optional) {
      auto const result = read(missing);
      ASSERT_FALSE(result) << name << " without " << field.key();
      EXPECT_THAT(result.error().message, HasSubstr(field.key()));
      EXPECT_THAT(result.error().message, HasSubstr(name));
    }
    auto mistyped = good;
    mistyped[field.key()] = 3.5;
    ASSERT_FALSE(read(mistyped)) << name << " with a number for " << field.key();
  }
  auto extra = good;
  extra["surprise"] = 1;
  auto const result = read(extra);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("surprise"));
  auto newer = good;
  newer["schema"] = 2;
  ASSERT_FALSE(read(newer));
  EXPECT_THAT(read(newer).error().message, HasSubstr("use the version that wrote the record"));
  EXPECT_FALSE(read(Json::array()));
  EXPECT_FALSE(read(Json()));
}

TEST(RecordTest, DamagedFieldsAreRefusedByName) {
  auto opportunity = sample_opportunity({0}, {1});
  opportunity.id = {5};
  opportunity.origin = LineageId{1};
  refuses_damaged_fields(opportunity, opportunity_from_json, "opportunity");
  auto action = sample_action({1}, {{0}});
  action.id = {1};
  action.result = {1};
  refuses_damaged_fields(action, action_from_json, "action");
  auto implementation = sample_implementation(0);
  refuses_damaged_fields(implementation, implementation_from_json, "implementation");
  auto audit = sample_audit({0});
  audit.id = {1};
  refuses_damaged_fields(audit, audit_from_json, "audit");
  auto decision = sample_decision({0}, {1});
  decision.id = {1};
  refuses_damaged_fields(decision, lineage_decision_from_json, "lineage decision");
  ModelUsage usage;
  usage.number = 1;
  usage.action = ActionId{1};
  refuses_damaged_fields(usage, model_usage_from_json, "model usage");
  refuses_damaged_fields(Withdrawal{{1}, "why", "now"}, withdrawal_from_json, "withdrawal");
}

TEST(RecordTest, OddValuesAreRefusedByName) {
  auto json = to_json(sample_implementation(0));
  json["manifest"]["tunables"][0]["domain"] = {1, 2};
  EXPECT_THAT(implementation_from_json(json).error().message,
              HasSubstr("implementation I0.manifest.tunables[0].domain: must hold strings only."));
  auto action = sample_action({1}, {{0}});
  action.id = {1};
  action.result = {1};
  json = to_json(action);
  json["form"] = "both";
  EXPECT_THAT(action_from_json(json).error().message,
              HasSubstr("action A1.form: is 'both', but must be one of full-only, decode-only, joint."));
  json = to_json(action);
  json["parents"] = {"U1"};
  EXPECT_THAT(action_from_json(json).error().message, HasSubstr("action A1.parents: 'U1' is not the id of an implementation"));
  json = to_json(action);
  json["risks"][0]["class"] = "bad luck";
  EXPECT_THAT(action_from_json(json).error().message, HasSubstr("'bad luck' is not a class of numerical risk"));
}

TEST(JsonTest, ParsingIsBoundedAndStrict) {
  EXPECT_THAT(parse_json("{\"a\": 1, \"a\": 2}", "body").error().message, HasSubstr("gives the key 'a' twice"));
  EXPECT_THAT(parse_json(std::string(100000, '['), "body").error().message, HasSubstr("body: "));
  EXPECT_THAT(parse_json(std::string(100, '[') + std::string(100, ']'), "body").error().message,
              HasSubstr("nested deeper than 64"));
  EXPECT_THAT(parse_json("{\"a\": ", "body").error().message, HasSubstr("is not JSON from byte"));
  EXPECT_FALSE(parse_json("\"\xff\"", "body"));
  EXPECT_FALSE(parse_json("NaN", "body"));
  EXPECT_FALSE(parse_json("1e999", "body"));
  EXPECT_TRUE(parse_json("{\"a\": {\"a\": 1}, \"b\": {\"a\": 1}}", "body"));
}

RC_GTEST_PROP(JsonProperty, ArbitraryBytesNeverBreakTheParser, (std::string const& text)) {
  auto const json = parse_json(text, "body");
  if (json) RC_ASSERT(!opportunity_from_json(*json));
  if (!json) RC_ASSERT(json.error().message.starts_with("body: "));
}

} // namespace
} // namespace tik::ir
