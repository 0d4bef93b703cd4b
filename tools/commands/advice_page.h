// AdvicePage: writes the documentation of each cause and each piece of advice, from their table:
// `vramstow help ID`, and the lists of docs/analyze.md.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none; the text is empty if there is no such id. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_ADVICE_PAGE_H_
#define VRAMSTOW_TOOLS_COMMANDS_ADVICE_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

namespace vramstow {

// Returns all ids, each once, in the order of the table.
std::vector<std::string> AdviceIds();
// Returns the text that `vramstow help ID` prints.
std::string HelpOnAdvice(std::string_view id);
// Return the list of causes, and the list of other advice, for docs/analyze.md.
std::string CausesList();
std::string AdviceList();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_ADVICE_PAGE_H_
