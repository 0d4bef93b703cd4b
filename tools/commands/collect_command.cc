// vramstow collect: puts the facts of many jobs into one dataset, with a page about it.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/analysis/facts/known_part.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/output_check.h"
#include "tools/exports/python_helper.h"
#include "tools/inputs/open_input.h"
#include "tools/inputs/runs.h"
#include "tools/json/json_value.h"
#include "tools/launch/installation.h"
#include "tools/pipeline/analyze.h"
#include "tools/report/json.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kCollectFooter[] =
    "Each DIR is a job, and each trace in it is a rank. The name of the job is the name of the "
    "folder, or\nthe name that --job gives. Facts are added, not events; a process that was "
    "already added is not added\nagain. DATASET has the tables ranks, advice, sizes and levels as "
    "Parquet files by day and job;\nlib/vramstow/export/fleet_*.sql are queries for it. Python "
    "with duckdb writes it\n(VRAMSTOW_PYTHON).\n\nExamples:\n  vramstow collect traces/17 "
    "traces/18 --to fleet/\n  vramstow collect traces/19 --job pretraining --to "
    "s3://bucket/fleet\n  vramstow collect --to fleet/ --page fleet.html\n\nExit status: 0, also "
    "if some traces cannot be read and are left out; 1 if something could not be\nwritten; 2 if a "
    "DIR has no trace, or no trace can be read.";

struct CollectRequest {
  std::vector<std::string> jobs;
  std::string name;  // a common name; empty for the names of their folders
  std::string dataset;
  std::string page;
  bool json = false;
};

// Returns the name of a folder, even if it is given as "." or with a trailing slash.
std::string NameOf(const std::string& folder) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::weakly_canonical(folder, error);
  if (error) path = folder;
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

// Returns the traces of a job. Fails with a sentence if there are none.
absl::StatusOr<std::vector<std::string>> TracesOf(const std::string& job) {
  std::error_code error;
  if (!std::filesystem::exists(job, error)) {
    return absl::NotFoundError(absl::StrCat("there is no ", job, ": name folders with traces."));
  }
  std::vector<std::string> files = FilesOf(job);
  std::erase_if(files, [](const std::string& file) { return !file.ends_with(".stow"); });
  if (files.empty()) {
    return absl::NotFoundError(absl::StrCat(job, " contains no trace (.stow)."));
  }
  // A copy has events that are in another file: it is not a further rank.
  RemoveCopies(&files);
  return files;
}

// The number of a process that has no rank, in a job whose other processes have ranks.
constexpr int64_t kNoRank = -1;

bool HasRanks(const std::vector<std::string>& files) {
  return std::ranges::any_of(
      files, [](const std::string& file) { return OriginOf(file).rank.has_value(); });
}

// Returns the line about one process for the helper. `without_rank` is its number if it has no
// rank. The line is empty for a process that has no number and used no memory, such as a launcher.
// Fails if the file is no readable trace.
absl::StatusOr<std::string> LineOf(const std::string& job, const std::string& file,
                                   int64_t without_rank) {
  auto inputs = AnalyzePaths({file});
  if (!inputs.ok()) return inputs.status();
  if (MayHidePeak(inputs->analyses.front().facts)) {
    Complain("collect", absl::StrCat(Printable(file), " shows only what happened ",
                                     KnownPartInWords(inputs->analyses.front().facts),
                                     ". Its figures are only lower bounds."));
  }
  const uint64_t peak = inputs->analyses.front().facts.peak.allocated_bytes;
  auto facts = JsonValue::Parse(JsonReport(Together(*std::move(inputs))));
  if (!facts.has_value()) return absl::InternalError(absl::StrCat(file, ": no facts."));
  const JsonValue* const process = facts->Find("process");
  const JsonValue* const rank = process == nullptr ? nullptr : process->Find("rank");
  const bool has_rank = rank != nullptr && rank->is_number();
  const int64_t number = has_rank ? process->Integer("rank") : without_rank;
  if (number == kNoRank && peak == 0) return "";
  JsonValue line = JsonValue::Object({{"job", job}, {"rank", number}});
  line["facts"] = *std::move(facts);
  return line.Dump() + "\n";
}

int CollectIsWrong(const absl::Status& status) {
  Complain("collect", std::string(status.message()));
  return status.code() == absl::StatusCode::kUnavailable ? kExitCannotWrite : kExitUsage;
}

// Sends each trace of each job to the helper; unreadable ones are skipped and reported.
absl::Status SendAll(const CollectRequest& request, int to_helper, size_t* sent) {
  for (const std::string& job : request.jobs) {
    const auto files = TracesOf(job);
    if (!files.ok()) return files.status();
    const std::string name = request.name.empty() ? NameOf(job) : request.name;
    const bool has_ranks = HasRanks(*files);
    for (size_t i = 0; i < files->size(); ++i) {
      const auto line = LineOf(name, (*files)[i], has_ranks ? kNoRank : static_cast<int64_t>(i));
      if (!line.ok()) {
        Complain("collect", absl::StrCat("left out: ", std::string(line.status().message())));
        continue;
      }
      if (line->empty()) continue;
      // A failed write means that the helper has ended. The helper itself reports the reason.
      if (!WriteAll(to_helper, *line)) return absl::OkStatus();
      ++*sent;
    }
  }
  return absl::OkStatus();
}

}  // namespace

int CollectCommand(const std::vector<std::string>& arguments) {
  CollectRequest request;
  const CommandLine line{
      .command = "collect",
      .summary =
          "Adds the facts of jobs to a dataset of many jobs, and writes an HTML page about it.",
      .footer = kCollectFooter,
      .options = {{"DIR", &request.jobs, "Folders, each with the traces of one job"},
                  {"--to",
                   &request.dataset,
                   "The dataset: a folder, or a path that DuckDB can write",
                   {.required = true}},
                  {"--job", &request.name, "Name of the job", {.takes_no_file = true}},
                  {"--page", &request.page, "Also write an HTML page about the whole dataset"},
                  {"--json", &request.json, "Print what was collected, as JSON"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  if (request.jobs.empty() && request.page.empty()) {
    return CollectIsWrong(absl::InvalidArgumentError(
        "name folders with traces to add, or a page to write with --page."));
  }
  if (const std::string wrong = WhyNotWrite(request.page, request.jobs, "--page"); !wrong.empty()) {
    return CollectIsWrong(absl::InvalidArgumentError(wrong));
  }
  // Checks all jobs before the helper writes anything.
  for (const std::string& job : request.jobs) {
    if (const auto files = TracesOf(job); !files.ok()) return CollectIsWrong(files.status());
  }
  const auto installation = FindInstallation();
  if (!installation.ok()) return CollectIsWrong(installation.status());
  PythonScript script{.file = installation->export_parts + "/collect.py",
                      .arguments = {request.dataset},
                      .package = "duckdb",
                      .what = "a dataset",
                      .target = request.dataset};
  if (!request.page.empty()) {
    script.arguments.push_back(request.page);
    absl::StrAppend(&script.target, " or ", request.page);
  }
  auto helper = PythonHelper::Start(script);
  if (!helper.ok()) return CollectIsWrong(helper.status());
  size_t sent = 0;
  const absl::Status all = SendAll(request, (*helper)->input(), &sent);
  const absl::Status helped = (*helper)->Finish();
  if (!all.ok()) return CollectIsWrong(all);
  if (!helped.ok()) return CollectIsWrong(helped);
  if (sent == 0 && !request.jobs.empty()) {
    return CollectIsWrong(absl::InvalidArgumentError("there was no trace that could be read."));
  }
  if (!request.json) return kExitOk;
  return PrintResult(
      "collect",
      absl::StrCat("{\"dataset\":", JsonText(request.dataset), ",\"ranks\":", sent,
                   ",\"page\":", request.page.empty() ? "null" : JsonText(request.page), "}\n"));
}

}  // namespace vramstow
