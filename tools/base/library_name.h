// Returns the name under which the reports show the library that made a call.
//
// Ownership: results are copies. Threads: pure functions. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_BASE_LIBRARY_NAME_H_
#define VRAMSTOW_TOOLS_BASE_LIBRARY_NAME_H_

#include <string>
#include <string_view>

namespace vramstow {

// Returns the part after the last slash, or after the last backslash of a Windows path.
std::string LastPart(std::string_view path);

// Returns the file's name. vramstow's adapter, through which PyTorch calls the pool, gets another
// name, because its file name (adapter_source.h in tools/launch) means nothing to a user.
std::string LibraryName(std::string_view path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_LIBRARY_NAME_H_
