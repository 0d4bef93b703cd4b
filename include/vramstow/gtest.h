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
// Idea: the body is a range in the process's trace. When it has ended, `vramstow check --within`
// examines what was allocated and freed in it, on any thread, and prints one sentence for each
// assertion that does not hold. Assertions are those of `vramstow check`. Memory that was allocated
// before the body does not count.
//
// The program must run under `vramstow run`, as vramstow_add_trace_test() arranges it (a simulated
// run needs no GPU); otherwise the test is skipped with a message. The program `vramstow` is
// searched on the path, or taken from VRAMSTOW_PROGRAM.
//
// Ownership: copies texts. Threads: the test's thread. Errors: test failures. Units: as in the
// assertions.
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
  // Adds an assertion that is checked when the body has ended. May be called anywhere in the body.
  void ExpectMemory(std::string assertion) { assertions_.push_back(std::move(assertion)); }

 protected:
  void SetUp() override {
    if (vramstow_version() == nullptr) {
      GTEST_SKIP() << "Memory is not recorded: run this program under `vramstow run -- …`.";
    }
    const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
    name_ = std::string(test->test_suite_name()) + "." + test->name();
    // If CUDA was not used before the body, the trace begins in the body, and no range is needed.
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
    // LD_PRELOAD is removed, because the program that checks must not be recorded itself.
    std::string command = "env -u LD_PRELOAD " + Quoted(program == nullptr ? "vramstow" : program) +
                          " check " + Quoted(trace);
    if (is_range_) command += " --within " + Quoted(name_);
    for (const std::string& assertion : assertions_) command += " --assert " + Quoted(assertion);
    std::string output;
    const int status = Run(command + " 2>&1", &output);
    if (status != 0) ADD_FAILURE() << output;
  }

 private:
  static std::string Quoted(const std::string& text) {
    std::string quoted = "'";
    for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
  }

  // Runs a command. Returns its exit status and appends its output to *told.
  static int Run(const std::string& command, std::string* output) {
    FILE* pipe = popen(command.c_str(), "re");
    if (pipe == nullptr) {
      *output = "vramstow check could not be started.";
      return -1;
    }
    char bytes[4096];
    for (size_t count; (count = fread(bytes, 1, sizeof bytes, pipe)) > 0;) {
      output->append(bytes, count);
    }
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // Returns the path of this process's trace, SCRIPT-MMDD-HHMM-PID.stow, in the folder that
  // `vramstow run` set for traces.
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
