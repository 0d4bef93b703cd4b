// AdviceId: which advice it is; a row of advice.def.
//
// Ownership: values. Threads: pure functions. Errors: none. Units: none.
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

// As the JSON and the texts have it: "held_graphs"; of kNone nothing.
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
