// Tests tasks: functions of a library that compute results in place of kernels, as part of a
// stream's work.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <chrono>
#include <string>
#include <thread>

#include "simulator/simulator_api.h"
#include "tests/simulator/own/child.h"

namespace vramstow::simulator {
namespace {

struct TaskApi {
  decltype(&vramstowSimulatorAppend) append;
  decltype(&vramstowSimulatorAffords) affords;
  decltype(&vramstowSimulatorShadow) shadow;
  decltype(&vramstowSimulatorHoldKernels) hold_kernels;
  decltype(&vramstowSimulatorTry) try_out;
  decltype(&vramstowSimulatorPatchReads) patch_reads;
  decltype(&vramstowSimulatorCountUncomputedReads) count_reads;
  decltype(&vramstowSimulatorWatchUncomputedReads) watch_reads;
  decltype(&vramstowSimulatorCountUnknownSizes) count_sizes;
  decltype(&vramstowSimulatorWatchUnknownSizes) watch_sizes;
  decltype(&vramstowSimulatorWatchUses) watch_uses;
};

template <typename Function>
void Find(const Driver& driver, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(driver.library, name));
}

TaskApi FindTaskApi(const Driver& driver) {
  TaskApi api = {};
  Find(driver, "vramstowSimulatorAppend", &api.append);
  Find(driver, "vramstowSimulatorAffords", &api.affords);
  Find(driver, "vramstowSimulatorShadow", &api.shadow);
  Find(driver, "vramstowSimulatorHoldKernels", &api.hold_kernels);
  Find(driver, "vramstowSimulatorTry", &api.try_out);
  Find(driver, "vramstowSimulatorPatchReads", &api.patch_reads);
  Find(driver, "vramstowSimulatorCountUncomputedReads", &api.count_reads);
  Find(driver, "vramstowSimulatorWatchUncomputedReads", &api.watch_reads);
  Find(driver, "vramstowSimulatorCountUnknownSizes", &api.count_sizes);
  Find(driver, "vramstowSimulatorWatchUnknownSizes", &api.watch_sizes);
  Find(driver, "vramstowSimulatorWatchUses", &api.watch_uses);
  return api;
}

// Adds a number to every byte of a block.
struct Addition {
  unsigned char* bytes;
  size_t size;
  unsigned char value;
  int outcome;
};
int g_dropped = 0;  // in the running child

int Add(void* user) {
  const auto* addition = static_cast<Addition*>(user);
  for (size_t i = 0; i < addition->size; ++i) {
    addition->bytes[i] = static_cast<unsigned char>(addition->bytes[i] + addition->value);
  }
  return addition->outcome;
}

// The context, stream and block of 4 KiB with zeros that every test uses.
struct Scene {
  const Driver& driver = GetDriver();
  TaskApi api = {};
  CUdeviceptr block = 0;
  CUstream stream = nullptr;
  int traits = 0;  // traits of the appended tasks
  void (*reads_uncomputed)(void* user, int lost) = nullptr;

  bool Start(size_t size = 4096) {
    if (!StartDriver(driver)) return false;
    api = FindTaskApi(driver);
    return driver.cuMemAlloc(&block, size) == CUDA_SUCCESS &&
           driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
           driver.cuMemsetD8Async(block, 0, size, stream) == CUDA_SUCCESS;
  }

  int Append(unsigned char value, int use, size_t size = 4096, int outcome = kVramstowSimulatorDone,
             bool computed = true) const {
    auto* addition =
        new Addition{reinterpret_cast<unsigned char*>(block + static_cast<uint64_t>(api.shadow())),
                     size, value, outcome};
    const vramstowSimulatorRange range = {block, size, use};
    vramstowSimulatorTask task = {};
    task.size = sizeof task;
    task.name = "addition";
    task.ranges = &range;
    task.range_count = 1;
    task.bytes = size;
    task.run = computed ? Add : nullptr;
    task.drop = [](void* user) {
      delete static_cast<Addition*>(user);
      ++g_dropped;
    };
    task.user = addition;
    task.traits = traits;
    task.reads_uncomputed = reads_uncomputed;
    return api.append(stream, &task);
  }

  // Appends a large task that takes this time. Returns 1 if the task ran, or 0 if it was left out.
  int Nap(std::chrono::milliseconds length) const {
    constexpr uint64_t kBytes = 2 << 20;
    struct Sleeper {
      std::chrono::milliseconds length;
      int ran = 0;
    } sleeper = {length};
    const vramstowSimulatorRange range = {block, kBytes, kVramstowSimulatorReads};
    vramstowSimulatorTask task = {};
    task.size = sizeof task;
    task.name = "nap";
    task.ranges = &range;
    task.range_count = 1;
    task.bytes = kBytes;
    task.run = [](void* user) {
      std::this_thread::sleep_for(static_cast<Sleeper*>(user)->length);
      static_cast<Sleeper*>(user)->ran = 1;
      return static_cast<int>(kVramstowSimulatorDone);
    };
    task.user = &sleeper;
    if (api.append(stream, &task) != CUDA_SUCCESS) return -1;
    return driver.cuStreamSynchronize(stream) == CUDA_SUCCESS ? sleeper.ran : -1;
  }

  int Read() const {
    unsigned char value = 0;
    if (driver.cuStreamSynchronize(stream) != CUDA_SUCCESS) return -1;
    return driver.cuMemcpyDtoH(&value, block, 1) == CUDA_SUCCESS ? value : -1;
  }
};

constexpr int kChanges = kVramstowSimulatorReads | kVramstowSimulatorWrites;

TEST(TaskTest, RunsBehindTheWorkThatItWasAppendedToAndBeforeWhatComesNext) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start());
              CHECK_IN_CHILD(scene.Append(5, kChanges) == CUDA_SUCCESS);
              CHECK_IN_CHILD(g_dropped == 0);  // the memset has not ended
              CHECK_IN_CHILD(scene.Append(2, kChanges) == CUDA_SUCCESS);
              CHECK_IN_CHILD(scene.Read() == 7);
              CHECK_IN_CHILD(g_dropped == 2);
              CHECK_IN_CHILD(scene.Append(1, kChanges) == CUDA_SUCCESS);
              CHECK_IN_CHILD(g_dropped == 3);  // nothing is pending, so tasks run at once
              CHECK_IN_CHILD(scene.Read() == 8);
              return 0;
            }));
}

TEST(TaskTest, WhatIsOnlyTimedIsLeftOutWhereItIsLargeAndTakesNothingOfTheAllowance) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,allowance=12MiB", [] {
              constexpr size_t kLarge = 8 << 20;
              Scene scene;
              CHECK_IN_CHILD(scene.Start(kLarge));
              scene.api.try_out(1);
              CHECK_IN_CHILD(scene.Append(5, kChanges) == CUDA_SUCCESS);
              CHECK_IN_CHILD(scene.Read() == 5);
              CHECK_IN_CHILD(scene.Append(5, kChanges, kLarge) == CUDA_SUCCESS);
              scene.api.try_out(-1);
              CHECK_IN_CHILD(scene.Read() == 5);
              CHECK_IN_CHILD(scene.driver.cuMemsetD8Async(scene.block, 5, kLarge, scene.stream) ==
                             CUDA_SUCCESS);
              CHECK_IN_CHILD(scene.Append(2, kChanges, kLarge) == CUDA_SUCCESS);
              CHECK_IN_CHILD(scene.Read() == 7);
              return 0;
            }));
}

TEST(TaskTest, RunsAtEachLaunchOfTheGraphThatItWasCapturedIn) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start());
              CHECK_IN_CHILD(scene.Read() == 0);
              const Driver& driver = scene.driver;
              CUgraph graph = nullptr;
              CUgraphExec executable = nullptr;
              CUdeviceptr other = 0;
              CHECK_IN_CHILD(driver.cuMemAlloc(&other, 512) == CUDA_SUCCESS);
              driver.cuStreamBeginCapture(scene.stream, CU_STREAM_CAPTURE_MODE_RELAXED);
              driver.cuMemsetD8Async(other, 1, 512, scene.stream);
              CHECK_IN_CHILD(scene.Append(3, kChanges) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuStreamEndCapture(scene.stream, &graph) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuGraphInstantiate(&executable, graph, 0) == CUDA_SUCCESS);
              CHECK_IN_CHILD(scene.Read() == 0);
              driver.cuGraphLaunch(executable, scene.stream);
              driver.cuGraphLaunch(executable, scene.stream);
              CHECK_IN_CHILD(scene.Read() == 6);
              return 0;
            }));
}

// Counts how often each of three blocks was reported as used.
struct Uses {
  CUdeviceptr blocks[3] = {};
  int counts[3] = {};

  static void Count(const vramstowSimulatorRange* ranges, size_t count, void* user) {
    auto* uses = static_cast<Uses*>(user);
    for (size_t i = 0; i < count; ++i) {
      for (int block = 0; block < 3; ++block) {
        if (ranges[i].address == uses->blocks[block]) ++uses->counts[block];
      }
    }
  }
  bool Are(int task, int from, int to) const {
    return counts[0] == task && counts[1] == from && counts[2] == to;
  }
};

TEST(TaskTest, EachLaunchOfAGraphTellsWhatItsCapturedNodesUse) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start());
              const Driver& driver = scene.driver;
              Uses uses;
              uses.blocks[0] = scene.block;
              CHECK_IN_CHILD(driver.cuMemAlloc(&uses.blocks[1], 512) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuMemAlloc(&uses.blocks[2], 512) == CUDA_SUCCESS);
              CUgraph graph = nullptr;
              CUgraphExec executable = nullptr;
              scene.api.watch_uses(Uses::Count, &uses);
              driver.cuStreamBeginCapture(scene.stream, CU_STREAM_CAPTURE_MODE_RELAXED);
              driver.cuMemcpyDtoDAsync(uses.blocks[2], uses.blocks[1], 512, scene.stream);
              CHECK_IN_CHILD(scene.Append(3, kChanges) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuStreamEndCapture(scene.stream, &graph) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuGraphInstantiate(&executable, graph, 0) == CUDA_SUCCESS);
              // The task reported its use of a block once, when it was captured.
              CHECK_IN_CHILD(uses.Are(1, 0, 0));
              driver.cuGraphLaunch(executable, scene.stream);
              CHECK_IN_CHILD(uses.Are(2, 1, 1));
              driver.cuGraphLaunch(executable, scene.stream);
              CHECK_IN_CHILD(uses.Are(3, 2, 2));
              scene.api.watch_uses(nullptr, nullptr);
              driver.cuGraphLaunch(executable, scene.stream);
              CHECK_IN_CHILD(uses.Are(3, 2, 2));
              return 0;
            }));
}

TEST(TaskTest, WhatIsNotComputedReadsAsZerosAndSpoilsWhatIsLarge) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,emulation=4KiB", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start(8192));
              scene.driver.cuMemsetD8Async(scene.block, 9, 8192, scene.stream);
              CHECK_IN_CHILD(scene.api.affords(4096, 0) == 1);
              CHECK_IN_CHILD(scene.api.affords(8192, 0) == 0);
              // The task is larger than the limit emulation= of the SPEC. So it is left out, and
              // the memory that it should have filled is zeroed.
              scene.Append(1, kVramstowSimulatorFills, 8192);
              CHECK_IN_CHILD(scene.Read() == 0);
              // The task returns no result, so the memory that it should have filled is zeroed
              // again.
              scene.Append(7, kVramstowSimulatorFills, 4096, kVramstowSimulatorNotComputed);
              CHECK_IN_CHILD(scene.Read() == 0);
              // An assertion in a task may fail because the values that it reads were not computed.
              // This is no error of the program.
              scene.Append(0, kChanges, 4096, kVramstowSimulatorAssertion);
              CHECK_IN_CHILD(scene.Read() == 0);
              scene.Append(4, kVramstowSimulatorFills, 4096);
              CHECK_IN_CHILD(scene.Read() == 4);
              return 0;
            }));
}

TEST(TaskTest, ZeroesAreWrittenWhateverTheirSizeAndCountAsComputed) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,emulation=4KiB,allowance=0", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start(8192));
              scene.driver.cuMemsetD8Async(scene.block, 9, 8192, scene.stream);
              scene.Append(1, kVramstowSimulatorFills | kVramstowSimulatorZeroes, 8192);
              CHECK_IN_CHILD(scene.Read() == 0 && scene.api.count_reads() == 0);
              // A task was left out before, so its output is marked as not computed. A task that
              // writes zeros there removes the mark.
              scene.Append(1, kVramstowSimulatorFills, 8192, kVramstowSimulatorDone, false);
              CHECK_IN_CHILD(scene.Read() == 0 && scene.api.count_reads() == 1);
              scene.Append(1, kVramstowSimulatorFills | kVramstowSimulatorZeroes, 8192);
              CHECK_IN_CHILD(scene.Read() == 0 && scene.api.count_reads() == 1);
              return 0;
            }));
}

TEST(TaskTest, AnAssertionBreaksTheContextAsOnACard) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start());
              scene.Append(1, kChanges, 4096, kVramstowSimulatorAssertion);
              CHECK_IN_CHILD(scene.driver.cuStreamSynchronize(scene.stream) == CUDA_ERROR_ASSERT);
              return 0;
            }));
}

TEST(TaskTest, ChangesWhatASmallReadGivesUntilItIsToldToStop) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start());
              int64_t reported = 42;
              scene.api.patch_reads(
                  [](void* user, void* bytes, size_t size) { memcpy(bytes, user, size); },
                  &reported);
              int64_t count = 0;
              char large[16] = {};
              scene.driver.cuMemcpyDtoHAsync(&count, scene.block, 8, scene.stream);
              scene.driver.cuMemcpyDtoHAsync(large, scene.block, 16, scene.stream);
              scene.driver.cuStreamSynchronize(scene.stream);
              CHECK_IN_CHILD(count == 42 && large[0] == 0);
              scene.api.patch_reads(nullptr, nullptr);
              scene.driver.cuMemcpyDtoHAsync(&count, scene.block, 8, scene.stream);
              scene.driver.cuStreamSynchronize(scene.stream);
              CHECK_IN_CHILD(count == 0);
              return 0;
            }));
}

TEST(TaskTest, AReadThatIsChangedIsNoReadOfWhatLiesThere) {
  EXPECT_EQ(
      0, InChild("a100,memory=1GiB", [] {
        Scene scene;
        CHECK_IN_CHILD(scene.Start());
        scene.Append(1, kVramstowSimulatorFills, 4096, kVramstowSimulatorDone, false);
        int64_t reported = 42;
        scene.api.patch_reads(
            [](void* user, void* bytes, size_t size) { memcpy(bytes, user, size); }, &reported);
        CHECK_IN_CHILD(scene.Read() == 42 && scene.api.count_reads() == 0);
        scene.api.patch_reads(nullptr, nullptr);
        CHECK_IN_CHILD(scene.driver.cuMemcpyDtoH(&reported, scene.block + 8, 8) == CUDA_SUCCESS);
        CHECK_IN_CHILD(scene.api.count_reads() == 1);
        return 0;
      }));
}

TEST(TaskTest, IsToldThatItReadsOldValuesOrZerosInPlaceOfThem) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", [] {
              static int reported = -1;
              Scene scene;
              CHECK_IN_CHILD(scene.Start());
              scene.reads_uncomputed = [](void*, int lost) { reported = lost; };
              scene.Append(1, kChanges);
              CHECK_IN_CHILD(scene.Read() == 1 && reported == -1);
              // The next task changes memory in place, and it is left out.
              scene.Append(1, kChanges, 4096, kVramstowSimulatorDone, false);
              CHECK_IN_CHILD(scene.Read() == 1 && reported == -1);
              scene.Append(1, kChanges);
              CHECK_IN_CHILD(scene.Read() == 2 && reported == 0);
              scene.Append(1, kVramstowSimulatorFills, 4096, kVramstowSimulatorDone, false);
              scene.Append(1, kChanges);
              CHECK_IN_CHILD(scene.Read() == 1 && reported == 1);
              return 0;
            }));
}

TEST(TaskTest, WhatMayLeadToASizeIsComputedWhereTheTimeForOthersIsSpent) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start(2 << 20));
              CHECK_IN_CHILD(scene.Nap(std::chrono::milliseconds(9900)) == 1);
              CHECK_IN_CHILD(scene.Nap(std::chrono::milliseconds(1)) == 0);
              scene.traits = kVramstowSimulatorDecidesSize;
              scene.Append(0, kVramstowSimulatorReads);
              CHECK_IN_CHILD(scene.Nap(std::chrono::milliseconds(1)) == 1);
              return 0;
            }));
}

TEST(TaskTest, IsDroppedWhereItCannotBeAppended) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start());
              scene.stream = reinterpret_cast<CUstream>(0x1234560);
              CHECK_IN_CHILD(scene.Append(1, kChanges) == CUDA_ERROR_INVALID_HANDLE);
              CHECK_IN_CHILD(g_dropped == 1);
              return 0;
            }));
}

TEST(TaskTest, ThereIsNothingToComputeOnWhereTheSpecWantsNoValues) {
  for (const char* spec : {"a100,memory=1GiB,values=off", "a100,memory=1GiB,contents=discard"}) {
    EXPECT_EQ(0, InChild(spec,
                         [] {
                           Scene scene;
                           CHECK_IN_CHILD(scene.Start());
                           CHECK_IN_CHILD(scene.api.shadow() == 0);
                           return 0;
                         }))
        << spec;
  }
}

TEST(TaskTest, ReadsOfWhatIsNotComputedAreCountedAndTheFirstIsTold) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start());
              std::string reported;
              scene.api.watch_reads(
                  [](const char* by, void* user) {
                    *static_cast<std::string*>(user) += by;
                    return 1;
                  },
                  &reported);
              CHECK_IN_CHILD(scene.Read() == 0 && scene.api.count_reads() == 0);
              scene.Append(1, kVramstowSimulatorFills, 4096, kVramstowSimulatorDone, false);
              CHECK_IN_CHILD(scene.Read() == 0 && scene.Read() == 0);
              CHECK_IN_CHILD(scene.api.count_reads() == 2 && reported == "addition");
              scene.Append(1, kVramstowSimulatorFills);
              CHECK_IN_CHILD(scene.Read() == 1 && scene.api.count_reads() == 2);
              return 0;
            }));
}

TEST(TaskTest, WhatIsNotChangedInPlaceHasOldValuesThatAreComputedWith) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,emulation=4KiB,allowance=1MiB", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start(8192));
              scene.driver.cuMemsetD8Async(scene.block, 9, 8192, scene.stream);
              // The first task is left out, so the value stays 9. The second task is computed, and
              // its result is marked as derived from an old value.
              scene.Append(1, kChanges, 8192, kVramstowSimulatorDone, false);
              scene.Append(2, kChanges, 8192);
              CHECK_IN_CHILD(scene.Read() == 11 && scene.api.count_reads() == 1);
              // Lost values are values that read as zeros because they were not computed. A task is
              // not computed from lost values, and lost values that a task changes in place stay
              // lost.
              scene.Append(1, kVramstowSimulatorFills, 8192, kVramstowSimulatorDone, false);
              scene.Append(2, kChanges, 8192);
              scene.Append(2, kChanges, 8192);
              CHECK_IN_CHILD(scene.Read() == 0 && scene.api.count_reads() == 2);
              return 0;
            }));
}

TEST(TaskTest, SizesThatFollowFromWhatIsNotComputedAreCountedApart) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start());
              std::string reported;
              scene.api.watch_sizes(
                  [](const char* by, void* user) {
                    *static_cast<std::string*>(user) += by;
                    return 1;
                  },
                  &reported);
              scene.traits = kVramstowSimulatorDecidesSize;
              scene.Append(0, kVramstowSimulatorReads);
              CHECK_IN_CHILD(scene.Read() == 0 && scene.api.count_sizes() == 0);
              scene.traits = 0;
              scene.Append(1, kVramstowSimulatorFills, 4096, kVramstowSimulatorDone, false);
              scene.traits = kVramstowSimulatorDecidesSize;
              scene.Append(0, kVramstowSimulatorReads);
              scene.Append(0, kVramstowSimulatorReads);
              CHECK_IN_CHILD(scene.driver.cuStreamSynchronize(scene.stream) == CUDA_SUCCESS);
              CHECK_IN_CHILD(scene.api.count_sizes() == 2 && reported == "addition");
              CHECK_IN_CHILD(scene.api.count_reads() == 0);
              scene.traits = kVramstowSimulatorIsRead;
              scene.Append(0, kVramstowSimulatorReads);
              CHECK_IN_CHILD(scene.driver.cuStreamSynchronize(scene.stream) == CUDA_SUCCESS);
              CHECK_IN_CHILD(scene.api.count_sizes() == 2 && scene.api.count_reads() == 1);
              return 0;
            }));
}

TEST(TaskTest, ALargeCallIsComputedWhereASizeFollowsWhateverWasSpent) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,allowance=0,emulation=4KiB", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start(8192));
              CHECK_IN_CHILD(scene.Read() == 0);
              scene.traits = kVramstowSimulatorDecidesSize;
              scene.Append(3, kVramstowSimulatorReads, 8192);
              CHECK_IN_CHILD(scene.Read() == 3 && scene.api.count_sizes() == 0);
              return 0;
            }));
}

TEST(TaskTest, ALoopThatWaitsForWhatIsNotComputedEnds) {
  EXPECT_EQ(
      0, InChild("a100,memory=1GiB", [] {
        Scene scene;
        CHECK_IN_CHILD(scene.Start());
        scene.Append(1, kVramstowSimulatorFills, 4096, kVramstowSimulatorDone, false);
        uint64_t reads = 0;
        while (reads < 1000000 && scene.Read() == 0) ++reads;
        CHECK_IN_CHILD(reads >= 100000 && reads < 1000000);
        CHECK_IN_CHILD(scene.driver.cuStreamSynchronize(scene.stream) == CUDA_ERROR_LAUNCH_TIMEOUT);
        return 0;
      }));
}

TEST(TaskTest, ALoopOverManyPlacesThatAreNotComputedGoesOn) {
  EXPECT_EQ(
      0, InChild("a100,memory=1GiB", [] {
        Scene scene;
        CHECK_IN_CHILD(scene.Start(1 << 20));
        scene.Append(1, kVramstowSimulatorFills, 1 << 20, kVramstowSimulatorDone, false);
        CHECK_IN_CHILD(scene.Read() == 0);
        unsigned char value = 1;
        for (size_t i = 0; i < 200000; ++i) {
          CHECK_IN_CHILD(scene.driver.cuMemcpyDtoH(&value, scene.block + i, 1) == CUDA_SUCCESS);
        }
        CHECK_IN_CHILD(value == 0 && scene.api.count_reads() == 200001);
        return 0;
      }));
}

TEST(TaskTest, ALoopThatWaitsForAKernelEndsWhereNothingIsComputed) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,values=off", [] {
              Scene scene;
              CHECK_IN_CHILD(scene.Start());
              uint64_t reads = 0;
              while (reads < 2000000 && scene.Read() == 0) ++reads;
              CHECK_IN_CHILD(reads >= 999999 && reads < 2000000);
              return 0;
            }));
}

uint64_t AnonymousBytes() {
  FILE* file = fopen("/proc/self/status", "re");
  unsigned long long kib = 0;
  char line[256];
  while (file != nullptr && fgets(line, sizeof line, file) != nullptr) {
    if (sscanf(line, "RssAnon: %llu kB", &kib) == 1) break;
  }
  if (file != nullptr) fclose(file);
  return kib << 10;
}

TEST(TaskTest, WhatIsNotComputedTakesNothingOfTheHostAndIsKnownWhenItComesBack) {
  EXPECT_EQ(0, InChild("a100,memory=4GiB,emulation=4KiB,allowance=0", [] {
              constexpr size_t kSize = size_t{1} << 30;
              Scene scene;
              CHECK_IN_CHILD(scene.Start(kSize));
              const Driver& driver = scene.driver;
              scene.Append(1, kVramstowSimulatorFills, kSize, kVramstowSimulatorDone, false);
              void* pinned = nullptr;
              CUdeviceptr back = 0;
              CHECK_IN_CHILD(driver.cuMemHostAlloc(&pinned, kSize, 0) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuMemAlloc(&back, kSize) == CUDA_SUCCESS);
              const uint64_t before = AnonymousBytes();
              driver.cuMemcpyDtoHAsync(pinned, scene.block, kSize, scene.stream);
              driver.cuMemcpyHtoDAsync(back, pinned, kSize, scene.stream);
              CHECK_IN_CHILD(driver.cuStreamSynchronize(scene.stream) == CUDA_SUCCESS);
              CHECK_IN_CHILD(AnonymousBytes() < before + (size_t{64} << 20));
              CHECK_IN_CHILD(scene.api.count_reads() == 1);
              scene.block = back;
              CHECK_IN_CHILD(scene.Read() == 0 && scene.api.count_reads() == 2);
              // Values that the host writes are copied to the device and count as computed.
              memset(pinned, 7, 4096);
              driver.cuMemcpyHtoDAsync(back, pinned, kSize, scene.stream);
              CHECK_IN_CHILD(scene.Read() == 7 && scene.api.count_reads() == 2);
              // Newly allocated memory at the same address has no marks of uncomputed bytes.
              driver.cuMemcpyDtoHAsync(pinned, scene.block, kSize, scene.stream);
              CHECK_IN_CHILD(driver.cuMemFreeHost(pinned) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuMemHostAlloc(&pinned, kSize, 0) == CUDA_SUCCESS);
              const uint64_t reads = scene.api.count_reads();
              driver.cuMemcpyHtoDAsync(back, pinned, kSize, scene.stream);
              CHECK_IN_CHILD(scene.Read() == 0 && scene.api.count_reads() == reads);
              return 0;
            }));
}

}  // namespace
}  // namespace vramstow::simulator
