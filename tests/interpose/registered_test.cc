// Tests memory that libraries register with a network card without calling the driver, for all ways
// in which programs find these libraries.
#include <gmock/gmock.h>

#include "tests/interpose/ways.h"

namespace vramstow {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class Registered : public Ways {
 protected:
  Registered()
      : Ways("registering", {{"VRAMSTOW_OFFLOAD", "explicit,host=1GiB"},
                             {"VRAMSTOW_SIMULATE", "h200,memory=256MiB"}}) {}
};

class RegisteredBy : public Registered, public testing::WithParamInterface<const char*> {};

TEST_P(RegisteredBy, ItStaysWhenItIsAskedToMoveUntilItIsDeregistered) {
  ExpectDone(GetParam(), "asked");
}

TEST_P(RegisteredBy, ItStaysUnderPressureAndWhatIsOnTheHostComesBackToBeRegistered) {
  ExpectDone(GetParam(), "pressure", {{"VRAMSTOW_OFFLOAD", "auto,host=1GiB"}});
}

TEST_P(RegisteredBy, NobodyGetsItsChunksWhenItIsFreedUntilItIsDeregistered) {
  ExpectDone(GetParam(), "freed");
}

TEST_P(RegisteredBy, RegistrationsThatOverlapAreCounted) { ExpectDone(GetParam(), "overlap"); }

std::string NameOfWay(const testing::TestParamInfo<const char*>& way) {
  std::string name = way.param;
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Ways, RegisteredBy,
                         testing::Values("linked", "own-scope", "dlsym", "global", "dlvsym",
                                         "dlvsym-old", "nccl", "nccl-window"),
                         NameOfWay);

TEST_F(Registered, WhatLiesOnTheHostIsBroughtBackFirst) { ExpectDone("dlvsym", "on-host"); }

TEST_F(Registered, WhatIsPausedIsRefusedAndSaidWithoutAskingTheLibrary) {
  for (const char* way : {"dlvsym", "nccl"}) {
    const Outcome outcome = RunWay(way, "paused");
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr("paused: resume it first"));
  }
}

TEST_F(Registered, ARegistrationThatFailsHoldsNothing) { ExpectDone("dlvsym", "fails"); }

TEST_F(Registered, EachFunctionOfEachVersionGetsWhatTheProgramGave) {
  const Outcome outcome = RunWay("dlvsym", "arguments");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(outcome.out, "version 1\nversion 7\nversion 8\ndone\n");
  EXPECT_EQ(RunWay("dlvsym-old", "arguments").out, "version 0\nversion 7\nversion 8\ndone\n");
  EXPECT_EQ(RunWay("linked", "arguments").out, outcome.out);
  EXPECT_EQ(RunWay("own-scope", "arguments").out, outcome.out);
  EXPECT_EQ(RunWay("global", "arguments").out, outcome.out);
}

TEST_F(Registered, ARegistrationThatOutlivesItsPoolIsNoneOfTheNext) {
  ExpectDone("dlvsym", "outlives");
}

TEST_F(Registered, WithThePoolOffTheProgramGetsTheLibrarysOwnFunction) {
  for (const char* way : {"dlsym", "global", "dlvsym", "dlvsym-old"}) {
    const Outcome outcome = RunWay(way, "plain", {{"VRAMSTOW_POOL", "off"}});
    EXPECT_EQ(outcome.out, "libibverbs.so.1\ndone\n") << outcome.error;
    EXPECT_THAT(outcome.error, IsEmpty());
    EXPECT_EQ(RunWay(way, "plain").out, "libvramstow-core.so\ndone\n");
  }
  for (const char* way : {"linked", "own-scope", "nccl"}) {
    const Outcome outcome = RunWay(way, "plain", {{"VRAMSTOW_POOL", "off"}});
    EXPECT_THAT(outcome.out, HasSubstr("done\n")) << outcome.error;
    EXPECT_THAT(RunWay(way, "plain", {}, "").out, HasSubstr("done\n"));
  }
}

}  // namespace
}  // namespace vramstow
