// Runs scenarios of tests/allocator/scenarios and writes every driver call and every block.
//
// Usage: scenario_log [--faults] FILE…
// The logs go to the standard output, each after a line "== NAME". With --faults each scenario is
// run many times; each time another driver call fails, once and permanently. The exit status is 1
// if a scenario fails or a file cannot be read.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/allocator/driver_log.h"
#include "tests/allocator/scenario.h"

namespace vramstow {
namespace {

// Runs a scenario and prints its log. Returns false if the scenario failed.
bool Print(const std::string& text, const Fault& fault) {
  DriverLog log;
  const ScenarioResult result = RunScenario(text, fault, &log);
  std::fputs(log.text().c_str(), stdout);
  for (const std::string& failure : result.failures) std::fprintf(stderr, "%s\n", failure.c_str());
  return result.failures.empty();
}

bool PrintFaults(const std::string& text) {
  const uint64_t calls = RunScenario(text, Fault()).driver_calls;
  // In scenarios with thousands of calls only some of them fail.
  const uint64_t step = std::max<uint64_t>(calls / 16, 1);
  bool good = true;
  for (const bool forever : {false, true}) {
    for (uint64_t nth = 1; nth <= calls; nth += step) {
      std::printf("-- call %lu fails%s\n", nth, forever ? " and all later ones" : "");
      good &= Print(text, Fault{"", nth, forever});
    }
  }
  return good;
}

}  // namespace
}  // namespace vramstow

int main(int argc, char** argv) {
  const bool faults = argc > 1 && std::strcmp(argv[1], "--faults") == 0;
  bool good = true;
  for (int i = faults ? 2 : 1; i < argc; ++i) {
    const std::ifstream file(argv[i]);
    std::ostringstream text;
    text << file.rdbuf();
    std::printf("== %s\n", std::filesystem::path(argv[i]).stem().c_str());
    good &= file.good() && (faults ? vramstow::PrintFaults(text.str())
                                   : vramstow::Print(text.str(), vramstow::Fault()));
  }
  return good ? 0 : 1;
}
