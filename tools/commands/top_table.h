// TopTable: the rows of `vramstow top`, as wide as the terminal is.
//
// Idea: a row that is cut in its middle has numbers that nobody can read. So columns that say least
// are left out where the terminal is narrow, and only the program's name is shortened.
//
// Ownership: copies. Threads: one at a time. Errors: none. Units: columns of a terminal.
#ifndef VRAMSTOW_TOOLS_COMMANDS_TOP_TABLE_H_
#define VRAMSTOW_TOOLS_COMMANDS_TOP_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace vramstow {

struct TopProcess;

// The heading, and a line for each process.
std::vector<std::string> TopTable(const std::vector<TopProcess>& processes, size_t columns);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_TOP_TABLE_H_
