// Flags: the arguments of `vramstow run`, as the table of options says them, and the settings that
// come of them and the environment.
//
// Ownership: Settings owns its texts. Threads: one at a time. Errors: one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_FLAGS_H_
#define VRAMSTOW_TOOLS_COMMANDS_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/options.h"

namespace vramstow {

// "--trace-dir DIR", "--no-trace".
std::string FlagWithValue(const OptionRow& row);

// The arguments of `vramstow run` before and after where the command begins: at "--", or at the
// first that is neither a flag nor the value of one. --pool and --offload alone mean on and auto.
struct RunArguments {
  std::vector<std::string> flags;
  std::vector<std::string> command;
};
RunArguments SplitRunArguments(const std::vector<std::string>& arguments);

// What flags set: environment variable → value. An error says which argument is wrong.
using FlagValues = std::map<std::string, std::string>;

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

#endif  // VRAMSTOW_TOOLS_COMMANDS_FLAGS_H_
