// Python: the interpreter that this shell would start, and the PyTorch that it would import.
//
// Idea: the interpreter is asked where it would find the package; nothing is imported.
//
// Ownership: copies. Threads: one at a time. Errors: one sentence. Units: milliseconds.
#ifndef VRAMSTOW_TOOLS_LAUNCH_PYTHON_H_
#define VRAMSTOW_TOOLS_LAUNCH_PYTHON_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace vramstow {

struct PythonHere {
  std::string program;  // as sys.executable has it
  std::string release;  // "3.11.2"
  // Empty where it has no PyTorch: the folder of the package, and its version ("2.15.0+cu132").
  std::string torch_folder;
  std::string torch_version;
};

// The first of python and python3 that there is on the path and that answers in time.
absl::StatusOr<PythonHere> FindPython(uint64_t most_ms);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_PYTHON_H_
