#include "tools/analysis/advice/advise.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/find_causes.h"
#include "tools/analysis/advice/hand_changes.h"
#include "tools/analysis/advice/order.h"
#include "tools/analysis/advice/rule_table.h"

namespace vramstow {
namespace {

// True if one of the causes explains the failure in better words than the advice of this row of the
// table.
bool IsSaid(const RuleRow& row, const std::vector<Cause>& causes) {
  return std::ranges::any_of(causes, [&row](const Cause& cause) {
    return cause.id == row.id ||
           std::ranges::find(row.rule->said_by, cause.id) != row.rule->said_by.end();
  });
}

std::vector<RankedAdvice> FindHints(const Evidence& evidence, const std::vector<Cause>& causes) {
  const std::vector<OutOfMemoryFacts>& failures = evidence.facts().out_of_memory;
  const bool can_replay = failures.empty() || IsDeviceMemory(failures.back().memory);
  const bool has_room = HasRoom(evidence.facts());
  std::vector<RankedAdvice> hints;
  for (const RuleRow& row : AllRules()) {
    if (row.rule->advice == nullptr || (row.rule->saves && has_room)) continue;
    if (IsSaid(row, causes)) continue;
    Hint hint = AskForAdvice(*row.rule, evidence);
    if (!hint.has_value()) continue;
    hint->id = row.id;
    hint->proof.is_fault = row.rule->is_fault;
    if (can_replay && row.rule->change != nullptr) hint->change = row.rule->change(evidence, *hint);
    hints.push_back({*std::move(hint), row.rule->rank});
  }
  return hints;
}

}  // namespace

std::vector<AdviceFacts> Advise(const Detail& detail, const Explanation& explanation,
                                Facts* facts) {
  FindHandChanges(detail, explanation.categories(), facts);
  std::vector<Cause> causes =
      ExplainOutOfMemory(detail, explanation.passes(), explanation.categories(), facts);
  if (facts->out_of_memory.empty() && !HasRoom(*facts)) {
    causes = FindCausesAtPeak(detail, explanation.passes(), explanation.categories(), *facts);
  }
  return FindAdvice(detail, explanation.categories(), *facts, causes);
}

std::vector<AdviceFacts> FindAdvice(const Detail& detail, const CategoryFinder& categories,
                                    const Facts& facts, const std::vector<Cause>& causes) {
  const Evidence evidence(detail, categories, facts);
  return OrderAdvice(facts, causes, FindHints(evidence, causes));
}

}  // namespace vramstow
