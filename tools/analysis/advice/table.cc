#include "tools/analysis/advice/table.h"

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

}  // namespace

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
           row.rule->cause(moment).has_value();
  });
}

}  // namespace vramstow
