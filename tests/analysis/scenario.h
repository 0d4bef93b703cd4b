// Scenarios of the analysis: a text says what a program allocates, on which lines, and who holds it
// when memory runs out; and what the analysis has to say of it. README.md has the language.
//
// Ownership: values. Threads: no shared state. Errors: failures of a scenario are sentences; so is
// a line that is not understood. Units: bytes.
#ifndef VRAMSTOW_TESTS_ANALYSIS_SCENARIO_H_
#define VRAMSTOW_TESTS_ANALYSIS_SCENARIO_H_

#include <string>
#include <vector>

#include "tools/analysis/advice/table.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

struct ScenarioOutcome {
  Facts facts;
  std::vector<std::string> expected;  // the causes and advice that it expects, by their ids
  std::vector<std::string> refused;   // the rules that must not fire, by the names of their rows
  std::vector<std::string> failures;
};

// The name of a row of facts/advice.def: "summed_graphs".
std::string RuleName(const RuleRow& row);

ScenarioOutcome RunScenario(const std::string& text);

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_ANALYSIS_SCENARIO_H_
