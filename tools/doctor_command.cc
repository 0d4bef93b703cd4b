// vramstow doctor: what will and will not work on this machine, and what to do about it.
#include <string>
#include <utility>
#include <vector>

#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/driver_probe.h"
#include "tools/doctor/finding.h"
#include "tools/flags.h"
#include "tools/launch/driver.h"
#include "tools/launch/installation.h"
#include "tools/output.h"
#include "tools/report/words.h"

namespace vramstow {
namespace {

constexpr int kExitSomethingBroken = 1;

constexpr char kFooter[] =
    "The driver is asked in a process of its own, which takes a little memory on each device and "
    "gives\n"
    "it back. Settings are taken from the environment, as vramstow run takes them.\n\n"
    "Examples:\n"
    "  vramstow doctor\n"
    "  vramstow doctor --simulate=h200                     (what a rehearsal needs)\n"
    "  vramstow doctor --json | jq '.findings[] | select(.verdict != \"good\")'\n\n"
    "Exit status: 0 if all will work; 1 if something will not, or the page could not be written; "
    "2 for\n"
    "wrong arguments and settings.";

int Wrong(const absl::Status& status) {
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
  add(CheckDriverHere(plan));
  bool driver_works = true;
  for (const char* id : {"driver.library", "driver.init", "driver.devices", "driver.process",
                         "driver.0.context", "driver.0.allocate"}) {
    const Finding* worst = FindFinding(examination.findings, id);
    if (worst != nullptr && worst->verdict == Verdict::kBroken) driver_works = false;
  }
  add(CheckPreload(plan, driver_works));
  add(CheckPython(plan));
  add(CheckHost());
  examination.features = FeaturesOf(examination.findings, plan.simulate);
  return examination;
}

}  // namespace

int DoctorCommand(const std::vector<std::string>& arguments) {
  CLI::App app(
      "Says what of vramstow will and will not work here, and what to do about it: driver, "
      "devices, "
      "PyTorch,\nfolders and limits. Works without a GPU.");
  app.footer(kFooter);
  std::string simulate;
  std::string probe;
  double patience_s = 30;
  bool json = false;
  app.add_option("--simulate", simulate, "Look at rehearsals on this card, not at this machine's");
  app.add_option("--timeout", patience_s, "Seconds that a driver or Python may take to answer (30)")
      ->check(CLI::Range(0.1, 3600.0));
  app.add_flag("--json", json, "As JSON on one line");
  // What the children of this command are started with.
  app.add_option("--probe", probe)->group("")->check(CLI::IsMember({"driver", "preload"}));
  if (const auto status = ReadArguments(&app, "doctor", arguments)) return *status;
  if (probe == "driver") return ProbeDriver();
  if (probe == "preload") return ProbePreload();

  FlagValues flags;
  if (!simulate.empty()) flags["VRAMSTOW_SIMULATE"] = simulate;
  // A folder for traces that is not there is a finding, and no reason to say nothing else.
  flags["VRAMSTOW_TRACE_DIR"] = "/";
  const auto settings = ReadSettings(flags);
  if (!settings.ok()) return Wrong(settings.status());
  const auto installation = FindInstallation();
  if (!installation.ok()) return Wrong(installation.status());
  if (!settings->simulate.empty()) {
    const auto card = CheckSimulator(installation->simulator_directory, settings->simulate);
    if (!card.ok()) return Wrong(card.status());
  }
  const DoctorPlan plan{*installation, settings->simulate,
                        static_cast<uint64_t>(patience_s * 1000)};
  const Examination examination = Examine(plan);
  const int printed =
      PrintResult("doctor", json ? ExaminationJson(examination)
                                 : ExaminationText(examination, StyleOfStdout().width));
  if (printed != kExitOk) return printed;
  return AllWorks(examination) ? kExitOk : kExitSomethingBroken;
}

}  // namespace vramstow
