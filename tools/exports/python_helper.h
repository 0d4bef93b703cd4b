// PythonHelper: a script of ours that a Python with some package runs, and that reads what we hand
// over on its standard input.
//
// Idea: what a package of Python does well is not written again here. VRAMSTOW_PYTHON names the
// Python; else it is `python3`. A helper says by its exit status what went wrong: kNoPackage, or
// kErrnoBase and the errno of what could not be written; all else it says on stderr itself.
//
// Ownership: the pipe and the process, until Finish or the end. Threads: one at a time; SIGPIPE is
// ignored meanwhile. Errors: one sentence: kFailedPrecondition where Python, the script or the
// package is not there, kUnavailable where the target cannot be written. Units: none.
#ifndef VRAMSTOW_TOOLS_EXPORTS_PYTHON_HELPER_H_
#define VRAMSTOW_TOOLS_EXPORTS_PYTHON_HELPER_H_

#include <signal.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vramstow {

struct PythonScript {
  std::string file;
  std::vector<std::string> arguments;
  std::string package;  // "pyarrow"
  std::string what;     // "Parquet": what it writes with that
  std::string target;   // where it writes, for sentences
};

class PythonHelper {
 public:
  static constexpr int kNoPackage = 3;
  static constexpr int kErrnoBase = 130;

  static absl::StatusOr<std::unique_ptr<PythonHelper>> Start(const PythonScript& script);
  ~PythonHelper();
  PythonHelper(const PythonHelper&) = delete;
  PythonHelper& operator=(const PythonHelper&) = delete;

  // Where it reads.
  int input() const { return input_; }
  // Ends its input and waits for it.
  absl::Status Finish();

 private:
  explicit PythonHelper(const PythonScript& script);
  // 0 or an errno.
  int Spawn();
  void Wait(int* status);

  const PythonScript script_;
  const std::string python_;
  const sighandler_t pipe_handler_;  // a helper that ends early is told by its exit status
  pid_t child_ = 0;
  int input_ = -1;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_PYTHON_HELPER_H_
