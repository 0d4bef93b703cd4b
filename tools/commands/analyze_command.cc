// vramstow analyze: prints the facts of one or several traces, as text or JSON.
#include <string>
#include <vector>

#include "tools/commands/analysis_output.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/default_input.h"

namespace vramstow {
namespace {

constexpr char kAnalyzeFooter[] =
    "Inputs are vramstow traces (.stow), PyTorch memory snapshots, PyTorch profiler traces with "
    "memory\nevents, PyTorch memory timelines and RMM logs; the names of the files do not matter. "
    "Several files,\nor a folder, are the ranks or processes of one job. If a file is truncated or "
    "damaged, the command\nreads what it can; the report says what is missing.\n\nExamples:\n  "
    "vramstow analyze\n  vramstow analyze train-1125-2303-4711.stow\n  vramstow analyze --full "
    "train-1125-2303-4711.stow | less -R\n  vramstow analyze snapshot.pickle\n  vramstow analyze "
    "--json runs/ | jq .peak.allocated_bytes\n\nExit status: 0; 1 if the report could not be "
    "written; 2 if an input cannot be read.";

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
          "Prints one screen: why memory ran out, or that nothing is wrong, and which objects held "
          "the memory.",
      .footer = kAnalyzeFooter,
      .options = {
          {"INPUT", &files, "Files and folders; without one, the newest trace in this folder"},
          {"--within",
           &within,
           "Look only at ranges that the program marked with this name",
           {.takes_no_file = true}},
          {"--redact", &redact,
           "Remove hosts, users, folders and arguments, so that the report can be shared"},
          {"--full", &full, "Print every section, not only what fits on one screen"},
          {"--json", &json, "Print JSON on one line; vramstow help metrics.md has the keys"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;

  if (!FindDefaultInput("analyze", &files)) return kExitUsage;
  return PrintAnalysis("analyze", files,
                       {.within = within, .redact = redact, .full = full, .json = json});
}

}  // namespace vramstow
