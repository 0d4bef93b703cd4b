#include "tools/commands/fitting_output.h"

#include "tools/launch/end_signals.h"
#include "tools/terminal/exit_status.h"
#include "tools/terminal/output.h"

namespace vramstow {

int PrintFitting(const std::string& command, const Fitting& fitting, bool as_json) {
  constexpr int kNothingFits = 1;
  const bool is_interrupted = EndSignals::taken() != 0;
  if (is_interrupted && fitting.text.empty()) {
    Complain(command, "interrupted before there was a result.");
    return EndSignals::exit_status();
  }
  const std::string heading =
      is_interrupted ? "Interrupted; these are the results so far.\n\n" : "";
  const int printed =
      PrintResult(command, as_json ? fitting.json.Dump() + "\n" : heading + fitting.text);
  if (printed != kExitOk) return printed;
  if (is_interrupted) return EndSignals::exit_status();
  return fitting.any_fits ? kExitOk : kNothingFits;
}

}  // namespace vramstow
