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

TEST(Tool, SchemaBoundsTextsButCallsMayBeLonger) {
  Tool tool = sample();
  tool.ways = {{"name"}, {"kind", "name"}};
  std::vector<Tool> tools = {tool};
  fit_answer(tools, 200); // 400 bytes: the name's and as much for the rest of the call
  Json const schema = input_schema(tools[0]);
  EXPECT_EQ(schema["properties"]["name"]["maxLength"], 200);
  EXPECT_FALSE(schema["properties"]["kind"].contains("maxLength")) << "it has choices";
  EXPECT_EQ(schema["properties"]["parts"]["items"]["properties"]["id"]["maxLength"], 200);
  EXPECT_TRUE(check(tools[0], {{"name", std::string(500, 'x')}}));
  fit_answer(tools, 8192);
  EXPECT_FALSE(input_schema(tools[0])["properties"]["name"].contains("maxLength"));
}

TEST(Tool, AbridgedHasWhatACallNeeds) {
  Tool tool = sample();
  tool.fields.push_back({"must", Field::Type::objects, "Needed", true, {}, 0, 0, tool.fields});
  std::vector<Tool> tools = {tool};
  abridge(tools);
  Json schema = input_schema(tools[0]);
  EXPECT_EQ(schema["required"], Json({"name", "must"}));
  EXPECT_EQ(schema["properties"].size(), 2u);
  EXPECT_EQ(schema["properties"]["must"]["maxItems"], 1);
  EXPECT_EQ(schema["properties"]["must"]["items"]["properties"].size(), 1u);
  tool.ways = {{"kind"}, {"count"}};
  tools = {tool};
  abridge(tools);
  EXPECT_EQ(input_schema(tools[0])["properties"].size(), 4u) << "what a way needs stays";
}

TEST(Pretty, ShowsSixDigitsOfEveryNumber) {
  EXPECT_EQ(pretty({{"us", 26.899500000000003}, {"limits", {567.86, 1234567.8}}, {"count", 123456789}}),
            R"({"us": 26.8995, "limits": [567.86, 1234570.0], "count": 123456789})");
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
                                   "edit", "apply", "build", "submit"));
  EXPECT_THAT(names(tool_table({}, Offer::manage)),
              testing::ElementsAre("state", "list_records", "read_record", "read_source", "diff", "evidence", "decide"));
  EXPECT_EQ(tool_table({}, Offer::everything).size(), 15u);
}

TEST(ToolTable, WithholdsToolsAndArguments) {
  Withheld all{true, true, true, true, true};
  std::vector<Tool> const tools = tool_table(all, Offer::everything);
  EXPECT_THAT(names(tools), testing::ElementsAre("state", "read_record", "read_source", "diff", "begin_action", "edit", "apply",
                                                 "build", "submit", "audit", "decide"));
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
