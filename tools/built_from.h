// From what the program was built. The build writes the functions into a file of their own
// (cmake/WriteBuiltFrom.cmake), so that after a commit only that file is compiled again.
#ifndef VRAMSTOW_TOOLS_BUILT_FROM_H_
#define VRAMSTOW_TOOLS_BUILT_FROM_H_

namespace vramstow {

// Returns the first twelve digits of the commit that was checked out, or "unknown" if the tree was
// no checkout. It does not say whether files had changes. The text lives as long as the program.
const char* BuiltCommit();

// Returns the build type of CMake, and the sanitizers if there are any. The text lives as long as
// the program.
const char* BuiltKind();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BUILT_FROM_H_
