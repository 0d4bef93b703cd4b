#include "tools/json/json_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace vramstow {
namespace {

TEST(JsonValue, WritesMembersInTheOrderInWhichTheyWereAdded) {
  JsonValue json = JsonValue::Object({{"z", 1}, {"a", nullptr}, {"list", JsonValue::Array()}});
  json["m"] = JsonValue::Object({{"yes", true}});
  json["list"].Append(-1);
  json["list"].Append("two");
  json["a"] = 0.5;
  EXPECT_EQ(json.Dump(), R"({"z":1,"a":0.5,"list":[-1,"two"],"m":{"yes":true}})");
}

TEST(JsonValue, KeepsEveryBitOfLargeNumbers) {
  const JsonValue json = JsonValue::Object({{"most", std::numeric_limits<uint64_t>::max()},
                                            {"least", std::numeric_limits<int64_t>::min()}});
  const std::string text = R"({"most":18446744073709551615,"least":-9223372036854775808})";
  EXPECT_EQ(json.Dump(), text);
  const auto read = JsonValue::Parse(text);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->Unsigned("most"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(read->Integer("least"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(read->Dump(), text);
}

TEST(JsonValue, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(JsonValue(std::string("a\xff\n")).Dump(), "\"a\xef\xbf\xbd\\n\"");
}

TEST(JsonValue, TextsCannotControlTheTerminal) {
  const JsonValue text(std::string("\x1b[1m \x7f \xc2\x9b\xc2\xa0\xc3\x9f"));
  EXPECT_EQ(text.Dump(), "\"\\u001b[1m \\u007f \\u009b\xc2\xa0\xc3\x9f\"");
  EXPECT_EQ(JsonValue::Parse(text.Dump())->Text(), text.Text());
}

TEST(JsonValue, ReadsWhatIsNotThereOrOfAnotherTypeAsNothing) {
  const auto json = JsonValue::Parse(R"({"text":"x","number":3,"list":[1,2]})");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->Unsigned("text"), 0);
  EXPECT_EQ(json->Unsigned("no such"), 0);
  EXPECT_EQ(json->Text("number"), "");
  EXPECT_FALSE(json->Bool("number"));
  EXPECT_EQ(json->Unsigned("number"), 3);
  EXPECT_EQ(json->Items("list").size(), 2);
  EXPECT_TRUE(json->Items("text").empty());
  EXPECT_EQ(json->Find("text")->Find("x"), nullptr);
}

TEST(JsonValue, RefusesWhatIsNoJsonOrNestedTooDeeply) {
  EXPECT_FALSE(JsonValue::Parse("").has_value());
  EXPECT_FALSE(JsonValue::Parse("{\"a\":").has_value());
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(JsonValue::Parse(nested(JsonValue::kDeepest)).has_value());
  EXPECT_FALSE(JsonValue::Parse(nested(1'000'000)).has_value());
}

TEST(JsonValue, ReadsTheLastValueOfAKeyThatOccursTwice) {
  const auto json = JsonValue::Parse(R"({"a":1,"b":2,"a":[3],"c":{"d":4,"d":5}})");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->Dump(), R"({"a":[3],"b":2,"c":{"d":5}})");
}

// With a search for each key, these objects would take some minutes.
TEST(JsonValue, ReadsAndWritesObjectsWithManyMembersInLinearTime) {
  constexpr size_t kMembers = 1'000'000;
  std::string text = "{";
  for (size_t i = 0; i < kMembers; ++i) {
    text += (i == 0 ? "\"key" : ",\"key") + std::to_string(i) + "\":1";
  }
  text += "}";
  const auto begin = std::chrono::steady_clock::now();
  const auto json = JsonValue::Parse(text);
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->members().size(), kMembers);
  EXPECT_EQ(json->Dump(), text);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST(JsonValue, MakesAListOfTexts) {
  EXPECT_EQ(JsonValue(std::vector<std::string>{"a", "b"}).Dump(), R"(["a","b"])");
}

}  // namespace
}  // namespace vramstow
