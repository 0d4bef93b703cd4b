// Tests how much memory a job has left: in a real control group if one can be made, and in layouts
// of /proc and /sys as on other machines.
#include "tracer/host_memory_usage.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/tracer/support.h"
#include "tracer/recorder.h"

namespace vramstow {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// --- Layouts ------------------------------------------------------------------------------------

class HostMemoryLayout : public testing::Test {
 protected:
  void SetUp() override {
    Write("/proc/meminfo",
          "MemTotal:       1048576 kB\nMemFree: 1 kB\nMemAvailable:    524288 kB\n");
    Write("/proc/self/statm", "9000 256 100 1 0 1 0\n");
  }
  void Write(const std::string& file, const std::string& text) {
    const fs::path path = folder_.path() + file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void Remove(const std::string& file) { fs::remove(folder_.path() + file); }
  // Makes a control group of cgroup version 2. Sizes are in MiB; a limit of 0 means no limit.
  void Group(const std::string& path, uint64_t limit, uint64_t used, uint64_t reclaimable = 0) {
    const std::string group = "/sys/fs/cgroup" + path;
    Write(group + "/memory.max", limit == 0 ? "max\n" : std::to_string(limit * kMiB) + "\n");
    Write(group + "/memory.current", std::to_string(used * kMiB) + "\n");
    Write(group + "/memory.stat", "anon 12345\ninactive_anon 99\ninactive_file " +
                                      std::to_string(reclaimable * kMiB) + "\nslab 5\n");
  }
  // Makes a control group of cgroup version 1, in which a very large number means that there is no
  // limit.
  void OldGroup(const std::string& path, uint64_t limit, uint64_t used, uint64_t reclaimable = 0) {
    const std::string group = "/sys/fs/cgroup/memory" + path;
    Write(group + "/memory.limit_in_bytes",
          limit == 0 ? "9223372036854771712\n" : std::to_string(limit * kMiB) + "\n");
    Write(group + "/memory.usage_in_bytes", std::to_string(used * kMiB) + "\n");
    Write(group + "/memory.stat", "cache 5\ninactive_file 77\ntotal_cache 5\ntotal_inactive_file " +
                                      std::to_string(reclaimable * kMiB) + "\n");
  }
  void ExpectRoom(uint64_t free, uint64_t limit, bool is_of_group) const {
    const HostMemory memory = ReadHostMemory(folder_.path().c_str());
    EXPECT_EQ(memory.resident, 256 * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
    EXPECT_EQ(memory.free / kMiB, free);
    EXPECT_EQ(memory.limit / kMiB, limit);
    EXPECT_EQ(memory.is_of_group, is_of_group);
  }
  const std::string& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

TEST_F(HostMemoryLayout, WithoutGroupsTheMachineIsTheLimit) {
  ExpectRoom(512, 1024, false);
  Write("/proc/self/cgroup", "0::/\n");
  ExpectRoom(512, 1024, false);
}

TEST_F(HostMemoryLayout, AGroupOfVersion2IsTheLimit) {
  Write("/proc/self/cgroup", "0::/user.slice/job.scope\n");
  Group("/user.slice/job.scope", 300, 120, 20);
  ExpectRoom(200, 300, true);
}

TEST_F(HostMemoryLayout, AGroupOfVersion1IsTheLimit) {
  Write("/proc/self/cgroup", "9:name=systemd:/x\n4:memory:/slurm/job_1\n10:pids:/\n0::/x\n");
  OldGroup("/slurm/job_1", 300, 120, 20);
  ExpectRoom(200, 300, true);
}

TEST_F(HostMemoryLayout, WhatTheGroupCannotGiveBackCounts) {
  Write("/proc/self/cgroup", "0::/job\n");
  Group("/job", 300, 400, 10);
  ExpectRoom(0, 300, true);
  Group("/job", 300, 100, 200);
  ExpectRoom(300, 300, true);
}

TEST_F(HostMemoryLayout, OfGroupsWithinGroupsTheOneWithTheLeastRoomCounts) {
  Write("/proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  Group("/slurm/job_7/step_0", 0, 10);
  Group("/slurm/job_7", 400, 350);
  Group("/slurm", 900, 500);
  ExpectRoom(50, 400, true);
  Group("/slurm", 900, 890);
  ExpectRoom(10, 900, true);
  Group("/slurm/job_7/step_0", 20, 15);
  ExpectRoom(5, 20, true);
}

TEST_F(HostMemoryLayout, OfOldGroupsWithinGroupsToo) {
  Write("/proc/self/cgroup", "4:memory:/slurm/job_7/step_0\n");
  OldGroup("/slurm/job_7/step_0", 0, 10);
  OldGroup("/slurm/job_7", 400, 350);
  OldGroup("", 0, 500);
  ExpectRoom(50, 400, true);
}

TEST_F(HostMemoryLayout, InAContainerThePathIsTheMachinesAndTheFilesLieOnTop) {
  Write("/proc/self/cgroup", "4:memory:/docker/0123456789ab\n");
  OldGroup("", 256, 56);
  ExpectRoom(200, 256, true);
  Write("/proc/self/cgroup", "0::/\n");
  Group("", 128, 28);
  ExpectRoom(100, 128, true);
}

TEST_F(HostMemoryLayout, NoLimitAndLimitsBeyondTheMachineAreNone) {
  Write("/proc/self/cgroup", "4:memory:/old\n0::/new\n");
  Group("/new", 0, 10);
  OldGroup("/old", 0, 10);
  ExpectRoom(512, 1024, false);
  OldGroup("/old", 2048, 10);
  ExpectRoom(512, 1024, false);
}

TEST_F(HostMemoryLayout, FilesThatAreNotAsTheyShouldBeGiveNoNumbers) {
  Write("/proc/self/cgroup", "0::/job\n");
  Group("/job", 300, 100);
  Write("/sys/fs/cgroup/job/memory.current", "much\n");
  ExpectRoom(512, 1024, false);
  Group("/job", 300, 100);
  Remove("/sys/fs/cgroup/job/memory.stat");
  ExpectRoom(200, 300, true);
  Write("/proc/self/cgroup", "0::/" + std::string(4000, 'x'));
  ExpectRoom(512, 1024, false);
  Write("/proc/self/cgroup", "nonsense");
  ExpectRoom(512, 1024, false);
  Remove("/proc/self/statm");
  Remove("/proc/meminfo");
  Remove("/proc/self/cgroup");
  const HostMemory nothing = ReadHostMemory(folder().c_str());
  EXPECT_EQ(nothing.resident + nothing.free + nothing.limit, 0u);
}

// --- A real group -------------------------------------------------------------------------------

// A control group below the group of this process, for a child process.
class RealGroup {
 public:
  RealGroup() {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
      const bool old = line.find(":memory:") != std::string::npos;
      if (!old && !line.starts_with("0::")) continue;
      const std::string own = line.substr(line.find('/'));
      const std::string name = "/vramstow-test-" + std::to_string(getpid());
      const std::string folder = (old ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup") + own + name;
      // With cgroup version 1 the kernel creates these files together with the folder. With version
      // 2 it does so only if the parent group controls memory.
      if (mkdir(folder.c_str(), 0755) != 0) continue;
      limit_ = folder + (old ? "/memory.limit_in_bytes" : "/memory.max");
      folder_ = folder;
      if (fs::exists(limit_)) return;
      rmdir(folder.c_str());
      folder_.clear();
    }
  }
  ~RealGroup() {
    constexpr int kTries = 10'000;
    for (int i = 0; !folder_.empty() && i < kTries && rmdir(folder_.c_str()) != 0; ++i) Pause();
  }
  bool SetLimit(uint64_t bytes) {
    if (folder_.empty()) return false;
    std::ofstream(folder_ + "/memory.swap.max") << 0;
    const bool set = static_cast<bool>(std::ofstream(limit_) << bytes << std::flush);
    std::ofstream(folder_ + "/memory.memsw.limit_in_bytes") << bytes;
    return set;
  }
  void Enter() const { std::ofstream(folder_ + "/cgroup.procs") << getpid() << std::flush; }
  static void Pause() {
    const timespec pause = {0, 2'000'000};
    nanosleep(&pause, nullptr);
  }

 private:
  std::string folder_;
  std::string limit_;
};

// Returns the samples of the host's memory in a trace.
std::vector<Event> SamplesIn(const std::string& file) {
  std::vector<Event> samples;
  for (const Event& event : ReadFile(file).events) {
    if (event.kind == EventKind::kMemoryInfo) samples.push_back(event);
  }
  return samples;
}

// Waits until the recorder has made two more samples. The second one was begun after this call.
void WaitForSamples(const std::string& file) {
  const size_t before = SamplesIn(file).size();
  while (SamplesIn(file).size() < before + 2) RealGroup::Pause();
}

// Allocates memory step by step in the group, and has it recorded.
[[noreturn]] void TakeMemory(const RealGroup& group, const std::string& folder, uint64_t bytes) {
  group.Enter();
  RecorderConfig config = {folder.c_str(), "test", TestThreadSlot};
  config.background = true;
  config.sample_ms = 2;
  Recorder* const recorder = NewRecorder();
  if (recorder->Open(config) != RecorderError::kOk) _exit(1);
  const std::string file = folder + "/test.stow";
  WaitForSamples(file);
  for (uint64_t taken = 0; taken < bytes; taken += 4 * kMiB) {
    void* const memory =
        mmap(nullptr, 4 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) _exit(2);
    std::memset(memory, 1, 4 * kMiB);
    WaitForSamples(file);
  }
  recorder->Close();
  _exit(0);
}

int StatusOf(const RealGroup& group, const std::string& folder, uint64_t bytes) {
  const pid_t child = fork();
  if (child == 0) TakeMemory(group, folder, bytes);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(HostMemoryInAGroup, IsASeriesWithTheGroupsLimit) {
  RealGroup group;
  constexpr uint64_t kLimit = 640 * kMiB;  // sanitizers need several times a program's memory
  if (!group.SetLimit(kLimit)) GTEST_SKIP() << "no control group can be made here";
  const TemporaryFolder folder;
  ASSERT_EQ(StatusOf(group, folder.path(), 64 * kMiB), 0);
  const std::vector<Event> samples = SamplesIn(folder.path() + "/test.stow");
  ASSERT_GE(samples.size(), 4u);
  for (const Event& sample : samples) {
    EXPECT_EQ(sample.offset, 1u);
    EXPECT_EQ(sample.requested, kLimit);
  }
  EXPECT_GE(samples.back().object, samples.front().object + 60 * kMiB);
  EXPECT_LE(samples.back().size + 60 * kMiB, samples.front().size);
  EXPECT_GE(samples.back().size, 64 * kMiB);
}

TEST(HostMemoryInAGroup, IsToldUpToTheEndOfWhoHadNoMoreOfIt) {
  RealGroup group;
  if (!group.SetLimit(96 * kMiB)) GTEST_SKIP() << "no control group can be made here";
  const TemporaryFolder folder;
  const int status = StatusOf(group, folder.path(), 512 * kMiB);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  const std::vector<Event> samples = SamplesIn(folder.path() + "/test.stow");
  ASSERT_GE(samples.size(), 4u);
  EXPECT_GT(samples.front().size, 60 * kMiB);
  EXPECT_LT(samples.back().size, 24 * kMiB);
  EXPECT_EQ(samples.back().requested, 96 * kMiB);
}

}  // namespace
}  // namespace vramstow
