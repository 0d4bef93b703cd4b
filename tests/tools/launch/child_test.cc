// Tests which signals count as a request to end this process after its command has ended.
#include "tools/launch/child.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "tools/launch/environment.h"

namespace vramstow {
namespace {

// Starts a process that, once it gets SIGUSR1, sends SIGTERM to this process, and again when
// `command` has ended.
pid_t StartSender(const sigset_t& start) {
  const pid_t sender = fork();
  if (sender != 0) return sender;
  siginfo_t info = {};
  sigwaitinfo(&start, &info);
  kill(getppid(), SIGTERM);
  while (kill(info.si_pid, 0) == 0) usleep(1000);
  kill(getppid(), SIGTERM);
  _exit(0);
}

TEST(Child, ASignalThatItsSenderRepeatsIsTheSameRequestAndThatOfAnotherIsNot) {
  sigset_t start;
  sigset_t before;
  sigemptyset(&start);
  sigaddset(&start, SIGUSR1);
  sigprocmask(SIG_BLOCK, &start, &before);
  const pid_t sender = StartSender(start);
  std::vector<Environment> environments(1);
  const std::vector<ChildEnd> ends = RunChildren(
      {"/bin/sh", "-c", "kill -USR1 " + std::to_string(sender) + "; exec sleep 60"}, &environments);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].how, ChildEnd::How::kKilled);
  EXPECT_EQ(ends[0].value, SIGTERM);
  EXPECT_EQ(waitpid(sender, nullptr, 0), sender);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGTERM), 1);
  EXPECT_FALSE(IsAskedToEnd());
  kill(getpid(), SIGTERM);
  EXPECT_TRUE(IsAskedToEnd());
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace vramstow
