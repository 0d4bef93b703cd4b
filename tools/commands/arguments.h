// Arguments: reading a command's arguments with CLI11, and saying in one sentence what is wrong.
//
// Ownership: none. Threads: one at a time. Errors: told on stderr. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_ARGUMENTS_H_
#define VRAMSTOW_TOOLS_COMMANDS_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace vramstow {

// Reads the arguments of `command` into what `app` was given. Gives an exit status where the
// program is to end here: --help was asked for, or something is wrong and has been said.
std::optional<int> ReadArguments(CLI::App* app, const std::string& command,
                                 const std::vector<std::string>& arguments);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_ARGUMENTS_H_
