#include "tools/launch/job_folder.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace vramstow {
namespace {

// The variables by which launchers give each process the id of its job.
constexpr const char* kJobVariables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
                                         "FLUX_JOB_ID",  "JOB_ID",    "TORCHELASTIC_RUN_ID"};
constexpr const char* kRankVariables[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
                                          "PMI_RANK"};

std::string_view VariableOf(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string_view() : value;
}

// Returns the job's id in a form that can be a part of a file name. For example, "123[4].server"
// becomes "123_4_.server".
std::string AsName(std::string_view job) {
  constexpr size_t kLongest = 100;
  std::string name(job.substr(0, kLongest));
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '-' && c != '.') c = '_';
  }
  return name;
}

absl::StatusOr<std::string> JobName() {
  for (const char* variable : kJobVariables) {
    const std::string_view job = VariableOf(variable);
    // torchrun calls a job without a name "none".
    if (!job.empty() && job != "none") return AsName(job);
  }
  const bool is_rank =
      std::any_of(std::begin(kRankVariables), std::end(kRankVariables),
                  [](const char* variable) { return !VariableOf(variable).empty(); });
  if (is_rank) {
    return absl::InvalidArgumentError(
        "--trace-dir contains %j, but the name of the job to which this rank belongs is unknown: "
        "set TORCHELASTIC_RUN_ID (torchrun --rdzv-id), or name a folder.");
  }
  const time_t now = time(nullptr);
  tm parts = {};
  localtime_r(&now, &parts);
  return absl::StrFormat("%04d%02d%02d-%02d%02d%02d-%d", parts.tm_year + 1900, parts.tm_mon + 1,
                         parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, getpid());
}

// Splits a path into the part that exists, and the rest, which has to be made below it.
JobFolder ToBeMade(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::path there = path;
  std::filesystem::path below;
  while (!there.empty() && !std::filesystem::exists(there, ignored) &&
         !std::filesystem::is_symlink(there, ignored)) {
    if (there.has_filename()) below = there.filename() / below;
    if (there.parent_path() == there) break;
    there = there.parent_path();
  }
  std::string name = below.string();
  while (name.ends_with('/')) name.pop_back();
  return {there.empty() ? "." : there.string(), std::move(name)};
}

}  // namespace

absl::StatusOr<JobFolder> FindJobFolder(const std::string& directory) {
  if (directory.empty()) return JobFolder{directory, ""};
  if (directory.find("%j") == std::string::npos) return ToBeMade(directory);
  std::string_view whole = directory;
  while (whole.size() > 1 && whole.ends_with('/')) whole.remove_suffix(1);
  const size_t slash = whole.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? whole : whole.substr(slash + 1);
  std::filesystem::path parent = ".";
  if (slash != std::string_view::npos) parent = whole.substr(0, std::max<size_t>(slash, 1));
  if (parent.string().find("%j") != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("--trace-dir is '", directory,
                     "': %j (the job's name) is allowed only in the last path component."));
  }
  const auto job = JobName();
  if (!job.ok()) return job.status();
  const std::filesystem::path name =
      absl::StrReplaceAll(std::string(last), {{"%j", std::string(*job)}});
  return ToBeMade(slash == std::string_view::npos ? name : parent / name);
}

absl::Status MakeJobFolder(const JobFolder& folder, std::string* directory) {
  if (folder.name.empty()) return absl::OkStatus();
  const std::string path = absl::StrCat(*directory, "/", folder.name);
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot create the folder for traces, '", path, "' (", error.message(), ")."));
  }
  if (access(path.c_str(), W_OK | X_OK) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot write traces into ", path, " (",
                                                   strerror(errno), "): name another folder."));
  }
  *directory = path;
  return absl::OkStatus();
}

}  // namespace vramstow
