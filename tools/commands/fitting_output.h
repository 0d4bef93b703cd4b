// What `fit` and `plan --largest` print of the cards onto which a command fits, and how they end.
//
// Ownership: none. Threads: the main one. Errors: by the exit status. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_FITTING_OUTPUT_H_
#define VRAMSTOW_TOOLS_COMMANDS_FITTING_OUTPUT_H_

#include <string>

#include "tools/json/json_value.h"

namespace vramstow {

// The result of all cards in both forms; `text` is empty where nothing is known yet.
struct Fitting {
  std::string text;
  JsonValue json;
  bool any_fits = false;
};
// Prints one of the forms as the result of `command`. The exit status; 1 if nothing fits.
int PrintFitting(const std::string& command, const Fitting& fitting, bool as_json);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_FITTING_OUTPUT_H_
