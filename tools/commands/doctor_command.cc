// vramstow doctor: says what will and will not work on this machine, and what to do about it.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/driver_probe.h"
#include "tools/doctor/finding.h"
#include "tools/doctor/host_trial.h"
#include "tools/jobs/settings.h"
#include "tools/launch/driver.h"
#include "tools/launch/installation.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr int kExitSomethingBroken = 1;

constexpr char kDoctorFooter[] =
    "The command calls the driver in a separate process. This needs a little memory on each device "
    "for a\nmoment. Settings are read from the environment, as for vramstow run.\n\nExamples:\n  "
    "vramstow doctor\n  vramstow doctor --simulate=h200                     (checks simulated "
    "runs)\n  vramstow doctor --need=pool,ranks                   (in a script, before a job)\n  "
    "vramstow doctor --json | jq '.findings[] | select(.verdict != \"good\")'\n\nExit status: 0 if "
    "everything works, or with --need everything that is needed; 1 if something does\nnot work, or "
    "the result could not be written; 2 for wrong arguments and settings.";

int DoctorIsWrong(const absl::Status& status) {
  Complain("doctor", Printable(std::string(status.message())));
  return kExitUsage;
}

Examination Examine(const DoctorPlan& plan) {
  Examination examination;
  examination.version = VRAMSTOW_VERSION;
  examination.simulate = plan.simulate;
  const auto add = [&examination](Findings findings) {
    for (Finding& finding : findings) examination.findings.push_back(std::move(finding));
  };
  // The checks run in this order. The checks of the driver and of Python may take long.
  Progress& progress = Progress::OfProcess();
  progress.Begin("asking the driver", 0, 4);
  add(CheckDriverHere(plan));
  bool driver_works = true;
  for (const char* id : {"driver.library", "driver.init", "driver.devices", "driver.process",
                         "driver.0.context", "driver.0.allocate"}) {
    const Finding* worst = FindFinding(examination.findings, id);
    if (worst != nullptr && worst->verdict == Verdict::kBroken) driver_works = false;
  }
  progress.Begin("starting a process under vramstow", 1, 4);
  add(CheckPreload(plan, driver_works));
  progress.Begin("asking Python", 2, 4);
  add(CheckPython(plan));
  progress.Begin("checking the machine", 3, 4);
  add(CheckHost());
  examination.features = FeaturesOf(examination.findings, plan.simulate);
  return examination;
}

}  // namespace

int DoctorCommand(const std::vector<std::string>& arguments) {
  std::string simulate;
  std::string probe;
  std::vector<std::string> needed;
  double patience_s = 30;
  bool json = false;
  const CommandLine line{
      .command = "doctor",
      .summary =
          "Shows which features of vramstow work on this machine, which do not, and what to do: "
          "driver, devices,\nPyTorch, folders and limits. It needs no GPU.",
      .footer = kDoctorFooter,
      .options = {
          {"--simulate",
           &simulate,
           "Check simulated runs on this GPU, instead of the GPU of this machine",
           {.takes_no_file = true}},
          {"--timeout",
           &patience_s,
           "Seconds that the driver or Python may take to answer (30)",
           {.range = OptionRange{0.1, 3600}}},
          {"--need",
           &needed,
           "Only these features decide the exit status; see the list \"What will work\"",
           {.takes_commas = true, .takes_no_file = true}},
          {"--json", &json, "Print JSON on one line"},
          // The options of this command's own child processes.
          {"--probe", &probe, "", {.hidden = true, .one_of = {"driver", "host", "preload"}}}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  if (probe == "driver") return ProbeDriver();
  if (probe == "host") return TryHostMappings();
  if (probe == "preload") return ProbePreload();

  FlagValues flags;
  if (!simulate.empty()) flags["VRAMSTOW_SIMULATE"] = simulate;
  // A missing folder for traces is one of the findings, so it must not end the command with an
  // error.
  flags["VRAMSTOW_TRACE_DIR"] = "/";
  const auto settings = ReadSettings(flags);
  if (!settings.ok()) return DoctorIsWrong(settings.status());
  const auto installation = FindInstallation();
  if (!installation.ok()) return DoctorIsWrong(installation.status());
  if (!settings->simulate.empty()) {
    const auto card = CheckSimulator(installation->simulator_directory, settings->simulate);
    if (!card.ok()) return DoctorIsWrong(card.status());
  }
  const DoctorPlan plan{*installation, settings->simulate,
                        static_cast<uint64_t>(patience_s * 1000)};
  Examination examination = Examine(plan);
  for (const std::string& name : needed) {
    if (std::ranges::find(examination.features, name, &Feature::name) !=
        examination.features.end()) {
      continue;
    }
    return DoctorIsWrong(absl::InvalidArgumentError(absl::StrCat(
        "--need: there is no '", name, "' here; there are ",
        absl::StrJoin(examination.features, ", ",
                      [](std::string* text, const Feature& feature) { *text += feature.name; }),
        ".")));
  }
  examination.needed = std::move(needed);
  const int printed =
      PrintResult("doctor", json ? ExaminationJson(examination)
                                 : ExaminationText(examination, StyleOfStdout().width));
  if (printed != kExitOk) return printed;
  return AllWorks(examination) ? kExitOk : kExitSomethingBroken;
}

}  // namespace vramstow
