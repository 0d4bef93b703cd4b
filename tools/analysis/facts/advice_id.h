// AdviceId: the id of a piece of advice; each is a row of advice.def.
//
// Ownership: plain values. Threads: pure functions, callable from any thread. Errors: none. Units:
// none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_ADVICE_ID_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_ADVICE_ID_H_

#include <cstdint>

namespace vramstow {

enum class AdviceId : uint8_t {
  kNone,
#define VRAMSTOW_CAUSE(name, id) k##name,
#define VRAMSTOW_CAUSE_TOO(name, other)
#define VRAMSTOW_ADVICE(name, id) k##name,
#define VRAMSTOW_ADVICE_TOO(name, other)
#include "tools/analysis/facts/advice.def"
};

// Returns the id as written in the JSON and the texts: "held_graphs"; empty for kNone.
constexpr const char* AdviceName(AdviceId advice) {
  switch (advice) {
    case AdviceId::kNone:
      break;
#define VRAMSTOW_CAUSE(name, id) \
  case AdviceId::k##name:        \
    return id;
#define VRAMSTOW_CAUSE_TOO(name, other)
#define VRAMSTOW_ADVICE(name, id) VRAMSTOW_CAUSE(name, id)
#define VRAMSTOW_ADVICE_TOO(name, other)
#include "tools/analysis/facts/advice.def"
  }
  return "";
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_ADVICE_ID_H_
