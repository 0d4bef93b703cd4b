// Flags: the arguments of `vramstow run`, according to the table of options.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_FLAGS_H_
#define VRAMSTOW_TOOLS_COMMANDS_FLAGS_H_

#include <string>
#include <vector>

#include "base/options.h"

namespace vramstow {

// Returns a text like "--trace-dir DIR" or "--no-trace".
std::string FlagWithValue(const OptionRow& row);

// The arguments of `vramstow run` before and after the begin of the command, which is at "--", or
// at the first argument that is neither a flag nor the value of one. --pool and --offload without a
// value mean on and auto.
struct RunArguments {
  std::vector<std::string> flags;
  std::vector<std::string> command;
};
RunArguments SplitRunArguments(const std::vector<std::string>& arguments);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_FLAGS_H_
