// vramstow analyze: prints the facts of one or several traces, as text or JSON.
#include <string>
#include <vector>

#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/default_input.h"
#include "tools/inputs/redacted_source.h"
#include "tools/pipeline/analyze.h"
#include "tools/report/json.h"
#include "tools/report/screen.h"
#include "tools/report/text.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kAnalyzeFooter[] =
    "Inputs are vramstow traces (.stow), PyTorch memory snapshots, PyTorch profiler traces with "
    "memory\n"
    "events, PyTorch memory timelines and RMM logs, whatever their names are. Several files, or a\n"
    "folder, are the ranks or processes of one job. If a file is truncated or damaged, the command "
    "uses what\n"
    "is readable; the report says what is missing.\n"
    "\n"
    "Examples:\n"
    "  vramstow analyze\n"
    "  vramstow analyze train-1125-2303-4711.stow\n"
    "  vramstow analyze --full train-1125-2303-4711.stow | less -R\n"
    "  vramstow analyze snapshot.pickle\n"
    "  vramstow analyze --json runs/ | jq .peak.allocated_bytes\n"
    "\n"
    "Exit status: 0; 1 if the report could not be written; 2 if an input cannot be read.";

// Returns the files as a user types them after a command. Redacted names have no folders.
std::string InputWords(const std::vector<std::string>& files, bool redact) {
  constexpr size_t kMaxNamed = 4;
  if (redact) return "--redact INPUT";
  std::string words;
  for (const std::string& file : files) {
    if (&file - files.data() == kMaxNamed) return words + " ...";
    words += (words.empty() ? "" : " ") + ShellWord(file);
  }
  return words;
}

}  // namespace

int AnalyzeCommand(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  std::string within;
  bool json = false;
  bool redact = false;
  bool full = false;
  const CommandLine line{
      .command = "analyze",
      .summary =
          "Tells on one screen why memory ran out, or that nothing is wrong, and what held it.",
      .footer = kAnalyzeFooter,
      .options = {
          {"INPUT", &files, "Files and folders; none: the newest trace in this folder"},
          {"--within",
           &within,
           "Look only at ranges that the program marked with this name",
           {.takes_no_file = true}},
          {"--redact", &redact,
           "Leave out hosts, users, folders and arguments, so that the report can be shown"},
          {"--full", &full, "Print every section, not only what fits on one screen"},
          {"--json", &json, "Print JSON on one line; vramstow help metrics.md has the keys"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;

  if (!TakeDefaultInput("analyze", &files)) return kExitUsage;
  auto inputs = AnalyzePaths(files, within);
  if (!inputs.ok()) {
    Complain("analyze", std::string(inputs.status().message()));
    return kExitUsage;
  }
  FactSet set = Together(*std::move(inputs));
  if (redact) {
    Redactor redactor = RedactorFor(files);
    redactor.Learn(set);
    redactor.Redact(&set);
  }
  if (json) return PrintResult("analyze", JsonReport(set));
  const TextStyle style = StyleOfStdout();
  return PrintResult("analyze", full ? TextReport(set, style)
                                     : ScreenReport(set, InputWords(files, redact), style));
}

}  // namespace vramstow
