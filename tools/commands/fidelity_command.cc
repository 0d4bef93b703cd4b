// vramstow fidelity: compares a simulated run of a job with a memory snapshot of a real GPU, and
// says where the two differ.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/fidelity/beside_card.h"
#include "tools/fidelity/fidelity_text.h"
#include "tools/jobs/run_folder.h"
#include "tools/launch/end_signals.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kFidelityFooter[] =
    "SNAPSHOT is a file that torch.cuda.memory._dump_snapshot wrote on a real GPU. Without "
    "--simulate,\nvramstow chooses the GPU by the snapshot.\n\nExamples:\n  vramstow fidelity "
    "real.pickle -- python job.py\n  vramstow fidelity real.pickle --simulate=a100 --at-least 99.5 "
    "-- python job.py\n\nExit status: 0; 1 if fewer events are aligned than --at-least demands, or "
    "the result could not be\nwritten; 2 for wrong arguments, and if the command fails; 130 after "
    "Ctrl-C (143 after SIGTERM).";

constexpr int kExitLess = 1;

struct FidelitySettings {
  FidelityRequest request;
  std::string keep;
  double at_least = 0;
  bool json = false;
};

int FidelityIsWrong(const std::string& sentence) {
  Complain("fidelity", Printable(sentence));
  return kExitUsage;
}

int PrintFidelity(const FidelitySettings& settings, const FidelityReport& report) {
  const int printed = PrintResult(
      "fidelity", settings.json ? FidelityJson(report).Dump() + "\n" : FidelityText(report));
  if (printed != kExitOk) return printed;
  return 100 * report.compared.facts.AlignedShare() < settings.at_least ? kExitLess : kExitOk;
}

}  // namespace

int FidelityCommand(const std::vector<std::string>& arguments) {
  FidelitySettings settings;
  bool no_tries = false;
  const CommandLine line{
      .command = "fidelity",
      .summary =
          "Compares a simulated run with a memory snapshot from a real GPU: how many of its events "
          "occur in both,\nwhere they differ, and which setting would explain the difference.",
      .footer = kFidelityFooter,
      .options = {
          {"SNAPSHOT", &settings.request.snapshot, "A PyTorch memory snapshot", {.required = true}},
          {"--simulate",
           &settings.request.simulate,
           "The GPU, as for vramstow run; by default the one that agrees with the snapshot",
           {.takes_no_file = true}},
          {"--at-least",
           &settings.at_least,
           "Fail if less than this percentage of the events is aligned",
           {.range = OptionRange{0, 100}}},
          {"--no-tries", &no_tries, "Do not try settings that would explain a difference"},
          {"--keep", &settings.keep, "A folder in which traces and output are kept"},
          {"--json", &settings.json, "Print JSON on one line"},
          {"COMMAND",
           &settings.request.command,
           "The command to run, after --",
           {.required = true}}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  settings.request.tries = !no_tries;
  const auto task = CheckFidelity(settings.request);
  if (!task.ok()) return FidelityIsWrong(std::string(task.status().message()));
  if (!task->why.empty()) Complain("fidelity", Printable(task->why));
  const RunFolder folder(settings.keep);
  if (!folder.ok()) return FidelityIsWrong("cannot make a folder for the traces.");
  const auto report = RehearseBesideCard(settings.request, *task, folder.path());
  if (absl::IsCancelled(report.status())) {
    Complain("fidelity", "interrupted before there was a result.");
    return EndSignals::exit_status();
  }
  if (!report.ok()) return FidelityIsWrong(std::string(report.status().message()));
  const int status = PrintFidelity(settings, *report);
  if (EndSignals::taken() == 0) return status;
  Complain("fidelity", "interrupted before all causes were tried.");
  return EndSignals::exit_status();
}

}  // namespace vramstow
