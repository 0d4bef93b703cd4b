// Tests the life of a process: early calls, forks, threads, the exit, and effects that vramstow
// must not have.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/interpose/support.h"

namespace vramstow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

namespace fs = std::filesystem;

class Lifecycle : public Interposed {
 protected:
  // Returns the trace of the process that made an allocation of this size.
  ReadTrace TraceWith(uint64_t size) {
    for (const ReadTrace& trace : Traces()) {
      for (const uint64_t allocated : AllocatedSizes(trace)) {
        if (allocated == size) return trace;
      }
    }
    ADD_FAILURE() << "no trace has an allocation of " << size;
    return {};
  }
};

TEST_F(Lifecycle, AProgramWithoutCudaLeavesNothingBehind) {
  const Outcome outcome = Run({"/bin/true"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.error, IsEmpty());
  EXPECT_EQ(Run({"host", "no-cuda"}).status, 0);
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(Lifecycle, ALookUpAloneMakesNoFile) {
  EXPECT_EQ(Run({"host", "look-up-only"}).status, 0);
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(Lifecycle, TheFirstMemoryMakesTheFileAndFailingCallsDoNot) {
  // 3 is CUDA_ERROR_NOT_INITIALIZED.
  Outcome outcome = Run({"host", "without-init"}, {{"FAKE_RESULT", "3"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(CallLog().size(), 2u);
  EXPECT_THAT(Files(), IsEmpty());
  outcome = Run({"host", "without-init"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(OnlyTrace().events.size(), 2u);
}

TEST_F(Lifecycle, TheTraceSaysWhoAndWhere) {
  EXPECT_EQ(Run({"host", "kinds"}, {{"RANK", "3"},
                                    {"LOCAL_RANK", "1"},
                                    {"VRAMSTOW_RUN_ID", "r7"},
                                    {"SLURM_RESTART_COUNT", "2"},
                                    {"TORCHELASTIC_RESTART_COUNT", "1"}})
                .status,
            0);
  auto facts = OnlyTrace().facts;
  EXPECT_EQ(facts["process.program"], fs::canonical(kPrograms + "/host"));
  EXPECT_THAT(facts["process.command"], HasSubstr("host kinds"));
  EXPECT_EQ(facts["process.parent"], std::to_string(getpid()));
  EXPECT_THAT(OnlyTrace().file,
              MatchesRegex("host-[01][0-9][0-3][0-9]-[0-2][0-9][0-5][0-9]-rank3-" +
                           facts["process.pid"] + "\\.stow"));
  EXPECT_EQ(facts["process.rank"], "3");
  EXPECT_EQ(facts["process.local_rank"], "1");
  EXPECT_EQ(facts["run.id"], "r7");
  EXPECT_EQ(facts["run.requeue"], "2");
  EXPECT_EQ(facts["run.restart"], "1");
  const int64_t started = std::stoll(facts["process.start_time"]);
  const int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  EXPECT_LT(started, now + 1000000000);
  EXPECT_GT(started, now - 60000000000);
  EXPECT_EQ(facts["driver.version"], "13.0");
  EXPECT_THAT(facts["driver.path"], HasSubstr("libcuda.so.1"));
  EXPECT_EQ(facts["device.0.name"], "Fake 0");
  EXPECT_EQ(facts["device.1.name"], "Fake 1");
  EXPECT_EQ(facts["device.1.total_bytes"], "536870912");
  EXPECT_EQ(facts["device.1.compute_capability"], "9.0");
  EXPECT_EQ(facts["device.1.uuid"], "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
  EXPECT_EQ(facts["device.1.free_bytes_at_start"], "1000");
  EXPECT_EQ(facts["option.trace"], "1");
  EXPECT_EQ(facts.count("simulated"), 0u);
  EXPECT_EQ(facts["vramstow.version"].empty(), false);
}

TEST_F(Lifecycle, EveryFieldOfEveryKindIsRecorded) {
  const Outcome outcome = Run({"host", "kinds"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const ReadTrace trace = OnlyTrace();
  std::vector<std::string> kinds;
  for (const NamedEvent& event : trace.events) {
    kinds.push_back(std::string(EventKindName(event.kind)) + " " + MemoryKindName(event.memory) +
                    " " + std::to_string(event.device) + " " + std::to_string(event.size));
  }
  EXPECT_THAT(
      kinds,
      ElementsAre("allocate device -1 100", "context_create none 1 0", "allocate device 1 200",
                  "allocate device 1 300", "allocate device_stream 1 400",
                  "free device_stream -1 0", "graph_allocate device_stream 1 500",
                  "graph_free device_stream -1 0", "reserve address_range -1 2097152",
                  "allocate physical 1 2097152", "map address_range -1 2097152",
                  "access address_range 0 2097152", "access address_range 1 2097152",
                  "unmap address_range -1 2097152", "free physical -1 0",
                  "unreserve address_range -1 2097152", "allocate array 1 1024", "free array -1 0",
                  "context_destroy none 1 0", "device_reset none 1 0", "allocate device 1 600"));
  // The log would show "cuCtxGetDevice-without-context" if vramstow had queried the current device
  // while no context was current.
  for (const LoggedCall& line : CallLog()) EXPECT_NE(line.symbol, "cuCtxGetDevice-without-context");
}

TEST_F(Lifecycle, RefusalsAreRecordedAndPassedOn) {
  const Outcome outcome = Run({"host", "refusals"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const ReadTrace trace = OnlyTrace();
  ASSERT_EQ(trace.events.size(), 4u);
  EXPECT_EQ(trace.events[0].kind, EventKind::kFree);
  EXPECT_EQ(trace.events[1].kind, EventKind::kRefused);
  EXPECT_EQ(trace.events[1].object, trace.events[0].sequence);
  EXPECT_EQ(trace.events[1].result, 1);
  EXPECT_EQ(trace.events[2].kind, EventKind::kFree) << "a driver that is gone has freed it";
  EXPECT_EQ(trace.events[3].kind, EventKind::kAllocate);
  EXPECT_EQ(trace.events[3].result, 2);
  EXPECT_EQ(trace.events[3].address, 0u);
  EXPECT_EQ(trace.events[3].requested, uint64_t{1} << 30);
}

TEST_F(Lifecycle, NullArgumentsReachTheDriverAndNothingElse) {
  Outcome outcome = Run({"host", "null-arguments"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  outcome =
      Run({"host", "null-arguments"}, {{"VRAMSTOW_POOL", "on"}, {"VRAMSTOW_OFFLOAD", "auto"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  outcome = Run({"host", "null-arguments"}, {{"FAKE_RESULT", "999"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  const Outcome counted = Run({"host", "null-arguments"}, {{"VRAMSTOW_LAUNCHES", "sample=1"}});
  EXPECT_EQ(counted.status, 0) << counted.error;
}

TEST_F(Lifecycle, ErrnoIsTheDrivers) {
  Outcome outcome = Run({"host", "errno"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  // errno must also be the driver's if vramstow's own work fails: no file can be created in this
  // folder.
  outcome = Run({"host", "errno"}, {{"VRAMSTOW_TRACE_DIR", "/proc/self"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
}

TEST_F(Lifecycle, TheDriversUseOfItsOwnFunctionsIsNotTheProgrammes) {
  const Outcome outcome = Run({"host", "reentrant"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  const std::vector<NamedEvent> events = OfKind(OnlyTrace(), EventKind::kAllocate);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].memory, MemoryKind::kDevicePitched);
  EXPECT_EQ(events[0].size, 5120u);
  EXPECT_EQ(events[0].requested, 1000u);
  // Both allocation calls reached the driver, although the trace has only the program's own call.
  std::vector<std::string> symbols;
  for (const LoggedCall& line : CallLog()) symbols.push_back(line.symbol);
  EXPECT_THAT(symbols, ElementsAre("cuInit", "cuMemAlloc_v2", "cuMemAllocPitch_v2"));
}

TEST_F(Lifecycle, CallsFromConstructorsAreSeen) {
  // The library is linked to the program in the first run. Then it is preloaded, once before
  // vramstow and once after it.
  const std::string early = kPrograms + "/libearly_library.so";
  EXPECT_EQ(Run({"early_host", "dlsym"}).status, 0);
  EXPECT_THAT(AllocatedSizes(OnlyTrace()), ElementsAre(6000, 1000));
  fs::remove(folder() + "/" + OnlyTrace().file);
  EXPECT_EQ(Run({"host", "dlsym"}, {}, early + ":" + kShim).status, 0);
  EXPECT_THAT(AllocatedSizes(OnlyTrace()), ElementsAre(6000, 1000));
  fs::remove(folder() + "/" + OnlyTrace().file);
  EXPECT_EQ(Run({"host", "dlsym"}, {}, kShim + ":" + early).status, 0);
  EXPECT_THAT(AllocatedSizes(OnlyTrace()), ElementsAre(6000, 1000));
}

TEST_F(Lifecycle, AForkedChildIsDormant) {
  const Outcome outcome = Run({"host", "fork-dormant"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(AllocatedSizes(OnlyTrace()), ElementsAre(1000, 2000));
  EXPECT_TRUE(OnlyTrace().closed);
}

TEST_F(Lifecycle, AChildMadeWithoutTheCLibrarysKnowledgeIsDormant) {
  const Outcome outcome = Run({"host", "clone-dormant"}, {{"VRAMSTOW_COVERAGE", "1"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(AllocatedSizes(OnlyTrace()), ElementsAre(1000, 2000));
  // The child must write no report. Here the number of reports is the only sign that distinguishes
  // the child from the parent.
  EXPECT_EQ(outcome.error.find("interception report of"),
            outcome.error.rfind("interception report of"));
  EXPECT_THAT(outcome.error, HasSubstr("called cuInit 1×, cuMemAlloc_v2 2×, cuMemFree_v2 2×"));
}

TEST_F(Lifecycle, AForkedChildThatInitialisesCudaHasATraceOfItsOwn) {
  const Outcome outcome = Run({"host", "fork-active"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  ASSERT_EQ(Traces().size(), 2u);
  EXPECT_THAT(AllocatedSizes(TraceWith(2000)), ElementsAre(1000, 2000));
  ReadTrace child = TraceWith(8000);
  EXPECT_THAT(AllocatedSizes(child), ElementsAre(8000));
  EXPECT_EQ(child.facts["process.parent"], TraceWith(2000).facts["process.pid"]);
  EXPECT_EQ(child.events.at(0).library_file, "host");
  EXPECT_EQ(child.events.at(0).call_name, "cuMemAlloc");
  EXPECT_TRUE(child.closed);
}

TEST_F(Lifecycle, AForkedChildThatTakesATitleHasItsTraceInTheSameFolder) {
  const std::string traces = folder() + "/traces";
  ASSERT_TRUE(fs::create_directory(traces));
  const Outcome outcome = Run({"host", "fork-title"}, {{"VRAMSTOW_TRACE_DIR", traces}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  const std::ptrdiff_t files = std::distance(fs::directory_iterator(traces), {});
  EXPECT_EQ(files, 2) << "the parent's and the child's";
  EXPECT_THAT(Files(), ElementsAre("traces")) << "none beside the folder";
}

TEST_F(Lifecycle, AnExitWithoutHandlersIsNotTakenForAKill) {
  const Outcome outcome = Run({"host", "exit-without-handlers"});
  EXPECT_EQ(outcome.status, 3) << outcome.error;
  EXPECT_THAT(outcome.error, IsEmpty());
  EXPECT_EQ(Traces().size(), 2u);
  for (const auto& [size, status] : {std::pair(2000, "3"), std::pair(8000, "7")}) {
    ReadTrace trace = TraceWith(size);
    EXPECT_TRUE(trace.closed);
    EXPECT_EQ(trace.facts["process.exit_status"], status);
    EXPECT_EQ(AllocatedSizes(trace).size(), 1u);
  }
}

TEST_F(Lifecycle, AnExitWithoutHandlersFindsThatOfTheCLibraryInEachNamespace) {
  const Outcome outcome = Run({"host", "exit-in-another-namespace"});
  EXPECT_EQ(outcome.status, 5) << outcome.error;
}

TEST_F(Lifecycle, AProgramStartedByVforkHasATraceOfItsOwn) {
  const Outcome outcome = Run({"host", "vfork"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  ASSERT_EQ(Traces().size(), 2u);
  EXPECT_THAT(AllocatedSizes(TraceWith(2000)), ElementsAre(2000));
  EXPECT_THAT(AllocatedSizes(TraceWith(1000)), ElementsAre(1000));
}

TEST_F(Lifecycle, AfterExecTheProcessHasASecondTrace) {
  const Outcome outcome = Run({"host", "exec"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  ASSERT_EQ(Traces().size(), 2u);
  EXPECT_EQ(TraceWith(2000).facts["process.pid"], TraceWith(1000).facts["process.pid"]);
  EXPECT_FALSE(TraceWith(2000).closed) << "nothing tells a process that it is about to be replaced";
  EXPECT_TRUE(TraceWith(1000).closed);
}

TEST_F(Lifecycle, HoweverTheProcessDiesAllThatItDidIsThere) {
  const std::pair<const char*, int> ends[] = {
      {"abort", SIGABRT}, {"driver", SIGSEGV}, {"terminate", SIGTERM}, {"quick-exit", 0}};
  // A sanitizer would otherwise end the process in its own way.
  const std::map<std::string, std::string> die_of_the_signal = {
      {"ASAN_OPTIONS", std::string(kAsanOptions) + ":handle_segv=0"},
      {"TSAN_OPTIONS", std::string(kTsanOptions) + ":handle_segv=0"}};
  for (const auto& [how, signal] : ends) {
    const Outcome outcome = Run({"host", "die", how}, die_of_the_signal);
    EXPECT_EQ(outcome.status, signal == 0 ? 0 : 128 + signal) << how << outcome.error;
    const ReadTrace trace = OnlyTrace();
    EXPECT_EQ(AllocatedSizes(trace).size(), 1000u) << how;
    const std::vector<NamedEvent> frees = OfKind(trace, EventKind::kFree);
    // The call during which the driver crashed was recorded before the driver was called.
    ASSERT_EQ(frees.size(), signal == SIGSEGV ? 501u : 500u) << how;
    if (signal == SIGSEGV) {
      EXPECT_EQ(frees.back().address, 0xc4a5u);
    }
    fs::remove(folder() + "/" + trace.file);
  }
}

TEST_F(Lifecycle, ThreadsThatStartTogetherAreAllRecorded) {
  for (int round = 0; round < 5; ++round) {
    const Outcome outcome = Run({"host", "threads"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    const ReadTrace trace = OnlyTrace();
    EXPECT_EQ(AllocatedSizes(trace).size(), 4000u);
    EXPECT_EQ(OfKind(trace, EventKind::kFree).size(), 4000u);
    fs::remove(folder() + "/" + trace.file);
  }
}

TEST_F(Lifecycle, FreesInExitHandlersAndDestructorsAreRecorded) {
  const Outcome outcome = Run({"host", "exit-order"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  const ReadTrace trace = OnlyTrace();
  EXPECT_THAT(AllocatedSizes(trace), ElementsAre(1000, 2000, 3000));
  // The third block is freed among the destructors of libraries. The dynamic linker decides whether
  // that is before or after vramstow's destructor; the call reaches the driver in either case.
  EXPECT_GE(OfKind(trace, EventKind::kFree).size(), 2u);
  int frees = 0;
  for (const LoggedCall& line : CallLog()) frees += line.symbol == "cuMemFree_v2" ? 1 : 0;
  EXPECT_EQ(frees, 3);
  EXPECT_TRUE(trace.closed);
}

TEST_F(Lifecycle, WithoutATraceTheCallsStillGoThrough) {
  const Outcome outcome = Run({"host", "dlsym"}, {{"VRAMSTOW_TRACE", "0"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(Files(), IsEmpty());
  EXPECT_EQ(CallLog().size(), 3u);
}

TEST_F(Lifecycle, AWrongSettingIsSaidOnceAndVramstowStaysOut) {
  const Outcome outcome = Run({"host", "threads"}, {{"VRAMSTOW_TRACE", "maybe"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("VRAMSTOW_TRACE is 'maybe'"));
  EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(Lifecycle, AFolderThatCannotBeWrittenIsSaidOnceAndTheJobGoesOn) {
  // No process can create a file in this folder, whatever its permissions.
  const Outcome outcome = Run({"host", "threads"}, {{"VRAMSTOW_TRACE_DIR", "/proc/self"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("/proc/self"));
  EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
}

TEST_F(Lifecycle, WithoutItsCoreTheShimSaysSoOnceAndPassesEverythingThrough) {
  fs::copy(kShim, folder() + "/libvramstow.so");
  const Outcome outcome = Run({"host", "threads"}, {}, folder() + "/libvramstow.so");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("libvramstow-core.so"));
  EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
  EXPECT_EQ(Run({"linked"}, {}, folder() + "/libvramstow.so").status, 0);
}

TEST_F(Lifecycle, ACoreOfAnotherVersionIsNotUsed) {
  fs::copy(kShim, folder() + "/libvramstow.so");
  fs::copy(kPrograms + "/future/libvramstow-core.so", folder() + "/libvramstow-core.so");
  const Outcome outcome = Run({"host", "dlsym"}, {}, folder() + "/libvramstow.so");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("belongs to another version"));
  EXPECT_EQ(CallLog().size(), 3u);
}

TEST_F(Lifecycle, ThePreloadMayBeNamedByARelativePath) {
  fs::create_symlink(kShim, folder() + "/libvramstow.so");
  fs::create_symlink(kLibraries + "/libvramstow-core.so", folder() + "/libvramstow-core.so");
  const Outcome outcome = Run({"host", "dlsym"}, {}, "./libvramstow.so");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(AllocatedSizes(OnlyTrace()), ElementsAre(1000));
}

TEST_F(Lifecycle, SetuidProgramsAreLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to make a setuid program";
  // The program shows its mapped libraries; it runs once as it is and once setuid.
  const std::string program = folder() + "/cat";
  fs::copy("/bin/cat", program);
  ASSERT_EQ(chmod(folder().c_str(), 0755), 0);
  const std::vector<std::string> as_nobody = {"/usr/bin/setpriv", "--reuid=65534", "--clear-groups",
                                              program, "/proc/self/maps"};
  ASSERT_EQ(chmod(program.c_str(), 0755), 0);
  Outcome outcome = Run(as_nobody);
  if (outcome.out.find("libvramstow.so") == std::string::npos) {
    GTEST_SKIP() << "another user cannot read the build folder here";
  }
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  outcome = Run(as_nobody);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("/cat"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("libvramstow")));
  EXPECT_THAT(outcome.error, IsEmpty());
}

}  // namespace
}  // namespace vramstow
