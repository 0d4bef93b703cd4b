// FittingOutput: prints the result of `fit` and `plan --largest`, and returns the exit status.
//
// Ownership: none. Threads: the main thread only. Errors: by the exit status. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_FITTING_OUTPUT_H_
#define VRAMSTOW_TOOLS_COMMANDS_FITTING_OUTPUT_H_

#include <string>

#include "tools/json/json_value.h"

namespace vramstow {

// The result for all cards in both forms; `text` is empty if nothing is known yet.
struct Fitting {
  std::string text;
  JsonValue json;
  bool any_fits = false;
};
// Prints one of the forms as the result of `command`. Returns the exit status, 1 if nothing fits.
int PrintFitting(const std::string& command, const Fitting& fitting, bool as_json);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_FITTING_OUTPUT_H_
