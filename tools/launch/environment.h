// Environment: what a command is given beside its arguments.
//
// Ownership: copies. Threads: one at a time. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_ENVIRONMENT_H_
#define VRAMSTOW_TOOLS_LAUNCH_ENVIRONMENT_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/launch/installation.h"

namespace vramstow {

class Environment {
 public:
  // The program's own.
  Environment();
  explicit Environment(std::vector<std::string> entries) : entries_(std::move(entries)) {}

  // Null where it is not set. Valid until the next change.
  const char* Get(std::string_view name) const;
  // Other variables stay as and where they are, also odd ones.
  void Set(std::string_view name, std::string_view value);

  const std::vector<std::string>& entries() const { return entries_; }
  // As exec takes it. Valid until the next change.
  std::vector<char*> Pointers();

 private:
  std::vector<std::string> entries_;
};

// LD_PRELOAD, and in a rehearsal LD_LIBRARY_PATH and TRITON_LIBCUDA_PATH. What is there already is
// kept and comes first in LD_PRELOAD, last in LD_LIBRARY_PATH; nothing is entered twice.
void AddLibraries(const Installation& installation, bool rehearsal, Environment* environment);

// Preloads what hears of other clients of CUPTI, before all else.
void AddCuptiWatch(const Installation& installation, Environment* environment);

// NVTX_INJECTION64_PATH, by which NVTX finds who wants to hear of its ranges; a tool that is named
// there already keeps its place.
void AddNvtx(const Installation& installation, Environment* environment);
// PYTHONPATH with the start-up hook in front, and where the program lies that builds adapters.
void AddPythonHook(const Installation& installation, Environment* environment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_ENVIRONMENT_H_
