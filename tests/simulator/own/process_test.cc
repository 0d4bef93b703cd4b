// Tests how the simulated driver reacts to a process: fork, exit, wrong SPECs, faults, call logs,
// limits.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "simulator/simulator_api.h"
#include "tests/simulator/own/child.h"

namespace vramstow::simulator {
namespace {

using Check = int (*)(const char*, char*, size_t);

Check FindCheck(const Driver& driver) {
  return reinterpret_cast<Check>(dlsym(driver.library, "vramstowSimulatorCheck"));
}

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string TemporaryPath(const char* name) {
  return ::testing::TempDir() + "vramstow-" + std::to_string(getpid()) + "-" + name;
}

TEST(ProcessTest, ForkedChildOfAnInitialisedProcessIsRefused) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", [] {
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              const pid_t child = fork();
              if (child == 0) {
                CUdeviceptr block = 0;
                int count = 0;
                const bool right = driver.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                                   driver.cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
                                   driver.cuMemAlloc(&block, 1) == CUDA_ERROR_NOT_INITIALIZED;
                _exit(right ? 0 : 1);
              }
              int status = 0;
              waitpid(child, &status, 0);
              CHECK_IN_CHILD(status == 0);
              CUdeviceptr block = 0;
              CHECK_IN_CHILD(driver.cuMemAlloc(&block, 1) == CUDA_SUCCESS);
              return 0;
            }));
}

// Only calls that succeed take the time that vmm-time= sets.
TEST(ProcessTest, CallsOfVirtualMemoryTakeTheTimeThatIsTold) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,vmm-time=create:30ms/6400ms", [] {
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              CUmemAllocationProp wish = {};
              wish.type = CU_MEM_ALLOCATION_TYPE_PINNED;
              wish.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
              const auto milliseconds = [&](size_t bytes, CUresult expected) {
                const auto begin = std::chrono::steady_clock::now();
                CUmemGenericAllocationHandle handle = 0;
                const bool right = driver.cuMemCreate(&handle, bytes, &wish, 0) == expected;
                const auto spent = std::chrono::steady_clock::now() - begin;
                return right ? spent / std::chrono::milliseconds(1) : -1;
              };
              // One of many calls must be quick. The rest may be slow, because another process may
              // use the processor on a busy machine.
              bool is_quick = false;
              for (int i = 0; i < 1000 && !is_quick; ++i) {
                const auto refused = milliseconds(size_t{2} << 30, CUDA_ERROR_OUT_OF_MEMORY);
                CHECK_IN_CHILD(refused >= 0);
                is_quick = refused < 30;
              }
              CHECK_IN_CHILD(is_quick);
              CHECK_IN_CHILD(milliseconds(size_t{2} << 20, CUDA_SUCCESS) >= 42);
              CHECK_IN_CHILD(milliseconds(size_t{32} << 20, CUDA_SUCCESS) >= 230);
              return 0;
            }));
}

TEST(ProcessTest, CallsBeforeInitAreRefused) {
  EXPECT_EQ(0, InChild("a100", [] {
              const Driver& driver = GetDriver();
              int value = 0;
              CHECK_IN_CHILD(driver.cuDeviceGetCount(&value) == CUDA_ERROR_NOT_INITIALIZED);
              CHECK_IN_CHILD(driver.cuDriverGetVersion(&value) == CUDA_SUCCESS);
              CHECK_IN_CHILD(value == 13020);
              return 0;
            }));
}

// Host functions that a test lets run and end.
struct Gate {
  std::atomic<bool> is_entered{false};
  std::atomic<bool> is_open{false};

  static void Enter(void* gate) {
    auto* self = static_cast<Gate*>(gate);
    self->is_entered = true;
    while (!self->is_open) usleep(100);
  }
};

// Two ends of the primary context wait for a host function. Meanwhile this thread retains the
// context again if `retains` is true.
int EndTwice(bool retains) {
  const Driver& driver = GetDriver();
  CHECK_IN_CHILD(StartDriver(driver));
  size_t before = 0;
  CHECK_IN_CHILD(driver.cuMemGetInfo(&before, nullptr) == CUDA_SUCCESS);
  Gate gate;
  CHECK_IN_CHILD(driver.cuLaunchHostFunc(nullptr, Gate::Enter, &gate) == CUDA_SUCCESS);
  while (!gate.is_entered) usleep(100);
  std::thread releases([&] { driver.cuDevicePrimaryCtxRelease(0); });
  std::thread resets([&] {
    if (!retains) driver.cuDevicePrimaryCtxReset(0);
  });
  usleep(50'000);  // if the threads are later than that, the test proves less
  CUcontext context = nullptr;
  const auto retain = [&] { return driver.cuDevicePrimaryCtxRetain(&context, 0); };
  CHECK_IN_CHILD(!retains || retain() == CUDA_SUCCESS);
  gate.is_open = true;
  releases.join();
  resets.join();
  CHECK_IN_CHILD(retains || retain() == CUDA_SUCCESS);
  CUdeviceptr block = 0;
  size_t free = 0;
  CHECK_IN_CHILD(driver.cuCtxSetCurrent(context) == CUDA_SUCCESS);
  CHECK_IN_CHILD(driver.cuMemGetInfo(&free, nullptr) == CUDA_SUCCESS && free == before);
  CHECK_IN_CHILD(driver.cuMemAlloc(&block, 4096) == CUDA_SUCCESS);
  return 0;
}

TEST(ProcessTest, ContextThatIsRetainedDuringItsReleaseLives) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,context=64MiB", [] { return EndTwice(true); }));
}

TEST(ProcessTest, ContextThatTwoThreadsEndIsEndedOnce) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,context=64MiB", [] { return EndTwice(false); }));
}

TEST(ProcessTest, CallsAfterShutdownAreRefusedAndHarmless) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", []() -> int {
              static const Driver& driver = GetDriver();
              static CUdeviceptr block = 0;
              // This handler runs after the one that cuInit registers later.
              atexit([] {
                if (driver.cuMemFree(block) != CUDA_ERROR_DEINITIALIZED) _exit(1);
                if (driver.cuCtxSynchronize() != CUDA_ERROR_DEINITIALIZED) _exit(2);
              });
              CHECK_IN_CHILD(StartDriver(driver));
              CHECK_IN_CHILD(driver.cuMemAlloc(&block, 1) == CUDA_SUCCESS);
              exit(0);
            }));
}

TEST(ProcessTest, ExitWithPendingHostWorkDoesNotHang) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", []() -> int {
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              CHECK_IN_CHILD(driver.cuLaunchHostFunc(
                                 nullptr, [](void*) { sleep(60); }, nullptr) == CUDA_SUCCESS);
              exit(0);
            }));
}

TEST(ProcessTest, WrongSpecFailsInitWithASentence) {
  const std::string path = TemporaryPath("stderr");
  EXPECT_EQ(0, InChild("h200,memory=lots", [&] {
              if (freopen(path.c_str(), "w", stderr) == nullptr) return 9;
              const Driver& driver = GetDriver();
              const bool right =
                  driver.cuInit(0) != CUDA_SUCCESS && driver.cuInit(0) != CUDA_SUCCESS;
              fflush(stderr);
              return right ? 0 : 1;
            }));
  const std::vector<std::string> said = Lines(path);
  ASSERT_EQ(1u, said.size()) << "said once";
  EXPECT_NE(std::string::npos, said[0].find("memory=lots"));
  remove(path.c_str());
}

TEST(ProcessTest, CheckAnswersWithoutStartingAnything) {
  EXPECT_EQ(0, InChild("a100", [] {
              const Check check = FindCheck(GetDriver());
              char text[4096];
              CHECK_IN_CHILD(check("a100,memory=24GiB,count=2", text, sizeof(text)) == 0);
              CHECK_IN_CHILD(strstr(text, "A100") != nullptr);
              CHECK_IN_CHILD(check("gtx9999", text, sizeof(text)) != 0);
              CHECK_IN_CHILD(strstr(text, "gtx9999") != nullptr);
              CHECK_IN_CHILD(check("help", text, sizeof(text)) == 0);
              CHECK_IN_CHILD(strstr(text, "rtx4090") != nullptr);
              CHECK_IN_CHILD(check(nullptr, text, sizeof(text)) != 0);
              return 0;
            }));
}

TEST(ProcessTest, CallLogHasALineForEveryMemoryCall) {
  const std::string path = TemporaryPath("call-log.csv");
  EXPECT_EQ(0, InChild("a100,memory=1GiB,call-log=" + path, [] {
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              CUdeviceptr block = 0;
              void* host = nullptr;
              CHECK_IN_CHILD(driver.cuMemAlloc(&block, 1000) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuMemHostAlloc(&host, 77, 0) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuMemFree(block) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuMemAlloc(&block, 1ull << 40) == CUDA_ERROR_OUT_OF_MEMORY);
              CHECK_IN_CHILD(driver.cuMemFreeHost(host) == CUDA_SUCCESS);
              return 0;
            }));
  const std::vector<std::string> lines = Lines(path);
  ASSERT_EQ(6u, lines.size());
  EXPECT_EQ("sequence,time_ns,device,call,address,bytes,result", lines[0]);
  const auto parts = [&](size_t line) {
    std::vector<std::string> fields;
    std::istringstream stream(lines[line]);
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    return fields;
  };
  EXPECT_EQ("1", parts(1)[0]);
  EXPECT_EQ("cuMemAlloc", parts(1)[3]);
  EXPECT_EQ("1000", parts(1)[5]);
  EXPECT_EQ("-1", parts(2)[2]) << "host memory";
  EXPECT_EQ(parts(1)[4], parts(3)[4]) << "the free names the block";
  EXPECT_EQ("1000", parts(3)[5]);
  EXPECT_EQ("2", parts(4)[6]) << "refused calls too";
  EXPECT_EQ("cuMemFreeHost", parts(5)[3]);
  remove(path.c_str());
}

TEST(ProcessTest, CallLogsOfTwoProcessesHaveTheirOwnNames) {
  std::set<std::string> names;
  const std::string base = TemporaryPath("p");
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("VRAMSTOW_SIMULATE", ("a100,call-log=" + base + "%p").c_str(), 1);
      _exit(GetDriver().cuInit(0) == CUDA_SUCCESS ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(0, status);
    const std::string name = base + std::to_string(child);
    EXPECT_EQ(1u, Lines(name).size()) << name;
    remove(name.c_str());
  }
}

TEST(ProcessTest, ChosenCallFails) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,fail=cuMemAlloc:3", [] {
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              CUdeviceptr block = 0;
              CHECK_IN_CHILD(driver.cuMemAlloc(&block, 16) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuMemAlloc(&block, 16) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuMemAlloc(&block, 16) == CUDA_ERROR_OUT_OF_MEMORY);
              CHECK_IN_CHILD(driver.cuMemAlloc(&block, 16) == CUDA_SUCCESS);
              return 0;
            }));
  EXPECT_EQ(0, InChild("a100,memory=1GiB,fail=cuMemAlloc:2+", [] {
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              CUdeviceptr block = 0;
              CHECK_IN_CHILD(driver.cuMemAlloc(&block, 16) == CUDA_SUCCESS);
              for (int i = 0; i < 5; ++i) {
                CHECK_IN_CHILD(driver.cuMemAlloc(&block, 16) == CUDA_ERROR_OUT_OF_MEMORY);
              }
              return 0;
            }));
}

TEST(ProcessTest, MissingCapabilitiesAreToldAndRefused) {
  EXPECT_EQ(
      0, InChild("a100,without=vmm,without=mempool", [] {
        const Driver& driver = GetDriver();
        CHECK_IN_CHILD(StartDriver(driver));
        int value = 1;
        driver.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                    0);
        CHECK_IN_CHILD(value == 0);
        CUdeviceptr range = 0;
        CHECK_IN_CHILD(driver.cuMemAddressReserve(&range, kPage, 0, 0, 0) ==
                       CUDA_ERROR_NOT_SUPPORTED);
        CHECK_IN_CHILD(driver.cuMemAllocAsync(&range, kPage, nullptr) == CUDA_ERROR_NOT_SUPPORTED);
        return 0;
      }));
}

long ResidentKiB() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return atol(line.c_str() + 6);
  }
  return -1;
}

TEST(ProcessTest, UntouchedMemoryCostsNothing) {
  EXPECT_EQ(0, InChild("h200", [] {
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              std::vector<CUdeviceptr> blocks(100);
              for (CUdeviceptr& block : blocks) {
                CHECK_IN_CHILD(driver.cuMemAlloc(&block, 1ull << 30) == CUDA_SUCCESS);
                CHECK_IN_CHILD(driver.cuMemsetD8(block, 0, 1ull << 30) == CUDA_SUCCESS);
              }
              CHECK_IN_CHILD(driver.cuMemcpyDtoD(blocks[0], blocks[1], 1ull << 30) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuCtxSynchronize() == CUDA_SUCCESS);
              CHECK_IN_CHILD(ResidentKiB() < 200 * 1024);
              return 0;
            }));
}

TEST(ProcessTest, DiscardedContentsReadAsZeros) {
  EXPECT_EQ(0, InChild("h200,contents=discard", [] {
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              CUdeviceptr block = 0;
              std::vector<char> data(kMiB, 5);
              CHECK_IN_CHILD(driver.cuMemAlloc(&block, kMiB) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuMemcpyHtoD(block, data.data(), kMiB) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuMemcpyDtoH(data.data(), block, kMiB) == CUDA_SUCCESS);
              CHECK_IN_CHILD(data == std::vector<char>(kMiB, 0));
              return 0;
            }));
}

TEST(ProcessTest, CopiesBeyondContentsAreLeftOutAndCounted) {
  EXPECT_EQ(0, InChild("h200,contents=16MiB", [] {
              constexpr size_t kSize = 6 * kMiB;
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              const auto count = reinterpret_cast<decltype(&vramstowSimulatorCountUncomputedReads)>(
                  dlsym(driver.library, "vramstowSimulatorCountUncomputedReads"));
              CUdeviceptr blocks[3] = {};
              void* pinned = nullptr;
              const std::vector<char> fives(kSize, 5);
              const std::vector<char> zeros(kSize, 0);
              std::vector<char> read(kSize, 1);
              for (CUdeviceptr& block : blocks) {
                CHECK_IN_CHILD(driver.cuMemAlloc(&block, kSize) == CUDA_SUCCESS);
              }
              CHECK_IN_CHILD(driver.cuMemHostAlloc(&pinned, kSize, 0) == CUDA_SUCCESS);
              memset(pinned, 5, kSize);
              // All copies are pending until the program waits. Meanwhile their bytes in host
              // memory count towards the limit contents=.
              driver.cuMemcpyHtoDAsync(blocks[0], fives.data(), kSize, nullptr);
              driver.cuMemcpyHtoDAsync(blocks[1], fives.data(), kSize, nullptr);
              driver.cuMemcpyHtoDAsync(blocks[2], pinned, kSize, nullptr);
              CHECK_IN_CHILD(driver.cuMemcpyDtoH(read.data(), blocks[0], kSize) == CUDA_SUCCESS);
              CHECK_IN_CHILD(read == fives && count() == 0);
              for (int i : {1, 2}) {
                CHECK_IN_CHILD(driver.cuMemcpyDtoH(read.data(), blocks[i], kSize) == CUDA_SUCCESS);
                CHECK_IN_CHILD(read == zeros && count() == static_cast<uint64_t>(i));
              }
              // After a block is freed, the limit leaves room for another copy's bytes.
              CHECK_IN_CHILD(driver.cuMemFree(blocks[0]) == CUDA_SUCCESS);
              driver.cuMemcpyHtoD(blocks[1], fives.data(), kSize);
              CHECK_IN_CHILD(driver.cuMemcpyDtoH(read.data(), blocks[1], kSize) == CUDA_SUCCESS);
              CHECK_IN_CHILD(read == fives && count() == 2);
              return 0;
            }));
}

// The result of a query by a thread that polls work while another thread ends the process.
std::atomic<int> status_at_exit{-1};

TEST(ProcessTest, AThreadThatAsksWhetherWorkHasEndedIsToldSoWhileTheProcessEnds) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,seed=3", [] {
              const Driver& driver = GetDriver();
              // This handler runs after the driver's own one, which is registered later.
              atexit([] {
                while (status_at_exit < 0) usleep(1000);
                _exit(status_at_exit);
              });
              CHECK_IN_CHILD(StartDriver(driver));
              CUcontext context = nullptr;
              CUevent event = nullptr;
              CHECK_IN_CHILD(driver.cuCtxGetCurrent(&context) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuEventCreate(&event, 0) == CUDA_SUCCESS);
              std::thread([&driver, context, event] {
                driver.cuCtxSetCurrent(context);
                size_t free = 0;
                size_t total = 0;
                while (driver.cuMemGetInfo(&free, &total) != CUDA_ERROR_DEINITIALIZED) {
                  usleep(100);
                }
                const bool right = driver.cuEventQuery(event) == CUDA_SUCCESS &&
                                   driver.cuStreamQuery(nullptr) == CUDA_SUCCESS;
                status_at_exit = right ? 0 : 1;
              }).detach();
              exit(2);
              return 3;
            }));
}

TEST(ProcessTest, SmallerAddressSpaceIsEnough) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer itself needs the address space";
#endif
  EXPECT_EQ(0, InChild("a100,memory=1GiB", [] {
              const rlimit limit = {200ull << 30, 200ull << 30};
              CHECK_IN_CHILD(setrlimit(RLIMIT_AS, &limit) == 0);
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              CUdeviceptr block = 0;
              CHECK_IN_CHILD(driver.cuMemAlloc(&block, 512 * kMiB) == CUDA_SUCCESS);
              return 0;
            }));
}

TEST(ProcessTest, SameSeedGivesTheSameAddressesAndTimes) {
  std::vector<std::string> runs;
  for (int i = 0; i < 2; ++i) {
    const std::string path = TemporaryPath("seed.csv");
    EXPECT_EQ(0, InChild("a100,memory=1GiB,seed=11,call-log=" + path, [] {
                const Driver& driver = GetDriver();
                CHECK_IN_CHILD(StartDriver(driver));
                CUstream stream = nullptr;
                driver.cuStreamCreate(&stream, 0);
                for (size_t bytes : {100, 5000, 3 << 20}) {
                  CUdeviceptr block = 0;
                  CHECK_IN_CHILD(driver.cuMemAlloc(&block, bytes) == CUDA_SUCCESS);
                  driver.cuMemsetD8Async(block, 1, bytes, stream);
                  CHECK_IN_CHILD(driver.cuMemFree(block) == CUDA_SUCCESS);
                }
                return 0;
              }));
    std::ifstream file(path);
    runs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    remove(path.c_str());
  }
  EXPECT_FALSE(runs[0].empty());
#if !defined(__SANITIZE_THREAD__)  // with TSan the kernel chooses the addresses
  EXPECT_EQ(runs[0], runs[1]);
#endif
}

}  // namespace
}  // namespace vramstow::simulator
