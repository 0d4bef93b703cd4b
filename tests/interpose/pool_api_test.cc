// Tests the C API and the control socket, with C programs and with well-behaved and ill-behaved
// clients.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/interpose/support.h"
#include "tracer/format/reader.h"

namespace vramstow {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class PoolApi : public Interposed {
 protected:
  std::map<std::string, std::string> Variables() const {
    return {{"VRAMSTOW_POOL", "on"},
            {"VRAMSTOW_CHECK", "1"},
            {"VRAMSTOW_DECAY", "0"},
            {"VRAMSTOW_CONTROL_DIR", folder()},
            {"VRAMSTOW_SIMULATE", "h200,memory=1GiB"},
            {"LD_LIBRARY_PATH", VRAMSTOW_TEST_SIMULATOR ":" + kPrograms}};
  }
};

TEST_F(PoolApi, CEmptiesTheCacheAndReadsTheNumbers) {
  const Outcome outcome = Run({"pool_application", "cache"}, Variables());
  EXPECT_EQ(outcome.status, 0) << outcome.error;
}

TEST_F(PoolApi, CSetsALimitThatTheMemoryInfoKnows) {
  const Outcome outcome = Run({"pool_application", "limit"}, Variables());
  EXPECT_EQ(outcome.status, 0) << outcome.error;
}

TEST_F(PoolApi, HooksMakeRoomUnderPressureAndHearOfWhatWasGivenBack) {
  const Outcome outcome = Run({"pool_application", "hooks"}, Variables());
  EXPECT_EQ(outcome.status, 0) << outcome.error;
}

TEST_F(PoolApi, AProgramThatClosesAllDescriptorsCostsNoProcessorTime) {
  auto variables = Variables();
  variables["VRAMSTOW_METRICS"] = "unix:" + folder() + "/metrics.sock";
  const Outcome outcome = Run({"pool_application", "close"}, variables);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
}

TEST_F(PoolApi, WithoutThePreloadEveryFunctionSaysSo) {
  const Outcome outcome = Run({"pool_application", "none"}, Variables(), "");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
}

TEST_F(PoolApi, WithThePoolOffItIsNotActive) {
  auto variables = Variables();
  variables["VRAMSTOW_POOL"] = "off";
  const Outcome outcome = Run({"pool_application", "off"}, variables);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
}

// --- The control socket -------------------------------------------------------------------------

class Control : public PoolApi {
 protected:
  void SetUp() override {
    PoolApi::SetUp();
    StartProcess();
  }

  void StartProcess() {
    int in[2];
    int out[2];
    ASSERT_EQ(pipe2(in, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(out, O_CLOEXEC), 0);
    child_ = fork();
    if (child_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      if (chdir(folder().c_str()) != 0) _exit(98);
      for (const auto& [name, value] : Variables()) setenv(name.c_str(), value.c_str(), 1);
      setenv("LD_PRELOAD", kShim.c_str(), 1);
      setenv("ASAN_OPTIONS", kAsanOptions, 1);
      setenv("TSAN_OPTIONS", kTsanOptions, 1);
      const std::string program = kPrograms + "/pool_application";
      execl(program.c_str(), program.c_str(), "wait", nullptr);
      _exit(97);
    }
    close(in[0]);
    close(out[1]);
    end_ = in[1];
    char line[32] = {};
    ASSERT_GT(read(out[0], line, sizeof line - 1), 0);
    ASSERT_EQ(std::atoi(line), child_);
    close(out[0]);
  }

  void TearDown() override {
    EndProcess();
    PoolApi::TearDown();
  }

  // Ends the process and returns its exit status.
  int EndProcess() {
    if (child_ <= 0) return -1;
    close(end_);
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string Socket() const { return folder() + "/" + std::to_string(child_) + ".sock"; }

  int Connect() const {
    const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s", Socket().c_str());
    EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return client;
  }

  // Reads until the other side closes the connection.
  static std::string ReadAll(int client) {
    std::string answer;
    char buffer[4096];
    for (ssize_t got = 0; (got = recv(client, buffer, sizeof buffer, 0)) > 0;) {
      answer.append(buffer, static_cast<size_t>(got));
    }
    close(client);
    return answer;
  }

  std::string Ask(const std::string& request) const {
    const int client = Connect();
    send(client, request.data(), request.size(), MSG_NOSIGNAL);
    return ReadAll(client);
  }

  Outcome Ctl(const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {VRAMSTOW_TEST_PROGRAM, "ctl"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return Run(command, {{"VRAMSTOW_CONTROL_DIR", folder()}}, "");
  }

  pid_t child_ = 0;
  int end_ = -1;
};

TEST_F(Control, TheSocketIsTheUsersOwnAndGoesWithTheProcess) {
  struct stat status;
  ASSERT_EQ(lstat(Socket().c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const std::string path = Socket();
  EXPECT_EQ(EndProcess(), 0);
  EXPECT_NE(lstat(path.c_str(), &status), 0);
  EXPECT_EQ(OnlyTrace().facts.at("control.path"), path);
}

TEST_F(Control, SocketsOfKilledProcessesAreRemovedByTheNextProcess) {
  const std::string left = Socket();
  const std::string other = folder() + "/notes.sock";
  std::ofstream(other).close();
  kill(child_, SIGKILL);
  EXPECT_EQ(EndProcess(), 128 + SIGKILL);
  ASSERT_TRUE(std::filesystem::exists(left));
  StartProcess();
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_TRUE(std::filesystem::exists(Socket()));
}

TEST_F(Control, StatsEmptyCacheAndLimit) {
  const std::string pid = std::to_string(child_);
  Outcome outcome = Ctl({pid, "stats"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("8.00 MiB in 1 blocks"),
                                 HasSubstr("reserved   72.0 MiB"), HasSubstr("device 0")));
  outcome = Ctl({pid, "empty-cache"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.out, StartsWith("gave 64.0 MiB back in "));
  outcome = Ctl({pid, "limit", "100MiB"});
  EXPECT_EQ(outcome.out, "limit 100 MiB\n");
  outcome = Ctl({"--json", pid, "stats", "0"});
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\"limit_bytes\":104857600"),
                                 HasSubstr("\"reserved_bytes\":8388608")));
  EXPECT_EQ(Ctl({pid, "limit", "none"}).out, "no limit\n");
}

TEST_F(Control, DumpWritesWhatTheTraceHoldsNow) {
  const std::string pid = std::to_string(child_);
  for (const char* const end : {"-dump.stow\n", "-dump-2.stow\n"}) {
    const Outcome outcome = Ctl({pid, "dump"});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.out, AllOf(StartsWith("wrote /"), HasSubstr(pid + end)));
    const std::string copy = outcome.out.substr(6, outcome.out.size() - 7);
    TraceReader reader;
    ASSERT_EQ(reader.Open(copy.c_str()), ReadError::kOk) << copy;
    EXPECT_EQ(reader.facts().at("control.path"), Socket());
    Event event;
    bool allocated = false;
    while (reader.Next(&event)) allocated |= event.kind == EventKind::kAllocate;
    EXPECT_TRUE(allocated);
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().string().find("-dump") != std::string::npos) {
      std::filesystem::remove(entry.path());
    }
  }
}

TEST_F(Control, WhatIsWrongGetsOneSentence) {
  const std::string pid = std::to_string(child_);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{pid, "explode"},
                                                {pid, "limit"},
                                                {pid, "limit", "much"},
                                                {pid, "stats", "x"},
                                                {pid, "dump", "x"},
                                                {pid, "empty-cache", "7"},
                                                {pid, "limit", "1GiB", "7"}}) {
    const Outcome outcome = Ctl(wrong);
    EXPECT_EQ(outcome.status, 1) << wrong[1];
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
  }
  // The answer of a process without a pool says how to get a pool, and which function helps without
  // one.
  EXPECT_THAT(Ctl({pid, "empty-cache", "7"}).error,
              AllOf(HasSubstr("vramstow run --pool=on"), HasSubstr("torch.cuda.empty_cache()")));
  EXPECT_THAT(Ctl({pid, "limit", "1GiB", "7"}).error,
              AllOf(HasSubstr("vramstow run --pool=on"),
                    HasSubstr("torch.cuda.set_per_process_memory_fraction()")));
}

TEST_F(Control, NobodyThereIsToldApartFromAProcessWithoutASocketAndADeadOnesLeftover) {
  Outcome outcome = Ctl({std::to_string(getpid()), "stats"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.error, HasSubstr("has no control socket"));
  const std::string path = Socket();
  const std::string pid = std::to_string(child_);
  kill(child_, SIGKILL);
  EXPECT_EQ(EndProcess(), 128 + SIGKILL);
  outcome = Ctl({pid, "stats"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.error, HasSubstr("left over from a process that has ended"));
  std::filesystem::remove(path);
  EXPECT_THAT(Ctl({pid, "stats"}).error, HasSubstr("there is no process"));
}

TEST_F(Control, AnotherUserGetsNoAnswerEvenThroughASocketThatIsOpenToAll) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  constexpr uid_t kOther = 65534;
  ASSERT_EQ(chmod(folder().c_str(), 0755), 0);
  ASSERT_EQ(chmod(Socket().c_str(), 0666), 0);
  ASSERT_EQ(seteuid(kOther), 0);
  const int client = Connect();
  ASSERT_EQ(seteuid(0), 0);
  send(client, "VRAMSTOW/1 stats\n", 17, MSG_NOSIGNAL);
  EXPECT_THAT(ReadAll(client), IsEmpty());
  EXPECT_THAT(Ask("VRAMSTOW/1 stats\n"), StartsWith("VRAMSTOW/1 OK\n{"));
}

TEST_F(Control, HostileClientsAreDroppedAndOthersServed) {
  std::vector<int> open;
  // The clients are: too many that send nothing, garbage, a line without an end, half a request, a
  // hang-up.
  for (int i = 0; i < 30; ++i) open.push_back(Connect());
  const std::string garbage(5000, '\xff');
  for (const int client : open) send(client, garbage.data(), garbage.size(), MSG_NOSIGNAL);
  for (const int client : open) close(client);
  EXPECT_THAT(Ask("GET / HTTP/1.0\r\n\r\n"), StartsWith("VRAMSTOW/1 ERROR "));
  EXPECT_THAT(Ask(std::string("VRAMSTOW/1 st\0ats\n", 18)), StartsWith("VRAMSTOW/1 ERROR "));
  EXPECT_THAT(Ask("VRAMSTOW/2 stats\n"), StartsWith("VRAMSTOW/1 ERROR "));
  EXPECT_THAT(Ask("VRAMSTOW/1 limit 99999999999999999999999 0\n"), StartsWith("VRAMSTOW/1 ERROR"));
  EXPECT_THAT(Ask("VRAMSTOW/1 " + std::string(400, 'x') + "\n"), StartsWith("VRAMSTOW/1 ERROR"));
  for (int i = 0; i < 50; ++i) {
    const int client = Connect();
    send(client, "VRAMSTOW/1 stats\n", 17, MSG_NOSIGNAL);
    close(client);  // without reading the answer
  }
  const int silent = Connect();
  EXPECT_THAT(Ask("VRAMSTOW/1 stats\n"), StartsWith("VRAMSTOW/1 OK\n{"));
  // A client that sends nothing is disconnected in the end.
  EXPECT_THAT(ReadAll(silent), IsEmpty());
  EXPECT_EQ(EndProcess(), 0);
}

}  // namespace
}  // namespace vramstow
