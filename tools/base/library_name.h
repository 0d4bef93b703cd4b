// LibraryName: the name that people see of the library that made a call.
//
// Ownership: results are copies. Threads: pure functions. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_BASE_LIBRARY_NAME_H_
#define VRAMSTOW_TOOLS_BASE_LIBRARY_NAME_H_

#include <string>
#include <string_view>

namespace vramstow {

// The part that follows the last slash, or backslash of a path of Windows.
std::string LastPart(std::string_view path);

// The file's name, but for vramstow's own adapter, through which PyTorch asks: its name in the
// cache (adapter_source.h in tools/launch gives it) says nothing to anybody.
std::string LibraryName(std::string_view path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_LIBRARY_NAME_H_
