// AdvicePage: what is written of each cause and each advice, from their table: `vramstow help ID`,
// and the lists of docs/analyze.md.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none; an empty text where
// there is no such id. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_ADVICE_PAGE_H_
#define VRAMSTOW_TOOLS_COMMANDS_ADVICE_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

namespace vramstow {

// All ids, each once, in the order of the table.
std::vector<std::string> AdviceIds();
// The text that `vramstow help ID` prints.
std::string HelpOnAdvice(std::string_view id);
// The list of causes, or that of other advice, for docs/analyze.md.
std::string CausesList();
std::string AdviceList();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_ADVICE_PAGE_H_
