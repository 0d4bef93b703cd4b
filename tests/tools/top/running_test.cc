// Tests what an open trace says about its process, here and on other hosts.
#include "tools/top/running.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

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

TEST(Running, TheNameOfATraceNamesTheScript) {
  Facts facts;
  facts.trace_metadata = {{"process.program", "/usr/bin/python3"}, {"process.pid", "9527"}};
  EXPECT_EQ(ProgramOf(facts, "a/train-1201-0031-9527.stow"), "train");
  EXPECT_EQ(ProgramOf(facts, "train-1201-0031-9527-2.stow"), "train") << "its second trace";
  EXPECT_EQ(ProgramOf(facts, "train-1201-0031-rank2-9527-oom-3.stow"), "train");
  EXPECT_EQ(ProgramOf(facts, "renamed.stow"), "python3");
}

TEST(Running, AProgramThatWasReplacedInItsProcessHasEnded) {
  std::vector<TopProcess> processes = {OpenTraceOf(7), OpenTraceOf(7), OpenTraceOf(7)};
  uint64_t begin = 1;
  for (TopProcess& process : processes) {
    process.state = TopState::kKilled;
    process.facts.start_unix_ns = begin++;
    process.facts.trace_metadata = {{"process.pid", "7"}, {"process.host", "here"}};
    process.facts.trace_metadata["process.start_time"] = "1000";
  }
  processes[0].facts.trace_metadata["process.start_time"] = "1000000000";  // another process 7
  EndReplacedPrograms(&processes);
  EXPECT_EQ(processes[0].state, TopState::kKilled);
  EXPECT_EQ(processes[1].state, TopState::kEnded);
  EXPECT_EQ(processes[2].state, TopState::kKilled);
}

TEST(Running, ProcessesOfTwoContainersMayHaveTheSameId) {
  std::vector<TopProcess> processes = {OpenTraceOf(1), OpenTraceOf(1), OpenTraceOf(1)};
  for (TopProcess& process : processes) process.state = TopState::kRuns;
  processes[1].facts.trace_metadata["process.pid_space"] = "1";
  LeaveNewest(&processes);
  EXPECT_EQ(processes[1].state, TopState::kRuns);
  EXPECT_NE(processes[0].state, processes[2].state);
}

}  // namespace
}  // namespace vramstow
