// Tests the file names of traces.
#include "interpose/core/record/trace_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vramstow {
namespace {

std::string Given(const std::vector<std::string>& arguments) {
  std::string given;
  for (const std::string& argument : arguments) given += argument + '\0';
  return given;
}

std::string Script(const std::vector<std::string>& arguments) {
  return std::string(ScriptOf(Given(arguments)));
}

constexpr int64_t kSomeNight = 1764111780;  // 25 November 2025, 23:03 UTC

std::string Named(const std::vector<std::string>& arguments, TraceName name = {}) {
  if (name.program.empty()) name.program = "python3.11";
  if (name.time == 0) name.time = kSomeNight;
  name.process = 4711;
  char stem[200];
  WriteTraceName(name, Given(arguments), stem, sizeof stem);
  return stem;
}

TEST(TraceName, IsTheScriptTheTimeAndTheProcess) {
  EXPECT_EQ(Named({"python", "train.py", "--lr", "1"}), "train-1125-2303-4711");
  EXPECT_EQ(Named({"python", "-m", "torch.distributed.run"}),
            "torch.distributed.run-1125-2303-4711");
  EXPECT_EQ(Named({"python", "train.py"}, {.rank = "3"}), "train-1125-2303-rank3-4711");
  EXPECT_EQ(Named({"./simulate", "train.py"}, {.program = "simulate"}), "simulate-1125-2303-4711");
}

TEST(TraceName, TimeIsThatOfTheClockOnTheWall) {
  EXPECT_EQ(Named({"python", "a.py"}, {.utc_offset = 3600}), "a-1126-0003-4711");
  EXPECT_EQ(Named({"python", "a.py"}, {.utc_offset = -12 * 3600}), "a-1125-1103-4711");
  EXPECT_EQ(Named({"python", "a.py"}, {.time = 1709164800}), "a-0229-0000-4711");
  EXPECT_EQ(Named({"python", "a.py"}, {.time = 1709251199}), "a-0229-2359-4711");
}

TEST(TraceName, TheScriptIsFoundBehindPythonsOptions) {
  EXPECT_EQ(Script({"python", "-u", "-W", "ignore", "-Xdev", "/a/b/fine.tune.py", "-m", "x"}),
            "fine.tune");
  EXPECT_EQ(Script({"python", "-um", "pkg.train"}), "pkg.train");
  EXPECT_EQ(Script({"python", "-mpkg"}), "pkg");
  EXPECT_EQ(
      Script({"python", "-OO", "-X", "importtime", "--check-hash-based-pycs", "never", "folder/"}),
      "folder");
  EXPECT_EQ(Script({"/usr/bin/python3", "/venv/bin/torchrun", "train.py"}), "torchrun");
  for (const auto& none : {std::vector<std::string>{"python", "-c", "train.py"},
                           {"python", "-uc", "x"},
                           {"python", "-"},
                           {"python"},
                           {"python", ""},
                           {"python", "-W"},
                           {"python", "-m"},
                           {}}) {
    EXPECT_EQ(Script(none), "");
    EXPECT_EQ(Named(none), "python3.11-1125-2303-4711");
  }
}

TEST(TraceName, WhatATraceMayNotTellIsNotInItsName) {
  EXPECT_EQ(Named({"python", "secret_plan.py"}, {.is_shown = false}), "python3.11-1125-2303-4711");
}

TEST(TraceName, HasNothingThatAShellOrAFileSystemMinds) {
  EXPECT_EQ(Named({"python", "my job$(x).py"}), "my_job__x_-1125-2303-4711");
  EXPECT_EQ(Named({"python", "größe.py"}), "größe-1125-2303-4711");
  EXPECT_EQ(Named({"python", ".hidden.py"}), "python3.11-1125-2303-4711");
  EXPECT_EQ(Named({"python", std::string(300, 'x') + ".py"}),
            std::string(100, 'x') + "-1125-2303-4711");
  EXPECT_EQ(Named({"python", std::string(99, 'x') + "öö.py"}),
            std::string(99, 'x') + "-1125-2303-4711");
}

}  // namespace
}  // namespace vramstow
