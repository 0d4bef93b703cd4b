// vramstow share: rehearses jobs that share one GPU in turns, on a simulated GPU.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/jobs/run_folder.h"
#include "tools/launch/end_signals.h"
#include "tools/share/mix.h"
#include "tools/share/mix_text.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kShareFooter[] =
    "Each word after -- is the whole command line of one job, so put it in quotes. A command line "
    "with\n"
    "characters of the shell (quotes, $, |, ;, *, a variable that is set first) is run by sh -c, "
    "and any\n"
    "other one directly. Give two jobs or more.\n"
    "\n"
    "Each job runs alone on the simulated GPU; then all run at once, as with vramstow run --share. "
    "Times\n"
    "are those of the simulated GPU (clock=model), not of this machine. What a job prints goes to "
    "a file\n"
    "beside its traces: with --keep to alone-N/output.txt and mix-N/output.txt in that folder.\n"
    "\n"
    "Examples:\n"
    "  vramstow share --simulate=h100 -- 'python train.py' 'python serve.py --port 80'\n"
    "  vramstow share --simulate=h100,memory=40GiB --json -- 'python train.py' 'SEED=2 python "
    "job.py'\n"
    "\n"
    "Exit status: 0; 1 if a job fails or does not fit, or the result could not be written; 2 for "
    "wrong\n"
    "arguments, or if a folder cannot be made; 130 after Ctrl-C (143 after SIGTERM), with the "
    "results\n"
    "so far.";

constexpr int kExitJobFails = 1;

int ShareIsWrong(const absl::Status& status) {
  Complain("share", std::string(status.message()));
  return kExitUsage;
}

void NoteShare(const std::string& sentence) { Complain("share", sentence); }

int PrintMix(const MixReport& report, bool json) {
  if (report.is_interrupted && !report.jobs.front().alone.has_value()) {
    Complain("share", "interrupted before there was a result.");
    return EndSignals::exit_status();
  }
  const int printed = PrintResult("share", json ? JsonOf(report).Dump() + "\n" : TextOf(report));
  if (printed != kExitOk) return printed;
  if (report.is_interrupted) return EndSignals::exit_status();
  return report.is_complete() ? kExitOk : kExitJobFails;
}

}  // namespace

int ShareCommand(const std::vector<std::string>& arguments) {
  MixRequest request;
  std::string keep;
  bool json = false;
  const CommandLine line{
      .command = "share",
      .summary =
          "Shows how long several jobs take that use one GPU in turns, by running them on a "
          "simulated GPU:\neach alone, and then all at once.",
      .footer = kShareFooter,
      .options = {{"--simulate",
                   &request.spec,
                   "The GPU, as for vramstow run",
                   {.required = true, .takes_no_file = true}},
                  {"--keep", &keep, "A folder in which traces and output are kept"},
                  {"--json", &json, "Print JSON on one line"},
                  {"JOB",
                   &request.jobs,
                   "The command line of each job, in quotes, after --",
                   {.required = true, .takes_no_file = true}}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  if (keep == "--") {
    return ShareIsWrong(absl::InvalidArgumentError("--keep needs the name of a folder."));
  }
  if (absl::Status status = CheckMix(request); !status.ok()) return ShareIsWrong(status);
  const RunFolder folder(keep);
  if (!folder.ok())
    return ShareIsWrong(absl::UnavailableError("cannot make a folder for the traces."));
  const auto report = RehearseMix(request, folder.path(), NoteShare);
  if (!report.ok()) return ShareIsWrong(report.status());
  return PrintMix(*report, json);
}

}  // namespace vramstow
