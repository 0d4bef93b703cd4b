#include "tools/commands/command_table.h"

#include "tools/commands/command.h"

namespace vramstow {
namespace {

constexpr Command kCommands[] = {
    {"run", "runs a command under vramstow and prints a summary of its device memory", RunCommand,
     true},
    {"analyze", "shows where the memory of a recorded run went", AnalyzeCommand},
    {"report", "writes an HTML page that shows where the memory went", ReportCommand},
    {"diff", "shows what changed from one run to another", DiffCommand},
    {"check", "tests a run against an earlier one, or against assertions", CheckCommand},
    {"replay", "replays the requests of a recorded run with models of other allocators",
     ReplayCommand},
    {"export", "writes the events of a trace in another format", ExportCommand},
    {"collect", "adds the facts of jobs to a dataset of many jobs", CollectCommand},
    {"convert", "converts a recording of another program to a trace", ConvertCommand},
    {"fit",
     "finds the largest batch that fits onto a GPU, or whether a job fits, by simulated runs",
     FitCommand},
    {"plan", "finds the settings that fit and are fastest, on several GPUs, by simulated runs",
     PlanCommand},
    {"share", "shows how long jobs take that use one GPU in turns, by simulated runs",
     ShareCommand},
    {"fidelity", "compares a simulated run with a run on a real GPU", FidelityCommand},
    {"attach", "inspects a process that was started without vramstow", AttachCommand},
    {"ctl", "asks a running process for numbers, or to release memory", CtlCommand},
    {"top", "shows running processes, and updates the screen", TopCommand, true},
    {"adapter", "compiles, lists and removes the adapters for PyTorch", AdapterCommand},
    {"doctor", "shows what works on this machine, and what to do about the rest", DoctorCommand},
    {"completion", "prints the completion script of a shell", CompletionCommand, true},
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
