// Tests memory that NCCL's collectives use, for all ways in which programs find the functions: the
// buffers count as touched, although no launch names them.
#include <gmock/gmock.h>

#include <set>
#include <sstream>

#include "tests/interpose/ways.h"

namespace vramstow {
namespace {

using testing::IsEmpty;

class Collectives : public Ways {
 protected:
  Collectives()
      : Ways("collecting", {{"VRAMSTOW_OFFLOAD", "explicit,host=1GiB,touches"},
                            {"VRAMSTOW_SIMULATE", "h200,memory=1GiB"}}) {
    UseVersionedLibrary();
  }
};

class CollectivesBy : public Collectives, public testing::WithParamInterface<const char*> {};

std::string NameOfWay(const testing::TestParamInfo<const char*>& way) {
  std::string name = way.param;
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Ways, CollectivesBy,
                         testing::Values("linked", "own-scope", "dlsym", "global", "dlvsym"),
                         NameOfWay);

TEST_P(CollectivesBy, TheBuffersOfEachCountAsTouchedAndNothingElse) {
  const Outcome outcome = RunWay(GetParam(), "touched");
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  std::set<uint64_t> touched;
  for (const NamedEvent& event : OfKind(OnlyTrace(), EventKind::kTouch)) {
    touched.insert(event.address);
  }
  std::istringstream lines(outcome.out);
  std::string state;
  std::string name;
  uint64_t address = 0;
  int used = 0;
  while (lines >> state && state != "done" && lines >> name >> address) {
    EXPECT_EQ(touched.contains(address), state == "used")
        << name << " of a block that is " << state;
    used += state == "used" ? 1 : 0;
  }
  EXPECT_EQ(used, 8 * 2 + 3);
}

TEST_P(CollectivesBy, BuffersOfCapturedOnesStayWhereTheyAre) { ExpectDone(GetParam(), "captured"); }

TEST_P(CollectivesBy, MemoryMayMoveWhileTheLibraryIsAsked) { ExpectDone(GetParam(), "inside"); }

TEST_P(CollectivesBy, TheLibraryHearsWhatItWasToldWithoutVramstowToo) {
  ExpectDone(GetParam(), "foreign");
  ExpectDone(GetParam(), "foreign", {{"VRAMSTOW_OFFLOAD", "auto,host=1GiB"}});
  ExpectDone(GetParam(), "foreign", {{"VRAMSTOW_OFFLOAD", "off"}});
  ExpectDone(GetParam(), "foreign", {{"VRAMSTOW_POOL", "off"}});
  ExpectDone(GetParam(), "foreign", {}, "");
}

TEST_F(Collectives, WithoutOffloadTheProgramGetsTheLibrarysOwnFunction) {
  for (const char* way : {"dlsym", "global", "dlvsym"}) {
    const Outcome outcome = RunWay(way, "plain", {{"VRAMSTOW_OFFLOAD", "off"}});
    EXPECT_EQ(outcome.out, "libnccl.so.2\ndone\n") << outcome.error;
    EXPECT_THAT(outcome.error, IsEmpty());
    EXPECT_EQ(RunWay(way, "plain", {{"VRAMSTOW_POOL", "off"}}).out, "libnccl.so.2\ndone\n");
    EXPECT_EQ(RunWay(way, "plain").out, "libvramstow-core.so\ndone\n");
  }
}

// Together the program's blocks need more memory than this GPU has. Four blocks of 8 MiB are quiet
// (no work uses them for a while), and the other blocks are one and a half times as large.
const std::map<std::string, std::string> kQuietCard = {
    {"VRAMSTOW_OFFLOAD", "auto,host=1GiB"},
    {"VRAMSTOW_SIMULATE", "h200,memory=128MiB,context=64MiB"}};

TEST_P(CollectivesBy, WhatAnOpenGroupUsesIsNotParked) {
  ExpectDone(GetParam(), "quiet", kQuietCard);
  ExpectDone(GetParam(), "grouped", kQuietCard);
  ExpectDone(GetParam(), "grouped-idle", kQuietCard);
}

TEST_P(CollectivesBy, WhatACollectiveUsesIsNotParkedBeforeItsWorkIsSubmitted) {
  ExpectDone(GetParam(), "quiet-inside", kQuietCard);
}

// The dynamic linker needs at least half a microsecond for each look-up, so one for each call would
// exceed the limit.
TEST_F(Collectives, ACallerWithACopyOfItsOwnIsLookedUpOnce) {
  const Outcome outcome = RunWay("own-scope", "often", {{"VRAMSTOW_POOL", "off"}});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_LT(std::stoi(outcome.out), kIsSanitized ? 10000 : 200) << "nanoseconds";
}

TEST_F(Collectives, ACallerThatComesAgainGetsTheLibraryThatStayed) {
  ExpectDone("own-scope", "reopened");
  ExpectDone("own-scope", "reopened", {{"VRAMSTOW_OFFLOAD", "off"}});
}

}  // namespace
}  // namespace vramstow
