// Environment: the environment variables that a command gets.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_ENVIRONMENT_H_
#define VRAMSTOW_TOOLS_LAUNCH_ENVIRONMENT_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/launch/installation.h"

namespace vramstow {

class Environment {
 public:
  // Copies the environment of this program.
  Environment();
  explicit Environment(std::vector<std::string> entries) : entries_(std::move(entries)) {}

  // Returns the value of the variable, or null if it is not set. The pointer is valid until the
  // next change.
  const char* Get(std::string_view name) const;
  // Sets a variable. All other entries stay unchanged and in order, even those that are malformed.
  void Set(std::string_view name, std::string_view value);

  const std::vector<std::string>& entries() const { return entries_; }
  // Returns the variables in the form that exec expects. Valid until the next change.
  std::vector<char*> Pointers();

 private:
  std::vector<std::string> entries_;
};

// Sets LD_PRELOAD and, for a simulated run, LD_LIBRARY_PATH and TRITON_LIBCUDA_PATH. Existing
// entries remain: they come first in LD_PRELOAD, and last in LD_LIBRARY_PATH. No library is entered
// twice.
void AddLibraries(const Installation& installation, bool rehearsal, Environment* environment);

// Puts the library that detects other clients of CUPTI before all other preloaded libraries.
void AddCuptiWatch(const Installation& installation, Environment* environment);

// Sets NVTX_INJECTION64_PATH to the library that receives NVTX's ranges. If the variable already
// names a tool, it is not changed.
void AddNvtx(const Installation& installation, Environment* environment);
// Puts the folder of the start-up hook first on PYTHONPATH, and sets the path of the program that
// builds adapters.
void AddPythonHook(const Installation& installation, Environment* environment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_ENVIRONMENT_H_
