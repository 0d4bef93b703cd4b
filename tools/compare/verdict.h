// Verdict: whether a run holds what it was to hold: against an earlier run, and where a part of it
// is not known.
//
// Ownership: copies. Threads: pure functions. Errors: none; what does not hold is a failure. Units:
// bytes.
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
  std::vector<std::string> sites;  // that grew, where a figure rose
};

// The rise that is accepted.
struct Tolerance {
  double share = 0;
  double bytes = 0;
  double Of(double value) const { return std::max(bytes, std::abs(value) * share); }
};
// "5%", "20MiB" or "0". False: none of these; a number without a unit may mean a share or percent.
bool ParseTolerance(std::string text, Tolerance* tolerance);

// No figure of a run is known where a part of it is not.
Verdict VerdictOnMissing(const FactSet& set);

// Adds a failure for each figure that rose above the baseline's by more than the tolerance.
void CheckBaseline(const JsonValue& baseline, const JsonValue& facts, const Tolerance& tolerance,
                   Verdict* verdict);

std::string TextOf(const Verdict& verdict);
JsonValue JsonOf(const Verdict& verdict);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMPARE_VERDICT_H_
