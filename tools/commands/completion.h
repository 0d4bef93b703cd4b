// Completion: generates the scripts by which bash and zsh complete the program's commands,
// flags and values.
//
// Idea: the scripts are generated from the table of commands and from the declarations of each
// command (command_line.h), so no list is maintained by hand.
//
// Ownership: the caller owns the results. Threads: used by one thread at a time. Errors: none.
// Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_COMPLETION_H_
#define VRAMSTOW_TOOLS_COMMANDS_COMPLETION_H_

#include <string>
#include <vector>

#include "tools/commands/command_line.h"

namespace vramstow {

struct CommandWords {
  std::string name;
  std::string summary;
  std::vector<OptionWords> options;
};

std::string BashCompletion(const std::vector<CommandWords>& commands);
std::string ZshCompletion(const std::vector<CommandWords>& commands);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_COMPLETION_H_
