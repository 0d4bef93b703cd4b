// Pages: returns the pages of docs/ as they were installed, which `vramstow help NAME.md` prints.
//
// Ownership: the results are copies. Threads: callable from any thread. Errors: one sentence.
// Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_PAGES_H_
#define VRAMSTOW_TOOLS_COMMANDS_PAGES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vramstow {

// True for names like "analyze.md" and "docs/analyze.md", whether there is such a page or not.
bool IsPageName(const std::string& name);
// Returns the names of the installed pages without their folder; empty if no pages were installed.
std::vector<std::string> AllPages();
absl::StatusOr<std::string> ReadPage(const std::string& name);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_PAGES_H_
