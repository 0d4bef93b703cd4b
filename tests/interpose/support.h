// A fixture for the tests of the interposer: it runs a program under the preload with the fake
// driver in place of libcuda.so.1, and reads the results.
#ifndef VRAMSTOW_TESTS_INTERPOSE_SUPPORT_H_
#define VRAMSTOW_TESTS_INTERPOSE_SUPPORT_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/event.h"

namespace vramstow {

// Folders of the build, set by CMake.
inline const std::string kLibraries = VRAMSTOW_TEST_LIBRARIES;  // libvramstow.so and the core
inline const std::string kPrograms = VRAMSTOW_TEST_PROGRAMS;    // the programs under test
inline const std::string kDriverFolder = VRAMSTOW_TEST_PROGRAMS "/driver";
inline const std::string kShim = kLibraries + "/libvramstow.so";
// The folder of the fake driver whose symbols all have a version, for look-ups by dlvsym.
inline const std::string kVersionedDriverFolder = VRAMSTOW_TEST_PROGRAMS "/versioned_driver";

// True if the programs are built with sanitizers, which refuse RTLD_DEEPBIND and dlmopen.
inline const bool kIsSanitized = !std::string(VRAMSTOW_TEST_SANITIZE).empty();

// ASAN_OPTIONS of every program: in a build with a sanitizer, the sanitizer's library is not loaded
// first.
inline constexpr char kAsanOptions[] = "verify_asan_link_order=0:detect_leaks=0";
// TSAN_OPTIONS of every program. A forked child may begin its own trace, which starts a thread.
// ThreadSanitizer ends a child that does so, because another thread of the parent may have held a
// lock at the fork; the child abandons all of the parent's state (runtime/process.h).
inline constexpr char kTsanOptions[] = "die_after_fork=0";

// An event with the names that its numbers stand for.
struct NamedEvent : Event {
  std::string call_name;
  std::string library_file;  // the last part of the path
};

struct ReadTrace {
  std::string file;
  std::map<std::string, std::string> facts;
  std::vector<NamedEvent> events;
  bool closed = false;
};

struct LoggedCall {
  std::string symbol;
  int result = 0;
  uint64_t address = 0;
  uint64_t bytes = 0;
};

// How a program ended. `status` is the exit status, or 128 + the signal.
struct Outcome {
  int status = -1;
  std::string out;
  std::string error;
};

// A fixture with one folder for each test, which contains all files of a run.
class Interposed : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Runs a program (a path, or the name of one of kPrograms) in the test's folder, with `preload`
  // as LD_PRELOAD and the fake driver found first. `environment` is added; an empty value removes a
  // variable.
  Outcome Run(const std::vector<std::string>& command,
              const std::map<std::string, std::string>& environment = {},
              const std::string& preload = kShim);

  // Returns all traces in the folder, in the order of their names.
  std::vector<ReadTrace> Traces() const;
  // Returns the only trace; the test fails unless there is exactly one.
  ReadTrace OnlyTrace() const;

  // Returns the calls that reached the fake driver.
  std::vector<LoggedCall> CallLog() const;

  const std::string& folder() const { return folder_; }
  // Returns the files in the folder, without the call log.
  std::vector<std::string> Files() const;

 private:
  std::string folder_;
};

// Returns the events of a kind.
std::vector<NamedEvent> OfKind(const ReadTrace& trace, EventKind kind);

// Returns the sizes of the successful allocations, in order.
std::vector<uint64_t> AllocatedSizes(const ReadTrace& trace);

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_INTERPOSE_SUPPORT_H_
