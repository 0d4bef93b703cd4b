#include "tools/analysis/advice/rule_table.h"

#include <algorithm>
#include <iterator>

namespace vramstow {
namespace {

constexpr RuleRow kRows[] = {
#define VRAMSTOW_CAUSE(name, id) {AdviceId::k##name, #name, &k##name},
#define VRAMSTOW_CAUSE_TOO(name, other) {AdviceId::k##other, #name, &k##name},
#define VRAMSTOW_ADVICE(name, id) {AdviceId::k##name, #name, &k##name},
#define VRAMSTOW_ADVICE_TOO(name, other) {AdviceId::k##other, #name, &k##name},
#include "tools/analysis/facts/advice.def"
};

bool Holds(const Precondition& needed, const FailureMoment& moment) {
  return needed.in_failure == nullptr || needed.in_failure(moment);
}

bool HoldsInJob(const Precondition& needed, const Evidence& evidence) {
  return needed.in_job == nullptr || needed.in_job(evidence);
}

}  // namespace

Found AskForCause(const Rule& rule, const FailureMoment& moment) {
  const bool may_ask = std::ranges::all_of(
      rule.needs, [&](const Precondition& needed) { return Holds(needed, moment); });
  return rule.cause != nullptr && may_ask ? rule.cause(moment) : std::nullopt;
}

Hint AskForAdvice(const Rule& rule, const Evidence& evidence) {
  const bool may_ask = std::ranges::all_of(
      rule.needs, [&](const Precondition& needed) { return HoldsInJob(needed, evidence); });
  return rule.advice != nullptr && may_ask ? rule.advice(evidence) : std::nullopt;
}

std::span<const RuleRow> AllRules() { return kRows; }

const Rule& RuleOf(AdviceId id) {
  switch (id) {
#define VRAMSTOW_CAUSE(name, id) \
  case AdviceId::k##name:        \
    return k##name;
#define VRAMSTOW_CAUSE_TOO(name, other)
#define VRAMSTOW_ADVICE(name, id) VRAMSTOW_CAUSE(name, id)
#define VRAMSTOW_ADVICE_TOO(name, other)
#include "tools/analysis/facts/advice.def"
    case AdviceId::kNone:
      break;
  }
  return *kRows[0].rule;
}

bool IsFound(const FailureMoment& moment, std::initializer_list<AdviceId> ids) {
  return std::ranges::any_of(kRows, [&](const RuleRow& row) {
    return row.rule->cause != nullptr && std::ranges::find(ids, row.id) != ids.end() &&
           AskForCause(*row.rule, moment).has_value();
  });
}

}  // namespace vramstow
