// Flags: the arguments of `vramstow run`, as the table of options says them.
//
// Ownership: results are copies. Threads: pure functions. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_FLAGS_H_
#define VRAMSTOW_TOOLS_COMMANDS_FLAGS_H_

#include <string>
#include <vector>

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

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_FLAGS_H_
