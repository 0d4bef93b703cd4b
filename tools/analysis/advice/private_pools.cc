#include "tools/analysis/advice/private_pools.h"

#include "tools/analysis/facts/known_part.h"

namespace vramstow {

Captured HasCaptured(const Facts& facts) {
  // vramstow's hooks write this fact when the first capture of a stream begins.
  if (facts.trace_metadata.contains("capture.streams")) return Captured::kYes;
  // If vramstow attached to a running process, the process may have captured graphs before.
  const bool sees_all = facts.kind == "stow" && !SeesOnlyFramework(facts);
  return sees_all ? Captured::kNo : Captured::kNotKnown;
}

}  // namespace vramstow
