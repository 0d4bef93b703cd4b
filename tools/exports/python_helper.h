// PythonHelper runs one of our scripts in a Python that has a certain package; the script reads our
// data from its standard input.
//
// Idea: this uses Python packages for what they do well. VRAMSTOW_PYTHON names the Python;
// otherwise it is `python3`. The exit status of a helper says what went wrong: kNoPackage, or
// kErrnoBase plus the errno of a failed write; the helper prints all other errors on stderr itself.
//
// Ownership: owns the pipe and the process, until Finish or its destruction. Threads: one at a
// time; SIGPIPE is ignored meanwhile. Errors: one sentence: kFailedPrecondition if Python, the
// script or the package is missing, kUnavailable if the target cannot be written. Units: none.
#ifndef VRAMSTOW_TOOLS_EXPORTS_PYTHON_HELPER_H_
#define VRAMSTOW_TOOLS_EXPORTS_PYTHON_HELPER_H_

#include <signal.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/base/child_ends.h"

namespace vramstow {

struct PythonScript {
  std::string file;
  std::vector<std::string> arguments;
  std::string package;  // "pyarrow"
  std::string what;     // what it writes, such as "Parquet"
  std::string target;   // the target that it writes, for messages
};

class PythonHelper {
 public:
  static constexpr int kNoPackage = 3;
  static constexpr int kErrnoBase = 130;

  static absl::StatusOr<std::unique_ptr<PythonHelper>> Start(const PythonScript& script);
  ~PythonHelper();
  PythonHelper(const PythonHelper&) = delete;
  PythonHelper& operator=(const PythonHelper&) = delete;

  // The descriptor that the helper reads from.
  int input() const { return input_; }
  // Closes the helper's input and waits for the helper.
  absl::Status Finish();

 private:
  explicit PythonHelper(const PythonScript& script);
  // Starts the helper. Returns 0, or the errno of the failure.
  int Spawn();
  void Wait(int* status);

  const PythonScript script_;
  const std::string python_;
  const ChildEnds child_ends_;
  const sighandler_t pipe_handler_;  // a helper that ends early reports it by its exit status
  pid_t child_ = 0;
  int input_ = -1;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_PYTHON_HELPER_H_
