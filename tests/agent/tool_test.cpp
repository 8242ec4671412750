// One table is schema, check and documentation.
#include <gmock/gmock.h>

#include "src/agent/toolbox.h"
#include "src/base/files.h"

namespace tik::agent::test {
namespace {

using testing::HasSubstr;
using testing::Not;

Tool sample() {
  using Type = Field::Type;
  return {"sample",
          "Sample",
          "A tool.",
          Tool::Effect::reads,
          {{"name", Type::text, "A name", true},
           {"kind", Type::text, "A kind", false, {"left", "right"}},
           {"count", Type::integer, "A count", false, {}, 1, 9},
           {"parts", Type::objects, "Parts", false, {}, 0, 0, {{"id", Type::text, "Its id", true}}}}};
}

std::string problem(Json const& arguments) {
  auto const checked = check(sample(), arguments);
  return checked ? "" : checked.error().message;
}

TEST(Tool, AcceptsWhatItsSchemaSays) {
  EXPECT_EQ(problem({{"name", "x"}}), "");
  EXPECT_EQ(problem({{"name", "x"}, {"kind", "left"}, {"count", 9}, {"parts", {{{"id", "a"}}}}}), "");
  EXPECT_EQ(problem({{"name", "x"}, {"kind", nullptr}}), "") << "models send null for what is absent";
}

TEST(Tool, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(problem(Json::object()), "sample: name is missing: A name.");
  EXPECT_EQ(problem({{"name", 3}}), "sample: name: must be a string, not number.");
  EXPECT_EQ(problem({{"name", "x"}, {"kind", "up"}}), "sample: kind: is 'up', but must be one of left, right.");
  EXPECT_EQ(problem({{"name", "x"}, {"count", 10}}), "sample: count: is 10, but must be from 1 to 9.");
  EXPECT_EQ(problem({{"name", "x"}, {"parts", {{{"id", "a"}}, Json::object()}}}), "sample: parts[1]: id is missing: Its id.");
  EXPECT_THAT(problem({{"name", "x"}, {"nme", "y"}}), HasSubstr("'nme' is no argument; there are name, kind, count, parts"));
  EXPECT_THAT(problem(Json::array()), HasSubstr("must be an object"));
  EXPECT_THAT(problem({{"name", std::string(longest_argument + 1, 'x')}}), HasSubstr("at most"));
}

TEST(Tool, SchemaNamesEveryArgumentAndRefusesOthers) {
  Json const schema = input_schema(sample());
  EXPECT_EQ(schema["type"], "object");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"], Json({"name"}));
  EXPECT_EQ(schema["properties"]["kind"]["enum"], Json({"left", "right"}));
  EXPECT_EQ(schema["properties"]["count"]["maximum"], 9);
  EXPECT_EQ(schema["properties"]["parts"]["items"]["required"], Json({"id"}));
}

TEST(Pretty, IsTheSameJsonWithOneLineForWhatFits) {
  Json const part = {{"id", "O1"}, {"implementations", {"I0", "I1"}}, {"mechanism", "fewer \"loads\""}, {"total", nullptr}};
  Json whole = {{"empty", Json::array()}, {"parts", Json::array()}};
  EXPECT_EQ(pretty(part), R"({"id": "O1", "implementations": ["I0", "I1"], "mechanism": "fewer \"loads\"", "total": null})");
  for (int i = 0; i < 3; ++i) whole["parts"].push_back(part);
  EXPECT_EQ(pretty(whole), "{\n \"empty\": [],\n \"parts\": [\n  " + pretty(part) + ",\n  " + pretty(part) + ",\n  " +
                               pretty(part) + "\n ]\n}");
  EXPECT_EQ(Json::parse(pretty(whole)), whole);
}

std::vector<std::string> names(std::vector<Tool> const& tools) {
  std::vector<std::string> list;
  for (Tool const& tool : tools) list.push_back(tool.name);
  return list;
}

TEST(ToolTable, OffersEachPartOfTheWorkflowItsOwn) {
  EXPECT_THAT(names(tool_table({}, Offer::act)),
              testing::ElementsAre("state", "list_records", "read_record", "read_source", "diff", "evidence", "begin_action",
                                   "edit", "build", "submit"));
  EXPECT_THAT(names(tool_table({}, Offer::manage)),
              testing::ElementsAre("state", "list_records", "read_record", "read_source", "diff", "evidence", "decide"));
  EXPECT_EQ(tool_table({}, Offer::everything).size(), 14u);
}

TEST(ToolTable, WithholdsToolsAndArguments) {
  Withheld all{true, true, true, true, true};
  std::vector<Tool> const tools = tool_table(all, Offer::everything);
  EXPECT_THAT(names(tools), testing::ElementsAre("state", "read_record", "read_source", "diff", "begin_action", "edit", "build",
                                                 "submit", "audit", "decide"));
  std::string const text = describe(tools);
  for (char const* const word : {"opportunity", "parents", "risks", "follow_ups", "status?"})
    EXPECT_THAT(text, Not(HasSubstr(std::string("| ") + word))) << word;
}

TEST(ToolTable, DocumentationIsThatOfTheTable) {
  auto const file = read_file(std::string(TIK_SOURCE_DIR) + "/docs/tools.md");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->ends_with(describe(tool_table({}, Offer::everything)))) << "write it again: tik mcp --describe";
}

} // namespace
} // namespace tik::agent::test
