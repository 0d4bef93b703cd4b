#include "tools/jobs/preparation.h"

#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/host_mapping.h"
#include "tools/base/words.h"
#include "tools/doctor/host_mapping.h"
#include "tools/launch/card_list.h"
#include "tools/launch/driver.h"
#include "tools/launch/job_folder.h"
#include "tools/launch/prepare_adapters.h"
#include "tools/launch/ranks.h"
#include "tools/terminal/progress_bar.h"

namespace vramstow {
namespace {

constexpr char kTraceDirectory[] = "VRAMSTOW_TRACE_DIR";

// Lets all simulated runs with --share use the same simulated GPU. Otherwise each run would have
// one of its own.
void ShareSimulatedCard(CheckedJob* checked) {
  std::string& spec = checked->settings.simulate;
  if (!checked->settings.share || spec.empty() || absl::StrContains(spec, "share=")) return;
  spec += ",share=turns";
  checked->flags["VRAMSTOW_SIMULATE"] = spec;
}

// Returns the value of an option, which is that of the flag or else that of the variable.
std::string ValueOf(const FlagValues& flags, const char* name) {
  if (const auto flag = flags.find(name); flag != flags.end()) return flag->second;
  const char* variable = std::getenv(name);
  return variable == nullptr ? "" : variable;
}

// Parses the folder for traces, and replaces it in the flags by its existing parent folder. A
// missing folder is made only after all checks have passed.
absl::StatusOr<JobFolder> ParseJobFolder(FlagValues* flags) {
  auto folder = FindJobFolder(ValueOf(*flags, kTraceDirectory));
  if (folder.ok() && !folder->parent.empty()) (*flags)[kTraceDirectory] = folder->parent;
  return folder;
}

// Makes a relative path absolute, because the command may change its current folder.
void MakeFolderAbsolute(const char* name, FlagValues* flags) {
  const std::string text = ValueOf(*flags, name);
  std::error_code error;
  const auto absolute = std::filesystem::absolute(text, error);
  if (!text.empty() && !error) (*flags)[name] = absolute.string();
}

// Leaves the path relative if the absolute path of a socket in it were too long for the kernel.
void MakeControlFolderAbsolute(FlagValues* flags) {
  constexpr char kVariable[] = "VRAMSTOW_CONTROL_DIR";
  constexpr std::string_view kSocket = "/4194304.sock";  // with the largest number of a process
  const std::string given = ValueOf(*flags, kVariable);
  MakeFolderAbsolute(kVariable, flags);
  const size_t length = ValueOf(*flags, kVariable).size() + kSocket.size();
  if (length >= sizeof(sockaddr_un::sun_path) && !given.empty()) (*flags)[kVariable] = given;
}

// Makes the path of the table's folder absolute, as MakeFolderAbsolute does.
void MakeShareFolderAbsolute(FlagValues* flags) {
  constexpr char kVariable[] = "VRAMSTOW_SHARE";
  constexpr std::string_view kFolder = "dir=";
  std::vector<std::string> parts = absl::StrSplit(ValueOf(*flags, kVariable), ',');
  bool has_changed = false;
  for (std::string& part : parts) {
    if (!part.starts_with(kFolder)) continue;
    std::error_code error;
    const auto absolute = std::filesystem::absolute(part.substr(kFolder.size()), error);
    // A folder whose name contains a comma cannot be given.
    if (error || absl::StrContains(absolute.string(), ',')) continue;
    has_changed = true;
    part = std::string(kFolder) + absolute.string();
  }
  if (has_changed) (*flags)[kVariable] = absl::StrJoin(parts, ",");
}

// Replaces "match=SNAPSHOT" by the card that matches the snapshot.
absl::Status ApplyMatchedCard(const Job& job, CheckedJob* checked) {
  Settings& settings = checked->settings;
  std::string why;
  const auto spec =
      ResolveMatch(settings.simulate, checked->installation.simulator_directory, &why);
  if (!spec.ok()) return spec.status();
  if (!why.empty() && !settings.quiet) job.note("", Printable(why));
  checked->flags["VRAMSTOW_SIMULATE"] = *spec;
  settings.simulate = *spec;
  return absl::OkStatus();
}

// Makes the path of the folder for traces absolute, because the command may change its current
// folder.
absl::Status PrepareTraceDirectory(Settings* settings) {
  if (!settings->trace) return absl::OkStatus();
  std::error_code error;
  const std::filesystem::path absolute =
      std::filesystem::canonical(settings->trace_directory, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat("cannot use the folder for traces, '",
                                                   settings->trace_directory,
                                                   "': ", error.message(), "."));
  }
  settings->trace_directory = absolute;
  if (access(absolute.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot write traces into ", absolute.string(), " (", strerror(errno),
                   "): name another folder with --trace-dir, or record no trace with --no-trace."));
}

absl::Status CheckMachine(const Settings& settings, const Installation& installation) {
  const bool rehearsal = !settings.simulate.empty();
  if (absl::Status status = CheckInstallation(installation, rehearsal); !status.ok()) return status;
  if (!rehearsal) return CheckDriver();
  return CheckSimulator(installation.simulator_directory, settings.simulate).status();
}

// True if a simulated run with this SPEC needs PyTorch's operators. It computes them, unless all
// contents are discarded and read as zeros. A model clock and a log of the work always need them.
bool WantsOperators(const std::string& simulate) {
  const std::vector<std::string> options = absl::StrSplit(simulate, ',');
  const auto has = [&](absl::string_view begin) {
    return std::any_of(options.begin(), options.end(), [begin](const std::string& option) {
      return absl::StartsWith(option, begin);
    });
  };
  return !simulate.empty() && (!has("contents=discard") || has("clock=model") || has("work-log="));
}

void NoteVariables(const Job& job, const FlagValues& flags) {
  for (const std::string& sentence : MisspeltVariables(Environment().entries())) {
    job.note("run", Printable(sentence));
  }
  for (const std::string& sentence : VariablesWithoutPool(flags)) job.note("run", sentence);
}

}  // namespace

absl::StatusOr<CheckedJob> CheckJob(const Job& job) {
  CheckedJob checked;
  checked.flags = job.flags;
  ImplyPool(&checked.flags);
  const auto job_folder = ParseJobFolder(&checked.flags);
  if (!job_folder.ok()) return job_folder.status();
  auto settings = ReadSettings(checked.flags);
  if (!settings.ok()) return settings.status();
  checked.settings = *std::move(settings);
  auto installation = FindInstallation();
  if (!installation.ok()) return installation.status();
  checked.installation = *std::move(installation);
  if (checked.settings.simulate.starts_with(kMatchSpec)) {
    if (absl::Status status = ApplyMatchedCard(job, &checked); !status.ok()) return status;
  }
  ShareSimulatedCard(&checked);
  if (checked.settings.share) MakeShareFolderAbsolute(&checked.flags);
  MakeFolderAbsolute("VRAMSTOW_ADAPTER_DIR", &checked.flags);
  MakeControlFolderAbsolute(&checked.flags);
  if (job.command.empty()) {
    return absl::InvalidArgumentError(
        "no command to run: put it after --, as in vramstow run -- python train.py.");
  }
  if (absl::Status status = PrepareTraceDirectory(&checked.settings); !status.ok()) return status;
  if (absl::Status status = CheckMachine(checked.settings, checked.installation); !status.ok()) {
    return status;
  }
  if (checked.settings.trace) {
    absl::Status status = MakeJobFolder(*job_folder, &checked.settings.trace_directory);
    if (!status.ok()) return status;
    checked.flags[kTraceDirectory] = checked.settings.trace_directory;
  }
  if (!checked.settings.quiet) NoteVariables(job, checked.flags);
  const std::string& spec = checked.settings.simulate;
  auto ranks = FindRanks(checked.installation.simulator_directory, spec);
  if (!ranks.ok()) return ranks.status();
  checked.ranks = *std::move(ranks);
  if (checked.ranks.empty()) return checked;
  if (absl::Status status = CheckStartsNoRanks(job.command, spec); !status.ok()) return status;
  return checked;
}

void AddPreloads(const Job& job, const CheckedJob& checked, Environment* environment) {
  const Settings& settings = checked.settings;
  const Installation& installation = checked.installation;
  const std::string& program = job.command.front();
  const auto with_bar = [&job](auto&& prepare) {
    std::optional<ProgressBar> bar;  // a job that runs apart has that of its command
    if (job.output.empty()) bar.emplace(STDERR_FILENO);
    return prepare();
  };
  // The library that detects other clients of CUPTI must precede CUPTI itself, which may be among
  // the libraries that are added next.
  if (settings.trace && settings.cupti) AddCuptiWatch(installation, environment);
  AddLibraries(installation, !settings.simulate.empty(), environment);
  if (settings.trace && settings.nvtx) AddNvtx(installation, environment);
  if (settings.observed || !settings.simulate.empty()) AddPythonHook(installation, environment);
  if (settings.observed) PrepareObservers(installation, program, environment);
  if (settings.offload) {
    constexpr uint64_t kPatienceMs = 30'000;
    environment->Set(kHostMappingVariable, with_bar([&] {
                       return FindHostMappings({installation, settings.simulate, kPatienceMs},
                                               HostTrialOf::kUnknown);
                     }));
  }
  PrepareCensuses(installation, program, environment);
  if (WantsOperators(settings.simulate)) {
    const std::string why =
        with_bar([&] { return PrepareValues(installation, program, environment); });
    if (!why.empty()) {
      job.note("", absl::StrCat("the simulated run does not compute PyTorch's operators: ",
                                Printable(why), "."));
    }
  }
  if (settings.tensors) {
    AddPythonHook(installation, environment);
    const std::string why =
        with_bar([&] { return PrepareAdapters(installation, program, environment); });
    if (!why.empty()) {
      job.note("", absl::StrCat("the pool serves PyTorch's segments, not its tensors: ",
                                Printable(why), "."));
    }
  }
}

}  // namespace vramstow
