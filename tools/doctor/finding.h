// A Finding is one result of doctor: what was checked, what was seen, and what to do about it.
//
// Idea: checks make findings, features follow from findings, and text and JSON from both. A finding
// that is not good says what to do.
//
// Ownership: copies. Threads: pure functions. Errors: are findings. Units: none.
#ifndef VRAMSTOW_TOOLS_DOCTOR_FINDING_H_
#define VRAMSTOW_TOOLS_DOCTOR_FINDING_H_

#include <string>
#include <string_view>
#include <vector>

namespace vramstow {

enum class Verdict {
  kGood,
  kLimited,  // works, but could do more
  kBroken,   // a feature that needs it will not work
};

struct Finding {
  std::string id;  // "driver.library"; before the dot: the group
  Verdict verdict = Verdict::kGood;
  std::string said;    // a sentence without its full stop
  std::string remedy;  // empty if nothing needs to be done
};

using Findings = std::vector<Finding>;

// A use of vramstow, such as tracing.
struct Feature {
  std::string name;     // "trace"
  std::string command;  // the command that uses it
  Verdict verdict = Verdict::kGood;
  std::string why;     // if not good: the deciding finding, or what is missing
  std::string remedy;  // the remedy of that finding
};

struct Examination {
  std::string version;   // of vramstow
  std::string simulate;  // the SPEC; empty: the machine's own driver
  Findings findings;
  std::vector<Feature> features;
  std::vector<std::string> needed;  // names of features; empty: all
};

// Returns null if there is none. The result is valid as long as the findings do not change.
const Finding* FindFinding(const Findings& findings, std::string_view id);
// Returns the worst finding whose id begins with `prefix`, or null if there is none.
const Finding* WorstFinding(const Findings& findings, std::string_view prefix);

// Returns "good", "limited" or "broken".
std::string_view WordOf(Verdict verdict);

// True if no requested feature is broken. If no features are requested, all features count.
bool AllWorks(const Examination& examination);

std::string ExaminationText(const Examination& examination, size_t width);
// Returns one object on one line; docs/doctor.md describes it.
std::string ExaminationJson(const Examination& examination);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_DOCTOR_FINDING_H_
