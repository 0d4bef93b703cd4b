// Runs every file of tests/allocator/scenarios, and again with every driver call failing.
#include "tests/allocator/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace vramstow {
namespace {

std::vector<std::string> ScenarioNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(VRAMSTOW_SCENARIOS)) {
    if (entry.path().extension() == ".scenario") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string TextOf(const std::string& name) {
  std::ifstream file(std::filesystem::path(VRAMSTOW_SCENARIOS) / (name + ".scenario"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Joined(const ScenarioResult& result) {
  std::string text;
  for (const std::string& failure : result.failures) text += failure + "\n";
  return text;
}

class Scenario : public testing::TestWithParam<std::string> {};

TEST_P(Scenario, Holds) {
  const ScenarioResult result = RunScenario(TextOf(GetParam()), Fault());
  EXPECT_TRUE(result.failures.empty()) << Joined(result);
}

// Fails the Nth driver call, once and permanently, for every N until no call is left to fail.
TEST_P(Scenario, StaysWholeWhateverDriverCallFails) {
  const std::string text = TextOf(GetParam());
  const uint64_t calls = RunScenario(text, Fault()).driver_calls;
  // In scenarios with thousands of calls only some values of N are tried; in short ones all are.
  const uint64_t step = calls > 400 ? calls / 400 : 1;
  for (const bool forever : {false, true}) {
    for (uint64_t nth = 1; nth <= calls; nth += step) {
      const ScenarioResult result = RunScenario(text, Fault{"", nth, forever});
      ASSERT_TRUE(result.failures.empty())
          << "call " << nth << (forever ? " and all later ones" : "") << ": " << Joined(result);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Scenario, testing::ValuesIn(ScenarioNames()),
                         [](const testing::TestParamInfo<std::string>& parameter) {
                           std::string name = parameter.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(ScenarioRunner, NoticesWhatIsWrong) {
  const char* wrong[] = {
      "alloc a 2MiB stream=1\nexpect reserved 4MiB\n",
      "alloc a 2GiB stream=1\n",
      "alloc a 2MiB stream=1 fails\n",
      "alloc a 1MiB\nfree a\nfree a\n",
      "alloc a 1MiB stream=1\nalloc b 1MiB stream=1\nexpect same a b\n",
      "nonsense\n",
      "alloc a many\n",
      "device no-vmm\nalloc a 1MiB\n",
  };
  for (const char* text : wrong) {
    EXPECT_FALSE(RunScenario(text, Fault()).failures.empty()) << text;
  }
}

TEST(ScenarioFiles, AreAtLeastSixty) { EXPECT_GE(ScenarioNames().size(), 60U); }

}  // namespace
}  // namespace vramstow
