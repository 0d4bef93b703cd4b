// The commands of the program, as a table: the help, the choice of a command and shell completion
// follow from it.
//
// Ownership: constants. Threads: values. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_COMMAND_TABLE_H_
#define VRAMSTOW_TOOLS_COMMANDS_COMMAND_TABLE_H_

#include <span>
#include <string>
#include <vector>

#include "tools/commands/command_line.h"

namespace vramstow {

struct Command {
  const char* name;
  const char* summary;  // one line of --help; empty: --help does not list the command
  CommandFunction* run;
  // It leaves the terminal to others, or shows its own page there.
  bool has_no_bar = false;
};

// Those that --help lists come first, in the order of --help.
std::span<const Command> AllCommands();
std::vector<Command> ListedCommands();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_COMMAND_TABLE_H_
