// CommandTable: the commands of the program, as a table from which the help, the selection of a
// command and shell completion are made.
//
// Ownership: constants. Threads: plain values without synchronisation. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_COMMAND_TABLE_H_
#define VRAMSTOW_TOOLS_COMMANDS_COMMAND_TABLE_H_

#include <span>
#include <string>
#include <vector>

#include "tools/commands/command_line.h"

namespace vramstow {

struct Command {
  const char* name;
  const char* summary;  // one line of --help; empty if --help does not list it
  CommandFunction* run;
  // True if no progress bar may be shown, because another program, or a page of the command's own,
  // uses the terminal.
  bool has_no_bar = false;
};

// Returns the commands; those that --help lists come first, in the order of --help.
std::span<const Command> AllCommands();
std::vector<Command> ListedCommands();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_COMMAND_TABLE_H_
