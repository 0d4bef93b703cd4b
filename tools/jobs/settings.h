// Settings: how a job runs. Each setting comes from its flag or, if the flag was not given, from
// the environment.
//
// Ownership: Settings owns its texts. Threads: used by one thread at a time. Errors: one sentence.
// Units: none.
#ifndef VRAMSTOW_TOOLS_JOBS_SETTINGS_H_
#define VRAMSTOW_TOOLS_JOBS_SETTINGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vramstow {

// Maps an environment variable to the value that its flag sets. If the value is wrong, the error
// names the flag.
using FlagValues = std::map<std::string, std::string>;

// Returns the flags as a user types them ("--pool=on"), in the order of the table of options.
std::vector<std::string> TypedFlags(const FlagValues& flags);

// Switches the pool on if a flag needs it and neither a flag nor a variable sets it.
void ImplyPool(FlagValues* flags);

struct Settings {
  bool trace = true;
  std::string trace_directory;
  std::string simulate;  // empty: no rehearsal
  bool nvtx = false;
  bool cupti = false;
  bool offload = false;
  bool share = false;     // the job uses its GPU in turns with others
  bool tensors = false;   // the pool serves a framework's tensors, where it can
  bool observed = false;  // an observer records the tensors of the framework's own allocator
  bool quiet;             // no summary, no notes
};

// Returns the settings from the flags. A setting whose flag was not given is read from the
// environment. An error names the flag if a flag has set the value, otherwise the variable.
absl::StatusOr<Settings> ReadSettings(const FlagValues& flags);

// If the pool is off, returns a sentence for each environment variable that only has an effect with
// the pool.
std::vector<std::string> VariablesWithoutPool(const FlagValues& flags);

// Returns a sentence for each environment variable (NAME=VALUE) whose name is unknown but similar
// to the name of one of vramstow's variables. The sentence has the probable name.
std::vector<std::string> MisspeltVariables(const std::vector<std::string>& environment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JOBS_SETTINGS_H_
