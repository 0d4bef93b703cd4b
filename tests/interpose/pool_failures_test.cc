// For every N, the Nth driver call of the pool fails, once or from then on. The failure goes
// through the whole library: the program and its data survive, and the program sees few errors.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/interpose/support.h"

namespace vramstow {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class PoolSurvives : public Interposed {
 protected:
  // Runs the program. `fail` names the call that fails, in the syntax of fail= in the simulator's
  // SPEC; no call fails if it is empty.
  Outcome RunWith(const std::string& fail, const std::string& further) {
    std::string spec = "h200,memory=128MiB,context=16MiB" + further;
    if (!fail.empty()) spec += ",fail=" + fail;
    return Run({"pool_survivor"}, {{"VRAMSTOW_POOL", "on"},
                                   {"VRAMSTOW_CHECK", "1"},
                                   {"VRAMSTOW_CONTROL", "0"},
                                   {"VRAMSTOW_DECAY", "0"},
                                   {"VRAMSTOW_SIMULATE", spec},
                                   {"LD_LIBRARY_PATH", VRAMSTOW_TEST_SIMULATOR ":" + kPrograms}});
  }

  void ExpectWell(const Outcome& outcome, const std::string& what) {
    EXPECT_EQ(outcome.status, 0) << what << ": " << outcome.error;
    EXPECT_THAT(outcome.out, IsEmpty()) << what;
    EXPECT_THAT(outcome.error, Not(HasSubstr("report this"))) << what;
    EXPECT_LT(outcome.error.size(), 8000u) << what;
  }
};

class PlainBackingFailures : public PoolSurvives,
                             public testing::WithParamInterface<const char*> {};

TEST_P(PlainBackingFailures, TheNthCallFailsOnceAndForGood) {
  for (int n = 1; n <= 14; n += n < 5 ? 1 : 3) {
    for (const char* suffix : {"", "+"}) {
      const std::string fail = std::string(GetParam()) + ":" + std::to_string(n) + suffix;
      ExpectWell(RunWith(fail, ",without=vmm"), fail);
      for (const std::string& file : Files()) std::filesystem::remove(folder() + "/" + file);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, PlainBackingFailures,
                         testing::Values("cuMemAlloc", "cuMemFree", "cuCtxRecordEvent"),
                         [](const auto& call) { return std::string(call.param); });

class PoolFailures : public PoolSurvives, public testing::WithParamInterface<const char*> {};

TEST_P(PoolFailures, TheNthCallFailsOnceAndForGood) {
  const std::string call = GetParam();
  // Above some N the program makes no such call, so larger values of N test nothing. Each N needs a
  // process of its own.
  for (int n = 1; n <= 14; n += n < 5 ? 1 : 3) {
    for (const char* suffix : {"", "+"}) {
      const std::string fail = call + ":" + std::to_string(n) + suffix;
      ExpectWell(RunWith(fail, ""), fail);
      for (const std::string& file : Files()) std::filesystem::remove(folder() + "/" + file);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, PoolFailures,
                         testing::Values("cuMemAddressReserve", "cuMemCreate", "cuMemMap",
                                         "cuMemSetAccess", "cuMemUnmap", "cuMemRelease",
                                         "cuEventCreate", "cuEventQuery", "cuCtxRecordEvent",
                                         "cuMemGetAllocationGranularity",
                                         "cuThreadExchangeStreamCaptureMode", "cuCtxGetCurrent"),
                         [](const auto& call) { return std::string(call.param); });

TEST_F(PoolSurvives, NothingFails) {
  const Outcome outcome = RunWith("", "");
  ExpectWell(outcome, "nothing");
  EXPECT_THAT(outcome.error, HasSubstr("Out of memory: 80.0 MiB were asked for"));
}

TEST_F(PoolSurvives, AlsoWithoutEventsForAWholeContext) {
  for (const char* fail : {"", "cuEventRecord:1", "cuEventRecord:3+", "cuEventCreate:1+"}) {
    ExpectWell(RunWith(fail, ",without=event-context"), fail);
  }
}

}  // namespace
}  // namespace vramstow
