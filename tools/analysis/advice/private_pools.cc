#include "tools/analysis/advice/private_pools.h"

namespace vramstow {

Captured HasCaptured(const Facts& facts) {
  // The interposer writes this fact when the first capture of a stream begins.
  if (facts.facts.contains("capture.streams")) return Captured::kYes;
  // A process that vramstow attached to may have captured before.
  const bool sees_all = facts.kind == "stow" && !facts.facts.contains("process.attached");
  return sees_all ? Captured::kNo : Captured::kNotKnown;
}

}  // namespace vramstow
