// Runs every file of tests/analysis/scenarios. The input is a list of events and a census (a
// reference scan); the output is the cause, the source line, the owner and the bytes.
#include "tests/analysis/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tools/analysis/advice/rule_table.h"

namespace vramstow {
namespace {

std::vector<std::string> ScenarioNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(VRAMSTOW_ANALYSIS_SCENARIOS)) {
    if (entry.path().extension() == ".scenario") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string TextOf(const std::string& name) {
  std::ifstream file(std::filesystem::path(VRAMSTOW_ANALYSIS_SCENARIOS) / (name + ".scenario"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the results of the analysis, to show why they differ from the expected ones.
std::string Said(const ScenarioOutcome& outcome) {
  std::string text;
  for (const std::string& failure : outcome.failures) text += failure + "\n";
  for (const AdviceFacts& advice : outcome.facts.advice) {
    text += std::string("[") + AdviceName(advice.id) + "] " + std::to_string(advice.bytes) +
            " at '" + advice.place + "' held by '" + advice.holder + "': " + advice.evidence + "\n";
  }
  return text;
}

class AnalysisScenario : public testing::TestWithParam<std::string> {};

TEST_P(AnalysisScenario, Holds) {
  const ScenarioOutcome outcome = RunScenario(TextOf(GetParam()));
  EXPECT_TRUE(outcome.failures.empty()) << Said(outcome);
}

INSTANTIATE_TEST_SUITE_P(Files, AnalysisScenario, testing::ValuesIn(ScenarioNames()),
                         [](const testing::TestParamInfo<std::string>& parameter) {
                           std::string name = parameter.param;
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(AnalysisScenarios, ThereIsOneForEachCause) {
  std::set<std::string> expected;
  for (const std::string& name : ScenarioNames()) {
    for (const std::string& id : RunScenario(TextOf(name)).expected) expected.insert(id);
  }
  for (const RuleRow& row : AllRules()) {
    if (row.rule->cause == nullptr) continue;
    EXPECT_TRUE(expected.contains(AdviceName(row.id))) << "no scenario for " << AdviceName(row.id);
  }
}

TEST(AnalysisScenarios, EachRuleSaysWhatItNeeds) {
  for (const RuleRow& row : AllRules()) {
    size_t needs = 0;
    for (const Precondition& needed : row.rule->needs) {
      const bool is_cause = row.rule->cause != nullptr;
      const bool is_empty = needed.in_failure == nullptr && needed.in_job == nullptr;
      EXPECT_EQ(is_empty, *needed.words == '\0') << RuleName(row);
      if (is_empty) continue;
      ++needs;
      EXPECT_EQ(needed.in_failure != nullptr, is_cause) << RuleName(row);
      EXPECT_EQ(needed.in_job != nullptr, !is_cause) << RuleName(row);
    }
    EXPECT_GT(needs, 0U) << RuleName(row) << " has no precondition";
  }
}

TEST(AnalysisScenarios, ThereIsOneInWhichEachRuleMustNotFire) {
  std::map<std::string, size_t> refused;
  for (const std::string& name : ScenarioNames()) {
    for (const std::string& rule : RunScenario(TextOf(name)).refused) ++refused[rule];
  }
  for (const RuleRow& row : AllRules()) {
    EXPECT_TRUE(refused.contains(RuleName(row)))
        << "no scenario has 'expect no " << RuleName(row) << "'";
  }
}

TEST(AnalysisScenarios, NoticeWhatIsWrong) {
  const char* wrong[] = {
      "card 100MiB\n",                               // expects nothing
      "card many\nexpect no cause\n",                // no number
      "alloc a 1MiB at nowhere\nexpect no cause\n",  // no such stack
      "free a\nexpect no cause\n",                   // no such block
      "nonsense\nexpect no cause\n",                 // the word does not exist
      "expect cause activations\n",                  // nothing failed
      "stack s a.py:1 f\nfail 1MiB at s\nexpect advice activations\n",
      "card 9MiB\nexpect no nonsense\n",  // the rule does not exist
  };
  for (const char* text : wrong) EXPECT_FALSE(RunScenario(text).failures.empty()) << text;
}

}  // namespace
}  // namespace vramstow
