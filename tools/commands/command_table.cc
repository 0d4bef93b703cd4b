#include "tools/commands/command_table.h"

#include "tools/commands/command.h"

namespace vramstow {
namespace {

constexpr Command kCommands[] = {
    {"run", "runs a command under vramstow and prints a summary of its device memory", RunCommand,
     true},
    {"analyze", "tells where the memory of a recorded run went", AnalyzeCommand},
    {"report", "makes a page for a browser that shows it", ReportCommand},
    {"diff", "shows what changed from one run to another", DiffCommand},
    {"check", "tests a run against an earlier one, or against assertions", CheckCommand},
    {"replay", "plays the requests of a recorded run to models of other allocators", ReplayCommand},
    {"export", "writes the events of a trace in another format", ExportCommand},
    {"collect", "adds the facts of jobs to a dataset of many jobs", CollectCommand},
    {"convert", "makes a trace of what another program recorded", ConvertCommand},
    {"fit", "finds the largest batch that fits onto a card, or whether a job does, by rehearsals",
     FitCommand},
    {"plan", "finds the settings that fit and are fastest, on several cards, by rehearsals",
     PlanCommand},
    {"fidelity", "compares a rehearsal with what a real card did", FidelityCommand},
    {"attach", "looks into a process that was started without vramstow", AttachCommand},
    {"ctl", "asks a running process for numbers, or to give memory back", CtlCommand},
    {"top", "shows running processes, and refreshes the page", TopCommand, true},
    {"adapter", "builds, lists and removes the allocators that are compiled for PyTorch",
     AdapterCommand},
    {"doctor", "tells what works on this machine, and what to do about the rest", DoctorCommand},
    {"completion", "prints what a shell needs to complete commands and flags", CompletionCommand,
     true},
    {"docs", "", DocsCommand},
};

}  // namespace

std::span<const Command> AllCommands() { return kCommands; }

std::vector<Command> ListedCommands() {
  std::vector<Command> listed;
  for (const Command& command : kCommands) {
    if (*command.summary != '\0') listed.push_back(command);
  }
  return listed;
}

}  // namespace vramstow
