// Tests which processes share the simulated GPUs, which GPUs a process sees, and what monitors
// report.
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "simulator/simulator_api.h"
#include "tests/simulator/own/child.h"

namespace vramstow::simulator {
namespace {

// A process that holds memory until the test makes it exit.
class Holder {
 public:
  Holder(const std::string& spec, const char* run_id, size_t bytes) {
    int ready[2];
    if (pipe(ready) != 0) return;
    process_ = fork();
    if (process_ == 0) {
      setenv("VRAMSTOW_SIMULATE", spec.c_str(), 1);
      setenv("VRAMSTOW_RUN_ID", run_id, 1);
      const Driver& driver = GetDriver();
      CUdeviceptr block = 0;
      const bool done = StartDriver(driver) && driver.cuMemAlloc(&block, bytes) == CUDA_SUCCESS;
      const char is_ready = done ? 1 : 0;
      if (write(ready[1], &is_ready, 1) != 1) _exit(1);
      for (;;) pause();
    }
    char is_ready = 0;
    holds_ = read(ready[0], &is_ready, 1) == 1 && is_ready == 1;
    close(ready[0]);
    close(ready[1]);
  }
  ~Holder() { Kill(); }
  void Kill() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  bool holds() const { return holds_; }
  pid_t process() const { return process_; }

 private:
  pid_t process_ = -1;
  bool holds_ = false;
};

constexpr char kSpec[] = "a100,memory=1GiB,context=64MiB";
constexpr size_t kHeld = 512 * kMiB;

std::string RunName(const char* name) { return std::to_string(getpid()) + name; }

// Starts a new process that belongs to this run, with this SPEC. The process creates a context.
// Returns the free memory that the process sees, in MiB.
int FreeMiB(const std::string& spec, const std::string& run) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  InChild(spec, [&] {
    if (run.empty()) {
      unsetenv("VRAMSTOW_RUN_ID");
    } else {
      setenv("VRAMSTOW_RUN_ID", run.c_str(), 1);
    }
    const Driver& driver = GetDriver();
    if (run.empty()) unsetenv("VRAMSTOW_RUN_ID");  // loading the driver has set it
    size_t free = 0;
    if (!StartDriver(driver) || driver.cuMemGetInfo(&free, nullptr) != CUDA_SUCCESS) return 1;
    const int found = static_cast<int>(free / kMiB);
    return write(ends[1], &found, sizeof(found)) == sizeof(found) ? 0 : 1;
  });
  close(ends[1]);
  int found = -1;
  if (read(ends[0], &found, sizeof(found)) != sizeof(found)) found = -1;
  close(ends[0]);
  return found;
}

// Returns the name of the file of counters that a process has open, or an empty text.
std::string FileOf(const std::string& process) {
  for (int file = 3; file < 64; ++file) {
    const std::string link = "/proc/" + process + "/fd/" + std::to_string(file);
    char path[256] = {};
    const ssize_t size = readlink(link.c_str(), path, sizeof(path) - 1);
    if (size > 0 && strstr(path, "vramstow-cards-") != nullptr) return path;
  }
  return {};
}

constexpr int kAlone = 1024 - 64;
constexpr int kBeside = kAlone - 64 - 512;

TEST(SharingTest, ProcessesOfOneRunShareTheCards) {
  const std::string run = RunName("a");
  Holder holder(kSpec, run.c_str(), kHeld);
  ASSERT_TRUE(holder.holds());
  EXPECT_EQ(kBeside, FreeMiB(kSpec, run));
  EXPECT_EQ(kAlone, FreeMiB(kSpec, RunName("b"))) << "another run is another machine";
  EXPECT_EQ(kAlone, FreeMiB(kSpec, "")) << "no run, nobody to share with";
  EXPECT_EQ(kAlone, FreeMiB(std::string(kSpec) + ",share=none", run));
}

// The child runs the handlers of exit, and the memory of its parent stays what it was.
TEST(SharingTest, ForkedChildThatExitsLeavesTheMemoryOfItsParent) {
  const std::string run = RunName("f");
  EXPECT_EQ(0, InChild(kSpec, [&] {
              setenv("VRAMSTOW_RUN_ID", run.c_str(), 1);
              const Driver& driver = GetDriver();
              CUdeviceptr block = 0;
              CHECK_IN_CHILD(StartDriver(driver));
              CHECK_IN_CHILD(driver.cuMemAlloc(&block, kHeld) == CUDA_SUCCESS);
              const pid_t child = fork();
              if (child == 0) exit(0);
              int status = 0;
              CHECK_IN_CHILD(waitpid(child, &status, 0) == child && status == 0);
              size_t free = 0;
              CHECK_IN_CHILD(driver.cuMemGetInfo(&free, nullptr) == CUDA_SUCCESS);
              CHECK_IN_CHILD(free / kMiB == kAlone - kHeld / kMiB);
              CHECK_IN_CHILD(driver.cuMemFree(block) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuMemGetInfo(&free, nullptr) == CUDA_SUCCESS);
              CHECK_IN_CHILD(free / kMiB == kAlone);
              CHECK_IN_CHILD(driver.cuMemAlloc(&block, kHeld) == CUDA_SUCCESS);
              CHECK_IN_CHILD(!FileOf("self").empty());
              CHECK_IN_CHILD(access(FileOf("self").c_str(), R_OK) == 0);
              return 0;
            }));
}

TEST(SharingTest, NameOverrulesTheRun) {
  const std::string name = std::string(kSpec) + ",share=" + RunName("shared");
  Holder holder(name, RunName("x").c_str(), kHeld);
  ASSERT_TRUE(holder.holds());
  EXPECT_EQ(kBeside, FreeMiB(name, RunName("y")));
  EXPECT_EQ(kBeside, FreeMiB(name, ""));
}

TEST(SharingTest, OtherCardsAreAnotherMachine) {
  const std::string run = RunName("c");
  Holder holder(kSpec, run.c_str(), kHeld);
  ASSERT_TRUE(holder.holds());
  EXPECT_EQ(2048 - 64, FreeMiB("a100,memory=2GiB,context=64MiB", run));
}

TEST(SharingTest, KilledProcessLeavesNothingBehind) {
  const std::string run = RunName("d");
  // The figures stay right although processes are killed repeatedly, at any moment.
  for (int i = 0; i < 10; ++i) {
    Holder holder(kSpec, run.c_str(), kHeld);
    ASSERT_TRUE(holder.holds()) << "what the one before held is free again";
  }
  EXPECT_EQ(kAlone, FreeMiB(kSpec, run));
}

TEST(SharingTest, LastProcessRemovesTheFile) {
  const std::string run = RunName("e");
  int ends[2];
  ASSERT_EQ(0, pipe(ends));
  EXPECT_EQ(0, InChild(kSpec, [&]() -> int {
              setenv("VRAMSTOW_RUN_ID", run.c_str(), 1);
              CHECK_IN_CHILD(StartDriver(GetDriver()));
              char path[256] = {};
              snprintf(path, sizeof(path), "%s", FileOf("self").c_str());
              CHECK_IN_CHILD(access(path, R_OK) == 0);
              CHECK_IN_CHILD(write(ends[1], path, sizeof(path)) == sizeof(path));
              exit(0);
            }));
  char path[256] = {};
  ASSERT_EQ(static_cast<ssize_t>(sizeof(path)), read(ends[0], path, sizeof(path)));
  close(ends[0]);
  close(ends[1]);
  EXPECT_NE(0, access(path, F_OK)) << path;
}

TEST(SharingTest, WhatKilledProcessesLeftIsRemovedByTheNextRun) {
  const std::string run = RunName("g");
  Holder holder(kSpec, run.c_str(), kHeld);
  ASSERT_TRUE(holder.holds());
  const std::string path = FileOf(std::to_string(holder.process()));
  EXPECT_EQ(kAlone, FreeMiB(kSpec, RunName("h")));
  EXPECT_EQ(0, access(path.c_str(), F_OK)) << "of a living process: it stays";
  holder.Kill();
  EXPECT_EQ(kAlone, FreeMiB(kSpec, RunName("i")));
  EXPECT_NE(0, access(path.c_str(), F_OK)) << path;
}

TEST(SharingTest, WhereSharingFailsTheProcessIsAloneAndSaysSo) {
  const std::string run = RunName("j");
  std::string path;
  {
    Holder holder(kSpec, run.c_str(), kHeld);
    path = FileOf(std::to_string(holder.process()));
  }
  ASSERT_FALSE(path.empty());
  remove(path.c_str());
  ASSERT_EQ(0, mkdir(path.c_str(), 0700)) << "no file can be made there now";
  const std::string said = ::testing::TempDir() + "vramstow-said-" + std::to_string(getpid());
  EXPECT_EQ(0, InChild(kSpec, [&] {
              if (freopen(said.c_str(), "w", stderr) == nullptr) return 9;
              setenv("VRAMSTOW_RUN_ID", run.c_str(), 1);
              size_t free = 0;
              const Driver& driver = GetDriver();
              const bool right = StartDriver(driver) &&
                                 driver.cuMemGetInfo(&free, nullptr) == CUDA_SUCCESS &&
                                 free == static_cast<size_t>(kAlone) * kMiB;
              fflush(stderr);
              return right ? 0 : 1;
            }));
  char line[512] = {};
  FILE* file = fopen(said.c_str(), "r");
  ASSERT_NE(nullptr, file);
  EXPECT_NE(nullptr, fgets(line, sizeof(line), file));
  EXPECT_NE(nullptr, strstr(line, "are not shared with the other processes")) << line;
  EXPECT_EQ(nullptr, fgets(line, sizeof(line), file)) << "one sentence";
  fclose(file);
  remove(said.c_str());
  rmdir(path.c_str());
}

TEST(SharingTest, MonitorSeesEveryProcessAndStartsNothing) {
  const std::string run = RunName("f");
  Holder holder(kSpec, run.c_str(), kHeld);
  ASSERT_TRUE(holder.holds());
  EXPECT_EQ(0, InChild(kSpec, [&] {
              setenv("VRAMSTOW_RUN_ID", run.c_str(), 1);
              void* library = GetDriver().library;
              const auto list = reinterpret_cast<decltype(&vramstowSimulatorListProcesses)>(
                  dlsym(library, "vramstowSimulatorListProcesses"));
              const auto report = reinterpret_cast<decltype(&vramstowSimulatorReportDevice)>(
                  dlsym(library, "vramstowSimulatorReportDevice"));
              vramstowSimulatorProcess processes[4] = {};
              CHECK_IN_CHILD(list(0, processes, 4) == 1);
              CHECK_IN_CHILD(processes[0].process == static_cast<uint64_t>(holder.process()));
              CHECK_IN_CHILD(processes[0].bytes == kHeld + 64 * kMiB);
              vramstowSimulatorDeviceReport device = {};
              CHECK_IN_CHILD(report(0, &device, sizeof(device)) == 0);
              CHECK_IN_CHILD(device.used_bytes == kHeld + 64 * kMiB);
              CHECK_IN_CHILD(device.process_bytes == 0 && device.has_context == 0);
              CHECK_IN_CHILD(StartDriver(GetDriver()));
              CHECK_IN_CHILD(list(0, processes, 4) == 2);
              CHECK_IN_CHILD(list(7, processes, 4) < 0);
              return 0;
            }));
}

// Sets the list of visible devices and returns how many devices the process sees. Returns 99 if the
// first device does not have the expected bus id, or 100 + the error if cuInit fails.
int CountUnder(const char* visible, const char* expected_bus) {
  return InChild("a100,memory=1GiB,count=4", [&]() -> int {
    setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    const Driver& driver = GetDriver();
    const CUresult result = driver.cuInit(0);
    if (result != CUDA_SUCCESS) return 100 + static_cast<int>(result) % 100;
    int count = 0;
    char bus[32] = {};
    driver.cuDeviceGetCount(&count);
    driver.cuDeviceGetPCIBusId(bus, sizeof(bus), 0);
    return expected_bus == nullptr || strcmp(bus, expected_bus) == 0 ? count : 99;
  });
}

TEST(VisibleTest, ListChoosesAndOrdersTheCards) {
  EXPECT_EQ(2, CountUnder("2,0", "0000:03:00.0"));
  EXPECT_EQ(1, CountUnder("3", "0000:04:00.0"));
  EXPECT_EQ(2, CountUnder(" 1, 2", "0000:02:00.0"));
}

TEST(VisibleTest, ListEndsAtWhatIsNoCard) {
  EXPECT_EQ(1, CountUnder("1,9,0", "0000:02:00.0"));
  EXPECT_EQ(100, CountUnder("", nullptr)) << "CUDA_ERROR_NO_DEVICE";
  EXPECT_EQ(100, CountUnder("-1", nullptr));
  EXPECT_EQ(100, CountUnder("1,1", nullptr)) << "named twice";
}

TEST(VisibleTest, UuidNamesACardTheSameInEveryProcess) {
  int ends[2];
  ASSERT_EQ(0, pipe(ends));
  ASSERT_EQ(0, InChild("a100,memory=1GiB,count=4", [&] {
              const Driver& driver = GetDriver();
              CUuuid uuid = {};
              CHECK_IN_CHILD(driver.cuInit(0) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuDeviceGetUuid(&uuid, 2) == CUDA_SUCCESS);
              return write(ends[1], &uuid, sizeof(uuid)) == sizeof(uuid) ? 0 : 1;
            }));
  unsigned char bytes[16] = {};
  ASSERT_EQ(16, read(ends[0], bytes, sizeof(bytes)));
  close(ends[0]);
  close(ends[1]);
  char name[64];
  snprintf(name, sizeof(name), "GPU-%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
  EXPECT_EQ(1, CountUnder(name, "0000:03:00.0"));
}

TEST(SharingTest, WithoutIpcEveryCallOfItIsRefused) {
  EXPECT_EQ(
      0, InChild("a100,memory=1GiB,without=ipc", [] {
        const Driver& driver = GetDriver();
        CHECK_IN_CHILD(StartDriver(driver));
        CUdeviceptr block = 0;
        CUevent event = nullptr;
        CUipcMemHandle memory = {};
        CUipcEventHandle handle = {};
        driver.cuMemAlloc(&block, kMiB);
        driver.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
        CHECK_IN_CHILD(driver.cuIpcGetMemHandle(&memory, block) == CUDA_ERROR_NOT_SUPPORTED);
        CHECK_IN_CHILD(driver.cuIpcOpenMemHandle(&block, memory, 1) == CUDA_ERROR_NOT_SUPPORTED);
        CHECK_IN_CHILD(driver.cuIpcGetEventHandle(&handle, event) == CUDA_ERROR_NOT_SUPPORTED);
        int supported = 1;
        driver.cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0);
        CHECK_IN_CHILD(supported == 0);
        return 0;
      }));
}

}  // namespace
}  // namespace vramstow::simulator
