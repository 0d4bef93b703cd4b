// A GoogleTest fixture that records what the body of a test does with device memory, and asserts on
// the facts.
//
//   class Training : public vramstow::MemoryTest {};
//   TEST_F(Training, StepFitsAndLeavesNothing) {
//     ExpectMemory("peak_allocated <= 64MiB && out_of_memory == 0");
//     ExpectMemory("live_at_end == 0");
//     Step();
//   }
//
// Idea: the body is a range in the process's trace; when it has ended, `vramstow check --within`
// looks at what was allocated and freed in it, on whatever threads, and says in one sentence what
// does not hold. Assertions are those of `vramstow check`. Memory that was there before counts for
// nothing.
//
// The program has to run under `vramstow run`, as vramstow_add_trace_test() has it (a rehearsal
// needs no card); without that the test says that it skips. The program `vramstow` is looked for on
// the path, or where VRAMSTOW_PROGRAM says.
//
// Ownership: copies texts. Threads: the test's. Errors: test failures. Units: as in the assertions.
#ifndef VRAMSTOW_GTEST_H_
#define VRAMSTOW_GTEST_H_

#include <dirent.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vramstow/vramstow.h>

#include <string>
#include <utility>
#include <vector>

namespace vramstow {

class MemoryTest : public ::testing::Test {
 public:
  // What is to hold when the body has ended. May be called anywhere in it.
  void ExpectMemory(std::string assertion) { assertions_.push_back(std::move(assertion)); }

 protected:
  void SetUp() override {
    if (vramstow_version() == nullptr) {
      GTEST_SKIP() << "Memory is not recorded: run this program under `vramstow run -- …`.";
    }
    const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
    name_ = std::string(test->test_suite_name()) + "." + test->name();
    // Where CUDA was not used before, the trace begins in the body.
    is_range_ = vramstow_range_push(name_.c_str()) == VRAMSTOW_OK;
  }

  void TearDown() override {
    if (vramstow_version() == nullptr) return;
    if (is_range_) vramstow_range_pop();
    if (assertions_.empty()) return;
    const std::string trace = TraceOfProcess();
    if (trace.empty()) {
      ADD_FAILURE() << "There is no trace of this process: was device memory used at all?";
      return;
    }
    const char* program = getenv("VRAMSTOW_PROGRAM");
    // What is looked at with must not be recorded itself.
    std::string command = "env -u LD_PRELOAD " + Quoted(program == nullptr ? "vramstow" : program) +
                          " check " + Quoted(trace);
    if (is_range_) command += " --within " + Quoted(name_);
    for (const std::string& assertion : assertions_) command += " --assert " + Quoted(assertion);
    std::string told;
    const int status = Run(command + " 2>&1", &told);
    if (status != 0) ADD_FAILURE() << told;
  }

 private:
  static std::string Quoted(const std::string& text) {
    std::string quoted = "'";
    for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
  }

  // The command's exit status, and what it said.
  static int Run(const std::string& command, std::string* told) {
    FILE* pipe = popen(command.c_str(), "re");
    if (pipe == nullptr) {
      *told = "vramstow check could not be started.";
      return -1;
    }
    char bytes[4096];
    for (size_t count; (count = fread(bytes, 1, sizeof bytes, pipe)) > 0;) {
      told->append(bytes, count);
    }
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // SCRIPT-MMDD-HHMM-PID.stow, where vramstow run said that traces go.
  static std::string TraceOfProcess() {
    const char* set = getenv("VRAMSTOW_TRACE_DIR");
    const std::string folder = set == nullptr || *set == '\0' ? "." : set;
    const std::string end = "-" + std::to_string(getpid()) + ".stow";
    DIR* directory = opendir(folder.c_str());
    if (directory == nullptr) return "";
    std::string found;
    while (const dirent* entry = readdir(directory)) {
      const std::string name = entry->d_name;
      if (name.size() > end.size() &&
          name.compare(name.size() - end.size(), end.size(), end) == 0) {
        found = folder + "/" + name;
      }
    }
    closedir(directory);
    return found;
  }

  std::string name_;
  bool is_range_ = false;
  std::vector<std::string> assertions_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_GTEST_H_
