#include "tools/commands/advice_page.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tools/analysis/advice/rule_table.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

constexpr size_t kAdvicePageColumns = 138;  // without the indentation of a list
constexpr size_t kTerminalColumns = 78;

bool IsCause(const RuleRow& row) { return row.rule->cause != nullptr; }

// Returns a list item for each id, with the meanings of its rules in their order.
std::string PageListOf(bool causes) {
  std::string list;
  for (const std::string& id : AdviceIds()) {
    std::string meanings;
    for (const RuleRow& row : AllRules()) {
      if (AdviceName(row.id) != id || IsCause(row) != causes) continue;
      absl::StrAppend(&meanings, meanings.empty() ? "" : "; or ", row.rule->meaning);
    }
    if (meanings.empty()) continue;
    const std::string item =
        Wrapped(absl::StrCat("- `", id, "`: ", meanings, "."), kAdvicePageColumns);
    absl::StrAppend(&list, absl::StrReplaceAll(item, {{"\n", "\n  "}}), "\n");
  }
  return list;
}

// Returns "It is reported only if A, and if B."
std::string NeedsOf(const Rule& rule) {
  std::string text;
  for (const Precondition& needed : rule.needs) {
    if (*needed.words == '\0') continue;
    absl::StrAppend(&text, text.empty() ? "It is reported only if " : ", and if ", needed.words);
  }
  return text + ".";
}

}  // namespace

std::vector<std::string> AdviceIds() {
  std::vector<std::string> ids;
  for (const RuleRow& row : AllRules()) {
    const std::string id = AdviceName(row.id);
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

std::string HelpOnAdvice(std::string_view id) {
  std::string help;
  for (const RuleRow& row : AllRules()) {
    if (AdviceName(row.id) != id) continue;
    const std::string title =
        absl::StrCat(AdviceName(row.id),
                     IsCause(row) ? ", a cause of an out-of-memory error: " : ", an advice: ",
                     absl::StrReplaceAll(row.rule->meaning, {{"`", ""}}), ".");
    absl::StrAppend(&help, help.empty() ? "" : "\n", Wrapped(title, kTerminalColumns), "\n\n",
                    Wrapped(row.rule->help, kTerminalColumns), "\n\n",
                    Wrapped(NeedsOf(*row.rule), kTerminalColumns), "\n");
  }
  return help.empty() ? "" : help + "\nMore: vramstow help analyze.md.\n";
}

std::string CausesList() { return PageListOf(true); }
std::string AdviceList() { return PageListOf(false); }

}  // namespace vramstow
