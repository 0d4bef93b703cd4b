// Tests what an open trace says about its process, here and on other hosts.
#include "tools/top/running.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vramstow {
namespace {

TopProcess OpenTraceOf(pid_t process) {
  TopProcess top;
  top.process = process;
  return top;
}

TEST(Running, AnOpenTraceOfALiveProcessRunsAndThatOfADeadOneWasKilled) {
  EXPECT_EQ(StateOf(OpenTraceOf(getpid())), TopState::kRuns);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(StateOf(OpenTraceOf(child)), TopState::kKilled);
}

TEST(Running, NothingIsSaidOfAProcessOfAnotherHostOrContainer) {
  for (const char* key : {"process.host", "process.pid_space"}) {
    TopProcess away = OpenTraceOf(getpid());
    away.facts.trace_metadata[key] = "1";
    EXPECT_EQ(StateOf(away), TopState::kElsewhere) << key;
    away.facts.report.closed = true;
    EXPECT_EQ(StateOf(away), TopState::kEnded) << key;
  }
}

}  // namespace
}  // namespace vramstow
