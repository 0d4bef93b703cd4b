// FindPython: finds the Python interpreter that the user's shell would start, and the PyTorch that
// this interpreter would import.
//
// Idea: the interpreter is asked where it would find the package; nothing is imported.
//
// Ownership: the results are copies. Threads: used by one thread at a time. Errors: one sentence.
// Units: milliseconds.
#ifndef VRAMSTOW_TOOLS_LAUNCH_PYTHON_H_
#define VRAMSTOW_TOOLS_LAUNCH_PYTHON_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace vramstow {

struct PythonHere {
  std::string program;  // as sys.executable has it
  std::string release;  // "3.11.2"
  // The folder and the version ("2.15.0+cu132") of the package PyTorch. Both are empty if it is not
  // installed.
  std::string torch_folder;
  std::string torch_version;
};

// Returns the interpreter `python` if it is on the path and answers in time, otherwise `python3`.
absl::StatusOr<PythonHere> FindPython(uint64_t most_ms);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_PYTHON_H_
