// Tests processes that share one simulated GPU through a file that the SPEC names: its memory, its
// virtual time, and files that are refused. Each process is started anew with exec.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "simulator/simulator_api.h"
#include "tests/simulator/own/child.h"

namespace vramstow::simulator {
namespace {

constexpr char kMember[] = "VRAMSTOW_TEST_MEMBER";  // set in a process that obeys a test
constexpr int kAlone = 1024 - 64;                   // MiB

template <typename Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(GetDriver().library, name));
}

// What a test asks of a member, and its answer.
enum class Order : char { kFreeMiB, kAllocateMiB, kFreeAll, kChurn, kTime, kJoin, kLatest };
struct Request {
  Order order;
  uint64_t value;
};

// Allocates and frees at random. Returns the number of calls after which the GPU had more in use
// than it has, or another error had come.
uint64_t Churn(const Driver& driver, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<CUdeviceptr> blocks;
  uint64_t wrong = 0;
  for (int i = 0; i < 400; ++i) {
    if (!blocks.empty() && random() % 2 == 0) {
      wrong += driver.cuMemFree(blocks.back()) != CUDA_SUCCESS;
      blocks.pop_back();
    } else {
      CUdeviceptr block = 0;
      const CUresult result = driver.cuMemAlloc(&block, (1 + random() % 64) * 2 * kMiB);
      if (result == CUDA_SUCCESS) blocks.push_back(block);
      wrong += result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY;
    }
    vramstowSimulatorDeviceReport report = {};
    Find<decltype(vramstowSimulatorReportDevice)>("vramstowSimulatorReportDevice")(0, &report,
                                                                                   sizeof(report));
    wrong += report.used_bytes > report.total_bytes || report.used_bytes < report.process_bytes;
  }
  for (const CUdeviceptr block : blocks) wrong += driver.cuMemFree(block) != CUDA_SUCCESS;
  return wrong;
}

uint64_t Obey(const Driver& driver, const Request& request, std::vector<CUdeviceptr>* blocks) {
  size_t free = 0;
  CUdeviceptr block = 0;
  CUresult result = CUDA_SUCCESS;
  switch (request.order) {
    case Order::kFreeMiB:
      return driver.cuMemGetInfo(&free, nullptr) == CUDA_SUCCESS ? free / kMiB : 0;
    case Order::kAllocateMiB:
      result = driver.cuMemAlloc(&block, request.value * kMiB);
      if (result == CUDA_SUCCESS) blocks->push_back(block);
      return result;
    case Order::kFreeAll:
      for (const CUdeviceptr one : *blocks) driver.cuMemFree(one);
      blocks->clear();
      return 0;
    case Order::kChurn:
      return Churn(driver, request.value);
    case Order::kTime:
      return Find<decltype(vramstowSimulatorTime)>("vramstowSimulatorTime")();
    case Order::kJoin:
      return Find<decltype(vramstowSimulatorJoinTime)>("vramstowSimulatorJoinTime")(request.value);
    case Order::kLatest:
      return Find<decltype(vramstowSimulatorLatestTime)>("vramstowSimulatorLatestTime")();
  }
  return 0;
}

// The program of a member: says whether the driver has started, then answers each request. Standard
// input and output are the test's pipes.
int RunMember() {
  const Driver& driver = GetDriver();
  const uint64_t started = StartDriver(driver) ? 1 : 0;
  if (write(1, &started, sizeof(started)) != sizeof(started) || started == 0) return 1;
  std::vector<CUdeviceptr> blocks;
  Request request = {};
  while (read(0, &request, sizeof(request)) == sizeof(request)) {
    const uint64_t answer = Obey(driver, request, &blocks);
    if (write(1, &answer, sizeof(answer)) != sizeof(answer)) return 1;
  }
  return 0;
}

// A process that has started the driver and does what the test asks.
class Member {
 public:
  explicit Member(const std::string& spec, const std::string& said = "") {
    std::array<int, 2> in = {};
    std::array<int, 2> out = {};
    if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) return;
    process_ = fork();
    if (process_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      if (!said.empty()) dup2(open(said.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600), 2);
      setenv("VRAMSTOW_SIMULATE", spec.c_str(), 1);
      setenv(kMember, "1", 1);
      execl("/proc/self/exe", "member", nullptr);
      _exit(1);
    }
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
    started_ = Read() == 1;
  }
  ~Member() {
    close(to_);
    close(from_);
    if (process_ > 0) waitpid(process_, nullptr, 0);
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  bool started() const { return started_; }
  void Send(Order order, uint64_t value = 0) const {
    const Request request = {order, value};
    EXPECT_EQ(static_cast<ssize_t>(sizeof(request)), write(to_, &request, sizeof(request)));
  }
  uint64_t Read() const {
    uint64_t answer = 0;
    const bool done = read(from_, &answer, sizeof(answer)) == sizeof(answer);
    return done ? answer : ~uint64_t{0};
  }
  uint64_t Ask(Order order, uint64_t value = 0) const {
    Send(order, value);
    return Read();
  }
  void Kill() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_ = -1;
  int to_ = -1;
  int from_ = -1;
  bool started_ = false;
};

class SharedFileTest : public ::testing::Test {
 protected:
  SharedFileTest() { remove(path_.c_str()); }
  ~SharedFileTest() override { remove(path_.c_str()); }

  // Returns what a process says that cannot use the file. Fails if it starts nevertheless.
  std::string Refusal(const std::string& spec) const {
    const std::string said = path_ + ".said";
    const Member member(spec, said);
    EXPECT_FALSE(member.started());
    char text[1024] = {};
    FILE* file = fopen(said.c_str(), "r");
    if (file == nullptr) return {};
    const size_t size = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    remove(said.c_str());
    return {text, size};
  }
  void WriteFile(const std::string& bytes) const {
    FILE* file = fopen(path_.c_str(), "w");
    ASSERT_NE(nullptr, file);
    fwrite(bytes.data(), 1, bytes.size(), file);
    fclose(file);
  }

  const std::string path_ =
      ::testing::TempDir() + "vramstow-shared-" + std::to_string(getpid()) + ".cards";
  const std::string spec_ = "a100,memory=1GiB,context=64MiB,clock=model,shared=" + path_;
};

TEST_F(SharedFileTest, ProcessesSeeEachOthersMemory) {
  const Member first(spec_);
  ASSERT_TRUE(first.started());
  EXPECT_EQ(static_cast<uint64_t>(kAlone), first.Ask(Order::kFreeMiB));
  const Member second(spec_);
  ASSERT_TRUE(second.started());
  EXPECT_EQ(0u, second.Ask(Order::kAllocateMiB, 512));
  EXPECT_EQ(static_cast<uint64_t>(kAlone - 64 - 512), first.Ask(Order::kFreeMiB));
  EXPECT_EQ(0u, second.Ask(Order::kFreeAll));
  EXPECT_EQ(static_cast<uint64_t>(kAlone - 64), first.Ask(Order::kFreeMiB));
  struct stat state = {};
  ASSERT_EQ(0, stat(path_.c_str(), &state));
  EXPECT_EQ(0600u, state.st_mode & 0777);
}

TEST_F(SharedFileTest, LimitHoldsForAllProcessesTogether) {
  const Member first(spec_);
  const Member second(spec_);
  EXPECT_EQ(0u, first.Ask(Order::kAllocateMiB, 512));
  EXPECT_EQ(uint64_t{CUDA_ERROR_OUT_OF_MEMORY}, second.Ask(Order::kAllocateMiB, 386));
  EXPECT_EQ(0u, second.Ask(Order::kAllocateMiB, 384)) << "all the rest";
  EXPECT_EQ(0u, first.Ask(Order::kFreeMiB));
}

TEST_F(SharedFileTest, KilledProcessGivesItsMemoryBackAtOnce) {
  const Member first(spec_);
  Member second(spec_);
  EXPECT_EQ(0u, second.Ask(Order::kAllocateMiB, 512));
  EXPECT_EQ(uint64_t{CUDA_ERROR_OUT_OF_MEMORY}, first.Ask(Order::kAllocateMiB, 900));
  second.Kill();
  EXPECT_EQ(0u, first.Ask(Order::kAllocateMiB, 900));
  EXPECT_EQ(static_cast<uint64_t>(kAlone - 900), first.Ask(Order::kFreeMiB));
}

TEST_F(SharedFileTest, EightProcessesThatAllocateAtRandomStayWithinTheCard) {
  std::vector<std::unique_ptr<Member>> members;
  for (int i = 0; i < 8; ++i) members.push_back(std::make_unique<Member>(spec_));
  for (uint64_t i = 0; i < members.size(); ++i) members[i]->Send(Order::kChurn, i + 1);
  for (const auto& member : members) EXPECT_EQ(0u, member->Read());
  EXPECT_EQ(static_cast<uint64_t>(kAlone - 7 * 64), members[0]->Ask(Order::kFreeMiB));
  members.clear();
  const Member last(spec_);
  EXPECT_EQ(static_cast<uint64_t>(kAlone), last.Ask(Order::kFreeMiB)) << "nothing is left in use";
}

TEST_F(SharedFileTest, FileThatIsNoTableIsRefusedInOneSentence) {
  WriteFile("a letter");
  const std::string said = Refusal(spec_);
  EXPECT_NE(std::string::npos, said.find("it is not a file of shared GPUs")) << said;
  EXPECT_EQ(said.size() - 1, said.find('\n')) << said;
}

TEST_F(SharedFileTest, FileOfAnotherVersionIsRefused) {
  { const Member member(spec_); }  // makes a file of the right size
  FILE* file = fopen(path_.c_str(), "r+");
  ASSERT_NE(nullptr, file);
  fputc('x', file);
  fclose(file);
  const std::string said = Refusal(spec_);
  EXPECT_NE(std::string::npos, said.find("of this version")) << said;
}

TEST_F(SharedFileTest, FileOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  { const Member member(spec_); }
  ASSERT_EQ(0, chown(path_.c_str(), 12345, 12345));
  const std::string said = Refusal(spec_);
  EXPECT_NE(std::string::npos, said.find("it belongs to another user")) << said;
}

TEST_F(SharedFileTest, OtherMemoryIsRefusedWhileAProcessUsesTheFile) {
  const std::string other = "a100,memory=2GiB,context=64MiB,shared=" + path_;
  {
    const Member member(spec_);
    ASSERT_TRUE(member.started());
    const std::string said = Refusal(other);
    EXPECT_NE(std::string::npos, said.find("another size of memory")) << said;
  }
  const Member member(other);
  EXPECT_EQ(2048u - 64, member.Ask(Order::kFreeMiB));
}

TEST_F(SharedFileTest, TurnGoesOnWhereThePreviousOneStopped) {
  constexpr uint64_t kSecond = 1'000'000'000;
  const Member first(spec_);
  const Member second(spec_);
  const uint64_t stopped = first.Ask(Order::kJoin, 5 * kSecond);
  EXPECT_EQ(5 * kSecond, stopped);
  EXPECT_LT(second.Ask(Order::kTime), kSecond) << "each process has a clock of its own";
  EXPECT_EQ(stopped, second.Ask(Order::kLatest));
  EXPECT_EQ(stopped, second.Ask(Order::kJoin, stopped));
  EXPECT_EQ(stopped, second.Ask(Order::kJoin, kSecond)) << "a clock never goes back";
  EXPECT_EQ(0u, second.Ask(Order::kAllocateMiB, 2));
  const uint64_t later = second.Ask(Order::kTime);
  EXPECT_GT(later, stopped);
  EXPECT_EQ(later, first.Ask(Order::kLatest));
}

TEST_F(SharedFileTest, TimeOfADeadProcessDoesNotCount) {
  const Member first(spec_);
  Member second(spec_);
  EXPECT_EQ(uint64_t{5'000'000'000}, second.Ask(Order::kJoin, 5'000'000'000));
  second.Kill();
  EXPECT_LT(first.Ask(Order::kLatest), 1'000'000'000u);
}

}  // namespace
}  // namespace vramstow::simulator

int main(int count, char** arguments) {
  if (getenv(vramstow::simulator::kMember) != nullptr) return vramstow::simulator::RunMember();
  ::testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
