// Runs scenarios of the analysis. A scenario is a text that says what a program allocates, on which
// lines, which objects hold the memory when it runs out, and what the analysis must report.
// README.md describes the language.
//
// Ownership: plain values. Threads: no shared state. Errors: failures of a scenario, and lines that
// cannot be parsed, are sentences. Units: bytes.
#ifndef VRAMSTOW_TESTS_ANALYSIS_SCENARIO_H_
#define VRAMSTOW_TESTS_ANALYSIS_SCENARIO_H_

#include <string>
#include <vector>

#include "tools/analysis/advice/rule_table.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

struct ScenarioOutcome {
  Facts facts;
  std::vector<std::string> expected;  // the causes and advice that it expects, by their ids
  std::vector<std::string> refused;   // the rules that must not fire, by the names of their rows
  std::vector<std::string> failures;
};

// Returns the name of a row of facts/advice.def: "summed_graphs".
std::string RuleName(const RuleRow& row);

ScenarioOutcome RunScenario(const std::string& text);

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_ANALYSIS_SCENARIO_H_
