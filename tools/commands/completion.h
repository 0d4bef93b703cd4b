// Completion: what bash, zsh and fish need to complete the program's commands, flags and values.
//
// Idea: all of it is made from the table of commands and from what each command declares
// (command_line.h), so that no list is kept by hand.
//
// Ownership: results are the caller's. Threads: one at a time. Errors: none. Units: none.
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
std::string FishCompletion(const std::vector<CommandWords>& commands);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_COMPLETION_H_
