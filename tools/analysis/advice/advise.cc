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

// `failed` is false if the cause was found at the peak of a job that did not fail.
AdviceFacts OfCause(const Cause& cause, bool failed) {
  AdviceFacts advice;
  advice.id = cause.id;
  advice.title = cause.title;
  advice.bytes = cause.bytes;
  advice.is_estimate = cause.is_estimate;
  advice.place = cause.place;
  advice.holder = cause.holder;
  if (failed && cause.is_tried) advice.fits = cause.fits;
  advice.proof.is_untried = !cause.is_tried;
  advice.evidence = cause.evidence;
  advice.cost = cause.cost;
  advice.action = cause.action;
  advice.change = cause.change;
  advice.proof.is_cause = failed;
  return advice;
}

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
    hints.emplace_back(row.rule->rank, *std::move(hint));
  }
  return hints;
}

}  // namespace

void Advise(const Detail& detail, const Explanation& explanation, Facts* facts) {
  FindHandChanges(detail, explanation.categories(), facts);
  std::vector<Cause> causes =
      ExplainOutOfMemory(detail, explanation.passes(), explanation.categories(), facts);
  if (facts->out_of_memory.empty() && !HasRoom(*facts)) {
    causes = FindCausesAtPeak(detail, explanation.passes(), explanation.categories(), *facts);
  }
  facts->advice = FindAdvice(detail, explanation.categories(), *facts, causes);
  // If the size of the GPU is unknown, it is unknown which changes would suffice.
  if (facts->out_of_memory.empty() || facts->out_of_memory.back().demand.room_bytes != 0) return;
  for (AdviceFacts& advice : facts->advice) advice.fits.reset();
}

std::vector<AdviceFacts> FindAdvice(const Detail& detail, const CategoryFinder& categories,
                                    const Facts& facts, const std::vector<Cause>& causes) {
  const Evidence evidence(detail, categories, facts);
  std::vector<RankedAdvice> hints = FindHints(evidence, causes);
  OrderHints(&hints);
  std::vector<AdviceFacts> advice;
  const bool failed = !facts.out_of_memory.empty();
  for (const Cause& cause : causes) advice.push_back(OfCause(cause, failed));
  for (RankedAdvice& hint : hints) advice.push_back(std::move(hint.second));
  OrderAdvice(facts, causes, &advice);
  return advice;
}

}  // namespace vramstow
