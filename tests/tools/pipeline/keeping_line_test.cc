// Tests the search for retention lines: the variable to which a census chain leads, and the source
// lines that store into it.
#include "tools/pipeline/keeping_line.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace vramstow {
namespace {

TEST(KeepingLine, TheVariableIsTheOneBeforeTheIndex) {
  const Container local = ContainerOf("perplexity: logits[0..12]");
  EXPECT_EQ(local.name, "logits");
  EXPECT_EQ(local.function, "perplexity");
  EXPECT_FALSE(local.is_attribute);
  const Container attribute = ContainerOf("global keeper.saved[3][\"model\"]");
  EXPECT_EQ(attribute.name, "saved");
  EXPECT_TRUE(attribute.is_attribute);
  EXPECT_EQ(attribute.function, "");
  EXPECT_EQ(ContainerOf("global losses[0..9].grad_fn → saved by ExpBackward0").name, "losses");
  EXPECT_EQ(ContainerOf("Prefetcher.q.queue[…]").name, "q");
}

TEST(KeepingLine, WhatObjectsOfAListKeepIsNotPutThereByTheListsLine) {
  EXPECT_EQ(ContainerOf("main: set.scans[*].volume").name, "");
  EXPECT_EQ(ContainerOf("global model.0.weight").name, "");
  EXPECT_EQ(ContainerOf("hook of global model[0]: default of f").name, "");
}

TEST(KeepingLine, LinesThatFillItAreKnown) {
  const Container outs = {.name = "outs", .function = "", .is_attribute = false};
  for (const char* line :
       {"  outs.append(model(x))", "outs += [y]", "outs[i] = y", "outs[key(a[0])][1] = y",
        "outs.setdefault(k, []).append(y)", "outs = (*outs, y)", "outs = outs + [y]"}) {
    EXPECT_TRUE(PutsInto(line, outs)) << line;
  }
  for (const char* line : {"y = outs[i]", "if outs[i] == y:", "# outs.append(y)", "louts.append(y)",
                           "self.outs.append(y)", "outs2.append(y)", "outs = []",
                           "outs = more_outs + [y]", "outs = [*louts]"}) {
    EXPECT_FALSE(PutsInto(line, outs)) << line;
  }
  const Container own = {.name = "outs", .function = "", .is_attribute = true};
  EXPECT_TRUE(PutsInto("self.outs.append(y)", own));
  EXPECT_FALSE(PutsInto("outs.append(y)", own));
}

class WithAProgram : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / "keeping_line_test";
    std::filesystem::create_directories(folder_);
    Write("score.py",
          "def other():\n    outs.append(0)\n\ndef score(model):\n    outs = []\n"
          "    for x in data:\n        y = model(x)\n        outs.append(y)\n");
    Write("trace.stow", "");
    detail_.frames = {"score.py:7 score"};
    detail_.files = {(folder_ / "score.py").string()};
    detail_.lines = detail_.frames;
    facts_.file = (folder_ / "trace.stow").string();
    facts_.advice.resize(1);
    facts_.advice[0].place = "score.py:7 score";
    facts_.advice[0].holder = "score: outs[0..3]";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }

  std::filesystem::path folder_;
  Detail detail_;
  Facts facts_;
};

TEST_F(WithAProgram, TheLineOfTheSameFunctionIsNamed) {
  facts_.advice = WithRetentionLines(detail_, facts_.file, facts_.advice);
  EXPECT_EQ(facts_.advice[0].kept_at, "score.py:8");
}

TEST_F(WithAProgram, ALineThatMakesAndKeepsIsNotNamedTwice) {
  facts_.advice[0].place = "score.py:8 score";
  facts_.advice = WithRetentionLines(detail_, facts_.file, facts_.advice);
  EXPECT_EQ(facts_.advice[0].kept_at, "");
}

TEST_F(WithAProgram, ATextThatIsNewerThanTheTraceIsNotRead) {
  std::filesystem::last_write_time(
      folder_ / "trace.stow",
      std::filesystem::last_write_time(folder_ / "score.py") - std::chrono::hours(1));
  facts_.advice = WithRetentionLines(detail_, facts_.file, facts_.advice);
  EXPECT_EQ(facts_.advice[0].kept_at, "");
}

}  // namespace
}  // namespace vramstow
