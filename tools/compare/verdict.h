// Verdict: the result of `vramstow check`: the figures of a run that rose above those of an earlier
// run, and the parts of the run that are missing.
//
// Ownership: results are copies. Threads: pure functions, callable from any thread. Errors: none; a
// condition that does not hold is a failure of the verdict. Units: bytes.
#ifndef VRAMSTOW_TOOLS_COMPARE_VERDICT_H_
#define VRAMSTOW_TOOLS_COMPARE_VERDICT_H_

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tools/analysis/facts/facts.h"
#include "tools/json/json_value.h"

namespace vramstow {

struct Verdict {
  std::vector<std::string> failures;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // what a figure is that was compared
  std::vector<std::string> sites;  // call sites that grew, if a figure rose
};

// A rise of a figure that is accepted.
struct Tolerance {
  double share = 0;
  double bytes = 0;
  double Of(double value) const { return std::max(bytes, std::abs(value) * share); }
};
// Parses "5%", "20MiB" or "0". Returns false for all other texts. A number without a unit, except
// 0, could mean a share or a percentage.
bool ParseTolerance(std::string text, Tolerance* tolerance);

// Returns a failure or a warning for each trace that is incomplete, and a failure for each trace
// that cannot be read (`not_read`: one sentence each), because their figures are unknown.
Verdict VerdictOnMissing(const FactSet& set, const std::vector<std::string>& not_read);

// Adds a warning for each program that failed, or ran out of memory and continued, because its
// figures may be those of a part of its work. Returns true if one failed.
bool WarnOfFailedPrograms(const FactSet& set, Verdict* verdict);

// Adds a failure for each figure that exceeds the baseline by more than the tolerance, and one if
// other processes used memory than in the baseline, because most figures are sums over them. Adds
// a failure for figures that the baseline lacks although each run has them. Adds a warning for
// those that only some runs have, if only the run or only the baseline has them.
void CheckBaseline(const JsonValue& baseline, const JsonValue& facts, const Tolerance& tolerance,
                   Verdict* verdict);

std::string TextOf(const Verdict& verdict);
JsonValue JsonOf(const Verdict& verdict);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMPARE_VERDICT_H_
