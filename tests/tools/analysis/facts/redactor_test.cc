// Tests Redactor: which parts of a text are retained, and which are replaced.
#include "tools/analysis/facts/redactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vramstow {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

TEST(Redactor, OfAPathInATextOnlyTheFilesNameStays) {
  const Redactor redactor;
  EXPECT_EQ(redactor.Text("/data/x/train.py:45 step"), "train.py:45 step");
  EXPECT_EQ(redactor.Text("cannot read '../x/y.stow'."), "cannot read 'y.stow'.");
  EXPECT_EQ(redactor.Text("exp/x/model.pt, then ~/z.txt"), "model.pt, then z.txt");
  EXPECT_EQ(redactor.Text("see http://wiki.x/page.html."), "see page.html.");
}

TEST(Redactor, AFolderHasNoNameThatCouldStay) {
  const Redactor redactor;
  EXPECT_EQ(redactor.Text("/data/x is full"), "*** is full");
  EXPECT_EQ(redactor.Text("/data/x/ is full"), "*** is full");
  EXPECT_EQ(redactor.Text("PATH=/data/x:/y/z"), "PATH=***");
}

TEST(Redactor, WhatIsNoPathStays) {
  const Redactor redactor;
  for (const char* text : {"12/34 blocks", "a / b", "at::native::div<float, 4>", "", "1.5 GiB"}) {
    EXPECT_EQ(redactor.Text(text), text);
  }
}

TEST(Redactor, KnownNamesGoWhereverTheyAreWholeWords) {
  Redactor redactor;
  redactor.LearnName("Ann");
  redactor.LearnName("node7.cluster.example");
  EXPECT_EQ(redactor.Text("run of ann on node7"), "run of *** on ***");
  EXPECT_EQ(redactor.Text("ANN_model on node7.cluster.example:80"), "***_model on ***:80");
  EXPECT_EQ(redactor.Text("annual planning of node77"), "annual planning of node77");
}

TEST(Redactor, TheOwnerOfAHomeFolderIsAName) {
  Redactor redactor;
  redactor.LearnFolder("/home/ann/my project");
  EXPECT_EQ(redactor.Text("ann reads /home/ann/my project/x.py"), "*** reads x.py");
  EXPECT_EQ(redactor.Text("ann is in /home/ann/my project now"), "*** is in *** now");
}

TEST(Redactor, OfACommandTheProgramScriptsOptionsAndNumbersStay) {
  const Redactor redactor;
  EXPECT_EQ(redactor.Command("/opt/x/python -m torch.run train.py --lr 1e-3 --name=x -n 2"),
            "python -m *** train.py --lr 1e-3 --name=*** -n 2");
  EXPECT_EQ(redactor.Command("python -c import os; print(1) tcp://node7:29500"), "python -c ***");
  EXPECT_EQ(redactor.Command("sh --/secret/x=1 -pword a/b/run.sh"), "sh *** run.sh");
  EXPECT_EQ(redactor.Command(""), "");
}

TEST(Redactor, OfWhatATraceSaysOfItselfOnlyTheHarmlessStays) {
  const Redactor redactor;
  EXPECT_THAT(redactor.TraceFacts({{"process.host", "node7"},
                                   {"process.pid", "42"},
                                   {"process.program", "/opt/x/python3"},
                                   {"run.id", "node7-42"},
                                   {"option.trace_dir", "x"},
                                   {"option.pool", "on"},
                                   {"device.0.name", "H100"},
                                   {"device.0.uuid", "GPU-1"},
                                   {"something.new", "x"}}),
              UnorderedElementsAre(Pair("process.host", "***"), Pair("process.pid", "42"),
                                   Pair("process.program", "python3"), Pair("run.id", "***"),
                                   Pair("option.trace_dir", "***"), Pair("option.pool", "on"),
                                   Pair("device.0.name", "H100"), Pair("device.0.uuid", "***"),
                                   Pair("something.new", "***")));
}

TEST(Redactor, EveryTextOfTheFactsIsSearched) {
  Redactor redactor;
  redactor.LearnName("ann");
  Facts facts;
  facts.file = "/home/x/ann.stow";
  facts.by_library.resize(1);
  facts.by_library[0].path = "/home/x/no suffix/libx";
  facts.missing = {"ann did it"};
  facts.out_of_memory.resize(1);
  facts.out_of_memory[0].site = "ann.py:1";
  facts.out_of_memory[0].holders.resize(1);
  facts.out_of_memory[0].holders[0].holder = "ann: hist";
  facts.iterations.mark = "ann";
  facts.advice.resize(1);
  facts.advice[0].evidence = "of ann";
  facts.advice[0].place = "/x/y.py:3";
  facts.snapshot = SnapshotStateFacts();
  facts.snapshot->pools.resize(1);
  facts.snapshot->pools[0].id = "ann";
  redactor.Redact(&facts);
  EXPECT_EQ(facts.file, "***.stow");
  EXPECT_EQ(facts.by_library[0].path, "libx");
  EXPECT_EQ(facts.missing[0], "*** did it");
  EXPECT_EQ(facts.out_of_memory[0].site, "***.py:1");
  EXPECT_EQ(facts.out_of_memory[0].holders[0].holder, "***: hist");
  EXPECT_EQ(facts.iterations.mark, "***");
  EXPECT_EQ(facts.advice[0].evidence, "of ***");
  EXPECT_EQ(facts.advice[0].place, "y.py:3");
  EXPECT_EQ(facts.snapshot->pools[0].id, "***");
}

}  // namespace
}  // namespace vramstow
