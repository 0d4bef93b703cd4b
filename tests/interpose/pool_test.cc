// Tests the pool behind cuMemAlloc, seen from the program on the simulated driver: a program
// behaves the same with it and without it.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/interpose/support.h"
#include "tracer/format/reader.h"

namespace vramstow {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class PoolBehindCuMemAlloc : public Interposed {
 protected:
  Outcome RunPool(const std::vector<std::string>& command, const std::string& pool,
                  const std::map<std::string, std::string>& environment = {}) {
    std::map<std::string, std::string> variables = {
        {"VRAMSTOW_POOL", pool},
        {"VRAMSTOW_CHECK", "1"},
        {"VRAMSTOW_CONTROL_DIR", folder()},
        {"VRAMSTOW_SIMULATE", "h200,memory=2GiB,count=2"},
        {"LD_LIBRARY_PATH", VRAMSTOW_TEST_SIMULATOR ":" + kPrograms}};
    for (const auto& [name, value] : environment) variables[name] = value;
    return Run(command, variables);
  }
};

class Scenarios : public PoolBehindCuMemAlloc, public testing::WithParamInterface<const char*> {
 protected:
  void ExpectTheSame(const std::map<std::string, std::string>& environment = {}) {
    const Outcome plain = RunPool({"pool_host", GetParam()}, "off", environment);
    const Outcome pooled = RunPool({"pool_host", GetParam()}, "on", environment);
    EXPECT_EQ(plain.status, 0) << plain.error;
    EXPECT_EQ(pooled.status, 0) << pooled.error;
    EXPECT_EQ(pooled.out, plain.out);
    EXPECT_THAT(pooled.error, Not(HasSubstr("report this")));
  }
};

const auto kAllScenarios = testing::Values(
    "queries", "buffer-ids", "pitched", "memory-info", "contexts", "cache-of-another", "devices",
    "other-devices", "memory-nodes", "captures", "threads", "forks", "free-async", "free-waits",
    "out-of-memory", "freed-memory", "at-exit");

std::string NameWithoutDashes(const testing::TestParamInfo<const char*>& scenario) {
  std::string name = scenario.param;
  std::erase(name, '-');
  return name;
}

TEST_P(Scenarios, GoTheSameWithThePoolAndWithout) { ExpectTheSame(); }

INSTANTIATE_TEST_SUITE_P(Pool, Scenarios, kAllScenarios, NameWithoutDashes);

class OlderDrivers : public Scenarios {};

// An older driver cannot record an event for a whole context. The pool then waits for single
// streams.
TEST_P(OlderDrivers, GoTheSameWithThePoolAndWithout) {
  ExpectTheSame({{"VRAMSTOW_SIMULATE", "h200,memory=2GiB,count=2,without=event-context"}});
}

INSTANTIATE_TEST_SUITE_P(Pool, OlderDrivers,
                         testing::Values("threads", "contexts", "devices", "captures"));

// The driver lacks memory for code and for a limit while the pool caches memory.
TEST_F(PoolBehindCuMemAlloc, TheDriverGetsCachedMemoryForCodeAndLimits) {
  for (const char* call : {"cuModuleLoadData", "cuCtxSetLimit"}) {
    const Outcome pooled =
        RunPool({"pool_host", "code"}, "on",
                {{"VRAMSTOW_SIMULATE", std::string("h200,memory=2GiB,fail=") + call + ":1"}});
    EXPECT_EQ(pooled.status, 0) << pooled.error;
    EXPECT_EQ(pooled.out, "module 0\nlimit 0\n") << call;
  }
}

class WithoutPeerAccess : public Scenarios {};

TEST_P(WithoutPeerAccess, GoTheSameWithThePoolAndWithout) {
  ExpectTheSame({{"VRAMSTOW_SIMULATE", "l4,memory=2GiB,count=2"}});
}

INSTANTIATE_TEST_SUITE_P(Pool, WithoutPeerAccess, testing::Values("other-devices"),
                         NameWithoutDashes);

class PlainBacking : public Scenarios {};

TEST_P(PlainBacking, GoesTheSameWithThePoolAndWithout) {
  ExpectTheSame({{"VRAMSTOW_SIMULATE", "h200,memory=2GiB,count=2,without=vmm"}});
}

INSTANTIATE_TEST_SUITE_P(Pool, PlainBacking, kAllScenarios, NameWithoutDashes);

// Tests programs that create, reset and release contexts by calls that no hook sees.
class UnseenContexts : public Scenarios {};

TEST_P(UnseenContexts, AreServedAsAllOthersAre) {
  ExpectTheSame({{"VRAMSTOW_SIMULATE", "h200,memory=2GiB,count=2,primary=private"}});
  uint64_t mapped = 0;
  for (const ReadTrace& trace : Traces()) {
    for (const NamedEvent& event : trace.events) {
      mapped += event.layer == Layer::kPool && event.kind == EventKind::kMap ? 1 : 0;
    }
  }
  EXPECT_GT(mapped, 0u) << "the pool served nothing";
}

INSTANTIATE_TEST_SUITE_P(Pool, UnseenContexts, kAllScenarios, NameWithoutDashes);

TEST_F(PoolBehindCuMemAlloc, AnAdapterOfYesterdayWorksWithTheLibraryOfToday) {
  const Outcome pooled = RunPool({"adapter_of_yesterday"}, "on");
  EXPECT_EQ(pooled.status, 0) << pooled.error;
  EXPECT_EQ(pooled.out,
            "pool: as it was\ntrace: none\ncensus: as it was\ncollection: as it was\n"
            "of tomorrow: none\nno kind: none, no version: none\n"
            "open 0, allocate 0, of 5 MiB, free 0\n");
  const Outcome plain = RunPool({"adapter_of_yesterday"}, "off");
  EXPECT_EQ(plain.status, 0) << plain.error;
  EXPECT_EQ(plain.out,
            "pool: none\ntrace: as it was\ncensus: as it was\ncollection: as it was\n"
            "of tomorrow: none\nno kind: none, no version: none\n");
}

// The number of the application's blocks, and of the segments that the pool allocated from the
// plain driver. There are fewer segments than blocks if the pool's cache works.
struct Taken {
  uint64_t blocks = 0;
  uint64_t segments = 0;
  uint64_t left = 0;
};

Taken TakenIn(const ReadTrace& trace) {
  Taken taken;
  std::map<uint64_t, uint64_t> segments;
  for (const NamedEvent& event : trace.events) {
    const bool gives = event.kind == EventKind::kAllocate && event.result == 0;
    if (gives && event.layer == Layer::kDriver) ++taken.blocks;
    if (event.layer != Layer::kPool || event.memory != MemoryKind::kDevice) continue;
    EXPECT_EQ(event.call_name, gives ? "cuMemAlloc" : "cuMemFree");
    if (gives) {
      ++taken.segments;
      taken.left += segments[event.address] = event.size;
    } else if (event.kind == EventKind::kFree) {
      taken.left -= segments.at(event.address);
    }
  }
  return taken;
}

TEST_F(PoolBehindCuMemAlloc, WithoutVirtualMemoryThePlainDriversMemoryIsCachedAndThatIsSaidOnce) {
  const Outcome outcome =
      RunPool({"pool_host", "threads"}, "on", {{"VRAMSTOW_SIMULATE", "h200,without=vmm"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("no virtual memory management"));
  EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1);
  const Taken taken = TakenIn(OnlyTrace());
  EXPECT_GT(taken.segments, 0u);
  EXPECT_GT(taken.blocks, 3 * taken.segments);
}

TEST_F(PoolBehindCuMemAlloc, ThePlainDriversMemoryCanBeAskedFor) {
  const Outcome outcome = RunPool({"pool_host", "threads"}, "on", {{"VRAMSTOW_BACKING", "malloc"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, IsEmpty());
  EXPECT_GT(TakenIn(OnlyTrace()).segments, 0u);
}

TEST_F(PoolBehindCuMemAlloc, VirtualMemoryThatIsRefusedIsReplacedAndThatIsSaidOnce) {
  for (const char* call : {"cuMemAddressReserve", "cuMemCreate", "cuMemSetAccess"}) {
    const Outcome outcome =
        RunPool({"pool_host", "threads"}, "on",
                {{"VRAMSTOW_SIMULATE", std::string("h200,fail=") + call + ":1+:801"}});
    EXPECT_EQ(outcome.status, 0) << call << ": " << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr("is refused (error 801)")) << call;
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
    EXPECT_GT(TakenIn(OnlyTrace()).segments, 0u) << call;
    for (const std::string& file : Files()) std::filesystem::remove(folder() + "/" + file);
  }
}

TEST_F(PoolBehindCuMemAlloc, OffloadIsNotThereWithoutVirtualMemory) {
  const Outcome outcome = RunPool({"pool_host", "threads"}, "on",
                                  {{"VRAMSTOW_BACKING", "malloc"}, {"VRAMSTOW_OFFLOAD", "auto"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("or moved to the host: --backing=malloc was given"));
}

TEST_F(PoolBehindCuMemAlloc, NothingIsSaidAndNoSocketIsLeftWhereAllIsWell) {
  const Outcome outcome = RunPool({"pool_host", "threads"}, "on");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.error, IsEmpty());
  for (const std::string& file : Files()) EXPECT_THAT(file, Not(HasSubstr(".sock")));
}

// The code that captures stacks queries the dynamic linker, and must not do so while other threads
// wait for the pool.
TEST_F(PoolBehindCuMemAlloc, ConstructorsAllocateWhileOtherThreadsCaptureStacks) {
  for (const char* pool : {"on", "off"}) {
    const Outcome outcome =
        RunPool({"pool_constructors", kPrograms + "/liballocating_constructor.so"}, pool,
                {{"VRAMSTOW_STACKS", "all"}, {"VRAMSTOW_CHECK", "0"}});
    EXPECT_EQ(outcome.status, 0) << pool << ": " << outcome.error;
    EXPECT_THAT(outcome.error, IsEmpty()) << pool;
  }
  const std::vector<ReadTrace> traces = Traces();
  ASSERT_EQ(traces.size(), 2u);
  for (const ReadTrace& trace : traces) EXPECT_TRUE(trace.closed) << trace.file;
}

TEST_F(PoolBehindCuMemAlloc, BlocksAreSharedWithOtherProcesses) {
  for (const char* pool : {"off", "on"}) {
    // The program reads the data that it copied, and copies more than a simulated run keeps by
    // default.
    const std::string card = "h200,memory=2GiB,contents=keep,share=" + folder() + "/shared";
    const Outcome outcome = RunPool({"pool_sharer"}, pool, {{"VRAMSTOW_SIMULATE", card}});
    EXPECT_EQ(outcome.status, 0) << pool << ": " << outcome.error;
    EXPECT_EQ(outcome.out, "4096\n3146240\n20971520\n314572800\nshared\n");
  }
}

TEST_F(PoolBehindCuMemAlloc, AnExportedBlockStaysWhereItIsWhenMemoryLacks) {
  const std::string card = "h200,memory=1GiB,contents=keep,share=" + folder() + "/shared";
  const Outcome outcome = RunPool({"pool_sharer", "700000", "700000000"}, "on",
                                  {{"VRAMSTOW_SIMULATE", card},
                                   {"VRAMSTOW_OFFLOAD", "auto,host=4GiB"},
                                   {"VRAMSTOW_HOST_MAPPING", "*=node:0"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.out, HasSubstr("shared\n"));
}

// Large chunks are used only for a block that is large compared with the memory that the process
// already has. Only the last block is.
TEST_F(PoolBehindCuMemAlloc, WhatLiesInLargeChunksCannotBeShared) {
  const Outcome outcome =
      RunPool({"pool_sharer", "2500000000"}, "on",
              {{"VRAMSTOW_SIMULATE", "h200,memory=4GiB,share=" + folder() + "/shared"},
               {"VRAMSTOW_LARGE_CHUNKS", "4MiB"}});
  EXPECT_EQ(outcome.status, 99);
  EXPECT_THAT(outcome.error, HasSubstr("get(&handle, block)"));
  EXPECT_THAT(outcome.out, testing::StartsWith("4096\n"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("314572800")));
}

TEST_F(PoolBehindCuMemAlloc, ThePlainDriversMemoryCannotBeShared) {
  const Outcome outcome = RunPool({"pool_sharer"}, "on",
                                  {{"VRAMSTOW_SIMULATE", "h200,share=" + folder() + "/shared"},
                                   {"VRAMSTOW_BACKING", "malloc"}});
  EXPECT_EQ(outcome.status, 99);
  EXPECT_THAT(outcome.error, HasSubstr("get(&handle, block)"));
}

TEST_F(PoolBehindCuMemAlloc, WithoutAControlSocketNothingCanBeShared) {
  const Outcome outcome = RunPool(
      {"pool_sharer"}, "on",
      {{"VRAMSTOW_SIMULATE", "h200,share=" + folder() + "/shared"}, {"VRAMSTOW_CONTROL", "0"}});
  EXPECT_EQ(outcome.status, 99);
  EXPECT_THAT(outcome.error, HasSubstr("get(&handle, block)"));
}

TEST_F(PoolBehindCuMemAlloc, ListedLibrariesGetPlainMemory) {
  const Outcome outcome =
      RunPool({"pool_host", "threads"}, "on", {{"VRAMSTOW_PLAIN", "libnccl,pool_"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  for (const NamedEvent& event : OnlyTrace().events) EXPECT_EQ(event.layer, Layer::kDriver);
}

TEST_F(PoolBehindCuMemAlloc, OverTheLimitIsOutOfMemoryAndToldInOneBlockOfText) {
  const Outcome outcome =
      RunPool({"pool_host", "out-of-memory"}, "on", {{"VRAMSTOW_LIMIT", "200MiB"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(outcome.out, "4 blocks, then 2\n4 blocks, then 2\n");
  EXPECT_THAT(outcome.error, HasSubstr("Out of memory: 50.0 MiB were asked for"));
  EXPECT_THAT(outcome.error, HasSubstr("of a limit of 200 MiB"));
  const ReadTrace trace = OnlyTrace();
  EXPECT_EQ(OfKind(trace, EventKind::kCacheOutOfMemory).size(), 2u);
  EXPECT_THAT(trace.facts.at("pool.out_of_memory.1"), HasSubstr("50.0 MiB were asked for"));
}

TEST_F(PoolBehindCuMemAlloc, OutOfMemoryKeepsTheNewestEventsInACopy) {
  for (const char* const pool : {"on", "off"}) {
    for (const char* const size : {"1MiB", "auto", "unlimited"}) {
      const std::string name = std::string(pool) + size;
      std::filesystem::create_directory(folder() + "/" + name);
      const Outcome outcome = RunPool({"pool_host", "out-of-memory"}, pool,
                                      {{"VRAMSTOW_SIMULATE", "h200,memory=2GiB"},
                                       {"VRAMSTOW_TRACE_DIR", folder() + "/" + name},
                                       {"VRAMSTOW_TRACE_SIZE", size}});
      EXPECT_EQ(outcome.status, 0) << outcome.error;
      std::vector<std::string> copies;
      for (const auto& entry : std::filesystem::directory_iterator(folder() + "/" + name)) {
        if (entry.path().string().ends_with("-oom.stow")) copies.push_back(entry.path());
      }
      ASSERT_EQ(copies.size(), *size == '1' ? 1u : 0u) << name;
      if (copies.empty()) continue;
      EXPECT_THAT(outcome.error, HasSubstr("the newest events were copied to " + copies[0]));
      TraceReader reader;
      ASSERT_EQ(reader.Open(copies[0].c_str()), ReadError::kOk);
      Event event;
      bool refused = false;
      while (reader.Next(&event)) refused |= event.result == 2;
      EXPECT_TRUE(refused) << "the request that failed is in it";
    }
  }
}

TEST_F(PoolBehindCuMemAlloc, HitsAndFreesMakeNoSystemCallAndUseNoHeap) {
  if (kIsSanitized) GTEST_SKIP() << "sanitizers make system calls of their own";
  const std::string path = kPrograms + "/pool_hits";
  std::map<std::string, std::string> variables = {{"VRAMSTOW_TRACE", "0"}, {"VRAMSTOW_CHECK", "0"}};
  // If every free waits for its work (VRAMSTOW_FREE_WAITS=always), a reuse of the memory needs no
  // wait.
  variables["VRAMSTOW_FREE_WAITS"] = "always";
  Outcome outcome = RunPool({path, "allocate"}, "on", variables);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  variables["VRAMSTOW_FREE_WAITS"] = "never";
  outcome = RunPool({path, "free"}, "on", variables);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
}

TEST_F(PoolBehindCuMemAlloc, ARepeatingLoopCallsForNoMemoryAfterItsThirdIteration) {
  const auto lines = [this](const char* scenario, const char* waits) {
    const std::string call_log = folder() + "/" + scenario;
    const Outcome outcome = RunPool({"pool_host", scenario}, "on",
                                    {{"VRAMSTOW_SIMULATE", "h200,memory=2GiB,call-log=" + call_log},
                                     {"VRAMSTOW_FREE_WAITS", waits}});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    std::ifstream file(call_log);
    return std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n');
  };
  for (const char* waits : {"never", "always"}) {
    const auto settled = lines("steady-3", waits);
    EXPECT_GT(settled, 10);
    EXPECT_EQ(lines("steady-200", waits), settled) << waits;
  }
}

TEST_F(PoolBehindCuMemAlloc, ReservedAndFreeMemoryCanBeRebuiltFromTheTrace) {
  const Outcome outcome = RunPool({"pool_host", "threads"}, "on");
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  std::map<uint64_t, uint64_t> chunks;
  std::map<uint64_t, uint64_t> blocks;
  uint64_t reserved = 0;
  uint64_t allocated = 0;
  for (const NamedEvent& event : OnlyTrace().events) {
    if (event.result != 0) continue;
    const bool gives = event.kind == EventKind::kAllocate;
    const bool takes = event.kind == EventKind::kFree;
    if (event.layer == Layer::kPool && event.memory == MemoryKind::kPhysical) {
      if (gives) reserved += chunks[event.address] = event.size;
      if (takes) reserved -= chunks.at(event.address);
    } else if (event.layer == Layer::kDriver) {
      if (gives) allocated += blocks[event.address] = event.size;
      if (takes) allocated -= blocks.at(event.address);
      if (gives) {
        EXPECT_EQ(event.call_name, "cuMemAlloc");
        EXPECT_EQ(event.library_file, "pool_host");
      }
    }
    EXPECT_LE(allocated, reserved);
  }
  EXPECT_EQ(allocated, 0u);
  EXPECT_GT(reserved, 0u);
}

}  // namespace
}  // namespace vramstow
