// Settings: how a job runs, from the flags and, for what no flag says, from the environment.
//
// Ownership: Settings owns its texts. Threads: one at a time. Errors: one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_JOBS_SETTINGS_H_
#define VRAMSTOW_TOOLS_JOBS_SETTINGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vramstow {

// What flags set: environment variable → value. An error says which argument is wrong.
using FlagValues = std::map<std::string, std::string>;

// Returns the flags as a user types them ("--pool=on"), in the order of the table of options.
std::vector<std::string> TypedFlags(const FlagValues& flags);

// Switches the pool on where a flag needs it and nobody, neither flag nor variable, said a word
// about it.
void ImplyPool(FlagValues* flags);

struct Settings {
  bool trace = true;
  std::string trace_directory;
  std::string simulate;  // empty: no rehearsal
  bool nvtx = false;
  bool cupti = false;
  bool offload = false;
  bool tensors = false;   // the pool serves a framework's tensors, where it can
  bool observed = false;  // an observer records the tensors of the framework's own allocator
  bool quiet;             // no summary, no notes
};

// Reads flags and, for what they do not set, the environment. Errors name the flag where a flag set
// the value, the variable otherwise.
absl::StatusOr<Settings> ReadSettings(const FlagValues& flags);

// Variables of the environment that promise something about memory that only the pool keeps, where
// the pool is off: a sentence for each.
std::vector<std::string> VariablesWithoutPool(const FlagValues& flags);

// Variables of the environment (NAME=VALUE) that look like vramstow's and are none: a sentence for
// each that is near one, with what was meant.
std::vector<std::string> MisspeltVariables(const std::vector<std::string>& environment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JOBS_SETTINGS_H_
