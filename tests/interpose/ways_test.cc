// Tests every way in which a program finds a function of the driver.
#include <gmock/gmock.h>

#include "tests/interpose/hooked.h"

namespace vramstow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Ways : public Hooked {};

TEST_F(Ways, DlsymOnTheDriverIsSeen) {
  const Outcome outcome = Run({"host", "dlsym"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, IsEmpty());
  const ReadTrace trace = OnlyTrace();
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.events[0].kind, EventKind::kAllocate);
  EXPECT_EQ(trace.events[0].memory, MemoryKind::kDevice);
  EXPECT_EQ(trace.events[0].size, 1000u);
  EXPECT_EQ(trace.events[0].call_name, "cuMemAlloc");
  EXPECT_EQ(trace.events[0].library_file, "host");
  EXPECT_EQ(trace.events[1].kind, EventKind::kFree);
  EXPECT_EQ(trace.events[1].address, trace.events[0].address);
  const std::vector<LoggedCall> call_log = CallLog();
  ASSERT_EQ(call_log.size(), 3u);
  EXPECT_EQ(call_log[1].address, trace.events[0].address);
  EXPECT_TRUE(trace.closed);
}

TEST_F(Ways, DlvsymOnTheDriverIsSeen) {
  const Outcome outcome = Run({"host", "dlvsym"}, {{"LD_LIBRARY_PATH", kVersionedDriverFolder}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(AllocatedSizes(OnlyTrace()), ElementsAre(1000));
}

TEST_F(Ways, LookUpsInTheGlobalScopeAreSeenAndAnswerNullWithoutADriver) {
  const Outcome outcome = Run({"host", "global"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(AllocatedSizes(OnlyTrace()), ElementsAre(1000, 2000));
}

TEST_F(Ways, DirectCallsOfALinkedProgramAreSeen) {
  const Outcome outcome = Run({"linked"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  const ReadTrace trace = OnlyTrace();
  EXPECT_THAT(AllocatedSizes(trace), ElementsAre(1000, 5120));
  EXPECT_EQ(OfKind(trace, EventKind::kFree).size(), 2u);
  for (const NamedEvent& event : trace.events) EXPECT_EQ(event.library_file, "linked");
}

TEST_F(Ways, CuGetProcAddressOfBothVersionsIsSeen) {
  EXPECT_EQ(Run({"host", "proc-address", "v1"}).status, 0);
  EXPECT_EQ(Run({"host", "proc-address", "v2"}).status, 0);
  const std::vector<ReadTrace> traces = Traces();
  ASSERT_EQ(traces.size(), 2u);
  for (const ReadTrace& trace : traces) EXPECT_THAT(AllocatedSizes(trace), ElementsAre(1000));
}

TEST_F(Ways, AnAddressThatTheDriverDoesNotExportIsKnownByNameAndVersion) {
  EXPECT_EQ(Run({"host", "proc-address", "v2"}, {{"FAKE_PRIVATE", "1"}}).status, 0);
  EXPECT_THAT(AllocatedSizes(OnlyTrace()), ElementsAre(1000));
}

TEST_F(Ways, VersionAndKindOfStreamChooseTheRightAbi) {
  const Outcome outcome = Run({"host", "versions"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  std::vector<std::string> symbols;
  for (const LoggedCall& line : CallLog()) {
    if (line.symbol != "cuGetProcAddress_v2") symbols.push_back(line.symbol);
  }
  EXPECT_THAT(symbols, ElementsAre("cuInit", "cuMemAllocAsync", "cuMemAllocAsync",
                                   "cuMemAllocAsync_ptsz", "cuMemAlloc", "cuMemAlloc_v9"));
  const std::vector<NamedEvent> events = OfKind(OnlyTrace(), EventKind::kAllocate);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].stream, 0u);
  EXPECT_EQ(events[1].stream, 0u);
  EXPECT_EQ(events[2].stream, 2u) << "the thread's own default stream";
  EXPECT_EQ(events[3].memory, MemoryKind::kDevice);
  EXPECT_EQ(events[3].size, 4000u);
}

TEST_F(Ways, EveryHookIsReplacedWhicheverWayItIsLookedUp) {
  ExpectHooked({{"VRAMSTOW_POOL", "on"}, {"VRAMSTOW_OFFLOAD", "auto"}},
               [](const HookRow&) { return true; });
}

TEST_F(Ways, SubmissionsAreLeftAloneWhereMemoryDoesNotMove) {
  ExpectHooked({}, [](const HookRow& row) { return !row.submission; });
}

TEST_F(Ways, OfSubmissionsCopiesAreHookedWhereThereIsAPool) {
  ExpectHooked({{"VRAMSTOW_POOL", "on"}},
               [](const HookRow& row) { return !row.submission || row.with_pool; });
}

TEST_F(Ways, WithoutThePreloadTheSameProgramsWork) {
  for (const char* scenario :
       {"dlsym", "dlvsym", "global", "versions", "every-hook", "reentrant"}) {
    const Outcome outcome =
        Run({"host", scenario}, {{"LD_LIBRARY_PATH", kVersionedDriverFolder}}, "");
    EXPECT_EQ(outcome.status, 0) << scenario << outcome.error;
    EXPECT_THAT(outcome.out, Not(HasSubstr("vramstow")));
  }
  EXPECT_EQ(Run({"linked"}, {}, "").status, 0);
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(Ways, ALibraryWithAPrivateRuntimeIsSeenUnderItsOwnName) {
  const Outcome outcome = Run({"host", "library", "libprivate_runtime.so"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  const ReadTrace trace = OnlyTrace();
  EXPECT_THAT(AllocatedSizes(trace), ElementsAre(5000));
  EXPECT_EQ(trace.events.at(0).library_file, "libprivate_runtime.so");
}

TEST_F(Ways, BehindASharedRuntimeItsCallerIsNamed) {
  const Outcome outcome = Run({"host", "library", "libthrough_runtime.so"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  const ReadTrace trace = OnlyTrace();
  EXPECT_THAT(AllocatedSizes(trace), ElementsAre(5000));
  EXPECT_EQ(trace.events.at(0).library_file, "libthrough_runtime.so");
}

TEST_F(Ways, DeepbindIsSeenOnlyWhereItIsCleared) {
  if (kIsSanitized) GTEST_SKIP() << "sanitizers refuse that";
  Outcome outcome = Run({"host", "deepbind", "liblinked_library.so"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(Files(), IsEmpty());
  outcome = Run({"host", "deepbind", "liblinked_library.so"}, {{"VRAMSTOW_CLEAR_DEEPBIND", "1"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(AllocatedSizes(OnlyTrace()), ElementsAre(5000));
}

TEST_F(Ways, CallsWithoutAnyDriverGetAnErrorAndNoCrash) {
  const Outcome outcome = Run({"weak"}, {{"LD_LIBRARY_PATH", ""}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  // The number is CUDA_ERROR_SHARED_OBJECT_INIT_FAILED.
  EXPECT_EQ(outcome.out, "303 303\n");
  EXPECT_EQ(Run({"weak"}, {{"LD_LIBRARY_PATH", ""}}, "").out, "-1 -1\n");
}

}  // namespace
}  // namespace vramstow
