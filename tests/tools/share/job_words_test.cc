// Tests which words a job's command line has, and which lines are left to a shell.
#include "tools/share/job_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vramstow {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(JobWords, APlainLineIsSplitAtItsSpaces) {
  EXPECT_THAT(WordsOfJob("python a.py --steps=3"), ElementsAre("python", "a.py", "--steps=3"));
  EXPECT_THAT(WordsOfJob("  ./b   x:1@2,3%+_  "), ElementsAre("./b", "x:1@2,3%+_"));
  EXPECT_THAT(WordsOfJob("  "), IsEmpty());
  EXPECT_THAT(WordsOfJob(""), IsEmpty());
}

TEST(JobWords, WhatOnlyAShellUnderstandsGoesToAShell) {
  for (const char* line : {"python 'a b.py'", "cd x && python a.py", "python a.py > out", "a $HOME",
                           "a *.py", "~/a", "a\nb", "a\tb", "X=1 python a.py", "a\\ b", "{a,b}"}) {
    EXPECT_TRUE(NeedsShell(line)) << line;
    EXPECT_THAT(WordsOfJob(line), ElementsAre("sh", "-c", line));
  }
}

}  // namespace
}  // namespace vramstow
