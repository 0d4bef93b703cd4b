#include "tools/attach/growth.h"

#include <gtest/gtest.h>

#include <string>

#include "tools/json/json_value.h"

namespace vramstow {
namespace {

JsonValue CensusOf(const std::string& holders) {
  return *JsonValue::Parse("{\"holders\":[" + holders + "]}");
}

TEST(WithoutNumbers, NumbersBecomeAStarAndNamesStay) {
  EXPECT_EQ(WithoutNumbers("global history[0..11].grad_fn"), "global history[*].grad_fn");
  EXPECT_EQ(WithoutNumbers("a[3][\"kv\"].b[0, 2..4]"), "a[*][\"kv\"].b[*]");
  EXPECT_EQ(WithoutNumbers("step: x"), "step: x");
  EXPECT_EQ(WithoutNumbers("open[1"), "open[1");
  EXPECT_EQ(WithoutNumbers(""), "");
}

TEST(CompareCensuses, TheOneThatGrewMostIsFirstAndWhatIsGoneIsLast) {
  const auto grown =
      CompareCensuses(CensusOf(R"({"holder":"h[0..1]","bytes":20,"blocks":2,"about":"float32 [5]"},
                  {"holder":"same","bytes":7,"blocks":1},{"holder":"gone","bytes":9,"blocks":1})"),
                      CensusOf(R"({"holder":"h[0..4]","bytes":50,"blocks":5,"about":"float32 [5]"},
                  {"holder":"same","bytes":7,"blocks":1},{"holder":"new","bytes":4,"blocks":1})"));
  ASSERT_EQ(grown.size(), 3);
  EXPECT_EQ(grown[0].holder, "h[*]");
  EXPECT_EQ(grown[0].bytes, 30);
  EXPECT_EQ(grown[0].blocks, 3);
  EXPECT_EQ(grown[0].bytes_now, 50);
  EXPECT_EQ(grown[0].about, "float32 [5]");
  EXPECT_EQ(grown[1].holder, "new");
  EXPECT_EQ(grown[2].holder, "gone");
  EXPECT_EQ(grown[2].bytes, -9);
}

TEST(CompareCensuses, AnAnswerWithoutHoldersIsAnEmptyCensus) {
  EXPECT_TRUE(CompareCensuses(JsonValue::Object(), JsonValue::Object()).empty());
}

}  // namespace
}  // namespace vramstow
