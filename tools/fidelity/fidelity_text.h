// FidelityText: writes the results of `vramstow fidelity`, as a text for people and as JSON.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none. Units: written in the text.
#ifndef VRAMSTOW_TOOLS_FIDELITY_FIDELITY_TEXT_H_
#define VRAMSTOW_TOOLS_FIDELITY_FIDELITY_TEXT_H_

#include <string>

#include "tools/fidelity/beside_card.h"
#include "tools/json/json_value.h"

namespace vramstow {

std::string FidelityText(const FidelityReport& report);
JsonValue FidelityJson(const FidelityReport& report);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FIDELITY_FIDELITY_TEXT_H_
