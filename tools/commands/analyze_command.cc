// vramstow analyze: the facts of one or several traces, as text or JSON.
#include <string>
#include <vector>

#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/inputs/analyze_input.h"
#include "tools/report/json.h"
#include "tools/report/text.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kFooter[] =
    "Read are vramstow traces (.stow), PyTorch memory snapshots, PyTorch profiler traces with\n"
    "memory events and memory timelines, RMM logs; whatever their names. Several files, or a\n"
    "folder, are several ranks or processes of one job. A truncated or damaged file gives what "
    "is\n"
    "readable; the report says what is missing.\n\n"
    "Examples:\n"
    "  vramstow analyze python-4711.stow\n"
    "  vramstow analyze snapshot.pickle\n"
    "  vramstow analyze --json runs/ | jq .peak.allocated_bytes\n\n"
    "Exit status: 0; 1 if the report could not be written; 2 if an input cannot be read.";

}  // namespace

int AnalyzeCommand(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  std::string within;
  bool json = false;
  const CommandLine line{
      .command = "analyze",
      .summary =
          "Says where the memory went: what was allocated when and by whom, at the peak and over "
          "time.",
      .footer = kFooter,
      .options = {
          {"INPUT", &files, "Files and folders", {.required = true}},
          {"--within", &within,
           "Only what lies in ranges of this name, as the program marked them"},
          {"--json", &json, "JSON on one line in place of text; docs/analyze.md has the keys"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;

  auto inputs = AnalyzePaths(files, within);
  if (!inputs.ok()) {
    Complain("analyze", std::string(inputs.status().message()));
    return kExitUsage;
  }
  const FactSet set = Together(*std::move(inputs));
  return PrintResult("analyze", json ? JsonReport(set) : TextReport(set, StyleOfStdout()));
}

}  // namespace vramstow
