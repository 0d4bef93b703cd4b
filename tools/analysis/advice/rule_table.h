// The table of all rules, by the rows of facts/advice.def.
//
// Ownership: constants. Threads: pure functions, callable from any thread. Errors: none. Units:
// none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_RULE_TABLE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_RULE_TABLE_H_

#include <initializer_list>
#include <span>
#include <string_view>

#include "tools/analysis/advice/rule.h"
#include "tools/analysis/facts/advice_id.h"

namespace vramstow {

struct RuleRow {
  AdviceId id;
  std::string_view name;  // of the row: "SummedGraphs"
  const Rule* rule;
};

// Returns the rules in the order of the table.
std::span<const RuleRow> AllRules();
// Returns the rule whose own id this is; `id` must not be kNone.
const Rule& RuleOf(AdviceId id);
// True if a rule with one of these ids explains why the request failed.
bool IsFound(const FailureMoment& moment, std::initializer_list<AdviceId> ids);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_RULE_TABLE_H_
