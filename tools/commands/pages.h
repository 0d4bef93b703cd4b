// Pages: what `vramstow help NAME.md` prints, the pages of docs/ as they were installed.
//
// Ownership: copies. Threads: any. Errors: one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_PAGES_H_
#define VRAMSTOW_TOOLS_COMMANDS_PAGES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vramstow {

// "analyze.md", "docs/analyze.md": is meant for a page, whether there is one or not.
bool IsPageName(const std::string& name);
// By name, without their folder. None where no pages were installed.
std::vector<std::string> AllPages();
absl::StatusOr<std::string> ReadPage(const std::string& name);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_PAGES_H_
