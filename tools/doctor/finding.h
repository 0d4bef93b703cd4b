// Finding: what doctor looked at, what it saw, and what to do about it.
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
  kLimited,  // less than there could be; what it is needed for works
  kBroken,   // something that it is needed for will not work
};

struct Finding {
  std::string id;  // "driver.library"; before the dot: the group
  Verdict verdict = Verdict::kGood;
  std::string said;    // a sentence without its full stop
  std::string remedy;  // empty where nothing is to be done
};

using Findings = std::vector<Finding>;

// A thing that a user wants to do with vramstow.
struct Feature {
  std::string name;     // "trace"
  std::string command;  // that does it
  Verdict verdict = Verdict::kGood;
  std::string why;     // not good: the finding that decides, or what is missing
  std::string remedy;  // of that finding
};

struct Examination {
  std::string version;   // of vramstow
  std::string simulate;  // the SPEC; empty: the machine's own driver was asked
  Findings findings;
  std::vector<Feature> features;
  std::vector<std::string> needed;  // names of features; empty: all
};

// Null where there is none. Valid as long as the findings are not changed.
const Finding* FindFinding(const Findings& findings, std::string_view id);
// The worst of all whose id begins so; good where there is none.
const Finding* WorstFinding(const Findings& findings, std::string_view prefix);

// "good", "limited", "broken".
std::string_view WordOf(Verdict verdict);

// Whether nothing is broken of what is needed: the features of these names, or of none all.
bool AllWorks(const Examination& examination);

std::string ExaminationText(const Examination& examination, size_t width);
// One object on one line; docs/doctor.md describes it.
std::string ExaminationJson(const Examination& examination);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_DOCTOR_FINDING_H_
