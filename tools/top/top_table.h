// TopTable: makes the rows of `vramstow top`, as wide as the terminal.
//
// Idea: if a row were cut off, some numbers would be unreadable. So the least important columns are
// left out if the terminal is narrow, and only the program's name is shortened.
//
// Ownership: the results are copies. Threads: used by one thread at a time. Errors: none. Units:
// columns of a terminal.
#ifndef VRAMSTOW_TOOLS_TOP_TOP_TABLE_H_
#define VRAMSTOW_TOOLS_TOP_TOP_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace vramstow {

struct TopProcess;

// Returns the heading, and a line for each process.
std::vector<std::string> TopTable(const std::vector<TopProcess>& processes, size_t columns);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TOP_TOP_TABLE_H_
