// vramstow check: tests what a run did with memory, for continuous integration.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/default_input.h"
#include "tools/commands/output_check.h"
#include "tools/compare/compare.h"
#include "tools/compare/verdict.h"
#include "tools/json/json_value.h"
#include "tools/pipeline/analyze.h"
#include "tools/report/json.h"
#include "tools/terminal/output.h"
#include "tools/terminal/output_file.h"

namespace vramstow {
namespace {

constexpr char kCheckFooter[] =
    "A baseline is the output of vramstow analyze --json, or an input of that command. Compared "
    "with the\nbaseline, these figures may not rise by more than the tolerance: the peaks, the "
    "memory that was free\nbut unusable, the peak of the steady iterations and the memory between "
    "them, the memory that was live\nat the end, the number of allocations and of requests for "
    "which there was not enough memory, and the\nduration of an iteration by a simulated GPU's "
    "clock. An assertion compares figures:\npeak_allocated, peak_reserved, peak_requested, "
    "allocations, frees, out_of_memory, handled_failures,\nfragmentation, unusable, iterations, "
    "growth, live_at_end, step_seconds, steady_peak, steady_between,\nor any path of the "
    "JSON. For a folder with several processes, peaks and counts are the sums over all\nprocesses; "
    "ranks.2.peak.reserved_bytes is the figure of the third process alone.\n\nExamples:\n  "
    "vramstow check run.stow --baseline "
    "base.json --update\n  vramstow check run.stow --baseline base.json --tolerance 5%\n  vramstow "
    "check run.stow --assert 'peak_reserved <= 2GiB && out_of_memory == 0'\n\nExit status: 0 if "
    "everything holds; 1 if something does not hold, or the result could not be\nwritten; 2 for "
    "wrong arguments and inputs that cannot be read.";

constexpr int kExitFailed = 1;

// Reads the text of a baseline that is a file of facts. Returns an empty text on success, otherwise
// one sentence.
std::string ReadFacts(const std::string& path, JsonValue* baseline) {
  std::ifstream file(path);
  std::stringstream text;
  if (file) {
    errno = 0;
    text << file.rdbuf();  // an empty file makes this fail, too
  }
  if (!file || errno != 0) {
    return absl::StrCat("cannot read ", path, ": ", strerror(errno),
                        "; --update writes this run as a baseline.");
  }
  auto parsed = JsonValue::Parse(text.str());
  const JsonValue* schema = parsed.has_value() ? parsed->Find("schema") : nullptr;
  if (schema == nullptr || schema->Text("name") != kSchemaName) {
    return absl::StrCat(path,
                        " is not a baseline: --update or vramstow analyze --json writes one.");
  }
  if (const int64_t version = schema->Integer("version"); version != kSchemaVersion) {
    return absl::StrCat(path, " has version ", version, " of the baseline's format, and this ",
                        "vramstow reads version ", kSchemaVersion,
                        ": write the baseline again with --update.");
  }
  *baseline = *std::move(parsed);
  return "";
}

// Reads a baseline: facts, or files from which facts can be made. Returns an empty text on success,
// otherwise one sentence.
std::string ReadBaseline(const std::string& path, const std::string& within, JsonValue* baseline) {
  std::error_code error;
  std::string why_not_analysed;
  if (std::filesystem::exists(path, error)) {
    auto inputs = AnalyzePaths({path}, within);
    if (inputs.ok()) {
      PrintLeftOut("check", *inputs);
      if (!inputs->not_read.empty()) {
        return absl::StrCat("a trace of the baseline cannot be read: ", inputs->not_read[0]);
      }
      *baseline = *JsonValue::Parse(JsonReport(Together(*std::move(inputs))));
      return "";
    }
    // Facts cannot be analysed either. The reason matters only for a folder or a trace.
    if (std::filesystem::is_directory(path, error) || path.ends_with(".stow")) {
      why_not_analysed = std::string(inputs.status().message());
    }
  }
  const std::string problem = ReadFacts(path, baseline);
  return problem.empty() || why_not_analysed.empty() ? problem : why_not_analysed;
}

// Adds a failure for each figure that rose. Returns one sentence if the baseline is none; otherwise
// an empty text.
std::string CompareWithBaseline(const std::string& path, const std::string& within,
                                const JsonValue& facts, const Tolerance& tolerance,
                                Verdict* verdict) {
  JsonValue baseline;
  if (std::string problem = ReadBaseline(path, within, &baseline); !problem.empty()) return problem;
  AddSteadyState({}, &baseline);
  if (CompareFigures(baseline, facts).empty()) {
    return absl::StrCat(path,
                        " has none of the figures that are compared: --update or vramstow analyze "
                        "--json writes a baseline.");
  }
  CheckBaseline(baseline, facts, tolerance, verdict);
  return "";
}

int CheckIsWrong(const std::string& sentence) {
  Complain("check", sentence);
  return kExitUsage;
}

// Returns one sentence if --update cannot write the baseline; otherwise an empty text.
std::string WhyNoUpdate(const std::string& baseline, const std::string& input) {
  return baseline.empty() ? "--update needs --baseline."
                          : WhyNotWrite(baseline, {input}, "--baseline");
}

// A baseline without the memory of one process would make each later check fail.
int RefuseBaseline(const std::string& not_read) {
  return CheckIsWrong(
      absl::StrCat("no baseline is written, because a trace cannot be read: ", not_read));
}

// Adds a failure for each assertion that does not hold. Fails if one cannot be understood.
absl::Status CheckAssertions(const JsonValue& facts, const std::vector<std::string>& assertions,
                             Verdict* verdict) {
  for (const std::string& assertion : assertions) {
    const auto result = Assert(facts, assertion);
    if (!result.ok()) return result.status();
    if (!result->holds) {
      std::vector<std::string> sentences = {result->why_not};
      sentences.insert(sentences.end(), result->sums.begin(), result->sums.end());
      verdict->failures.push_back(absl::StrJoin(sentences, " "));
      continue;
    }
    for (const std::string& sum : result->sums) {
      if (std::ranges::find(verdict->notes, sum) == verdict->notes.end()) {
        verdict->notes.push_back(sum);
      }
    }
  }
  return absl::OkStatus();
}

// `made` is the text that is printed before the verdict.
int PrintVerdict(const Verdict& verdict, const std::string& made, bool json) {
  const int printed =
      PrintResult("check", json ? JsonOf(verdict).Dump() + "\n" : made + TextOf(verdict));
  return printed != kExitOk ? printed : verdict.failures.empty() ? kExitOk : kExitFailed;
}

// Writes the baseline, unless `why_not` gives a reason against it.
int Update(const std::string& path, const std::string& text, const std::string& why_not, bool json,
           Verdict* verdict) {
  if (!why_not.empty()) {
    verdict->failures.push_back(absl::StrCat("no baseline is written, because ", why_not, "."));
    return PrintVerdict(*verdict, "", json);
  }
  if (!WriteOutputFile(path, text)) {
    Complain("check", absl::StrCat("cannot write ", path, ": ", strerror(errno), "."));
    return kExitCannotWrite;
  }
  return PrintVerdict(*verdict, json ? "" : Printable(path) + " is the baseline now\n", json);
}

}  // namespace

int CheckCommand(const std::vector<std::string>& arguments) {
  std::string input;
  std::string baseline_path;
  std::string within;
  std::string tolerance_text = "0";
  std::vector<std::string> assertions;
  bool update = false;
  bool json = false;
  const CommandLine line{
      .command = "check",
      .summary = "Tests how a run used memory: against an earlier run, and against assertions.",
      .footer = kCheckFooter,
      .options = {
          {"INPUT", &input, "A file or folder, as for vramstow analyze", {.required = true}},
          {"--baseline", &baseline_path, "The facts of an earlier run, or its trace"},
          {"--tolerance",
           &tolerance_text,
           "The increase that is accepted, in percent or in bytes: 5% or 20MiB (0)",
           {.takes_no_file = true}},
          {"--assert",
           &assertions,
           "A condition that must hold; may be given several times",
           {.one_at_a_time = true, .takes_no_file = true}},
          {"--within",
           &within,
           "Look only at ranges that the program marked with this name",
           {.takes_no_file = true}},
          {"--update", &update, "Write this run as the baseline, and compare nothing with it"},
          {"--json", &json, "Print JSON on one line"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  if (baseline_path.empty() && assertions.empty()) {
    return CheckIsWrong("there is nothing to check: give --baseline or --assert.");
  }
  if (update) {
    const std::string why_not = WhyNoUpdate(baseline_path, input);
    if (!why_not.empty()) return CheckIsWrong(why_not);
  }
  Tolerance tolerance;
  if (!ParseTolerance(tolerance_text, &tolerance)) {
    return CheckIsWrong(
        absl::StrCat("'", Printable(tolerance_text),
                     "' is not a tolerance: write a percentage (5%) or bytes (20MiB)."));
  }
  auto inputs = AnalyzePaths({input}, within);
  if (!inputs.ok()) return CheckIsWrong(std::string(inputs.status().message()));
  PrintLeftOut("check", *inputs);
  const std::vector<std::string> not_read = inputs->not_read;
  if (update && !not_read.empty()) return RefuseBaseline(not_read.front());
  const FactSet set = Together(*std::move(inputs));
  const std::string text = JsonReport(set);
  JsonValue facts = *JsonValue::Parse(text);
  AddSteadyState({}, &facts);
  Verdict verdict = VerdictOnMissing(set, not_read);
  // The figures of a run that is not whole are too low, so each later check would fail.
  std::string why_no_baseline = verdict.failures.empty() ? "" : "the figures are not complete";
  if (WarnOfFailedPrograms(set, &verdict) && why_no_baseline.empty()) {
    why_no_baseline = "the program failed";
  }
  if (!update && !baseline_path.empty()) {
    const std::string problem =
        CompareWithBaseline(baseline_path, within, facts, tolerance, &verdict);
    if (!problem.empty()) return CheckIsWrong(problem);
  }
  if (const absl::Status status = CheckAssertions(facts, assertions, &verdict); !status.ok()) {
    return CheckIsWrong(std::string(status.message()));
  }
  if (!update) return PrintVerdict(verdict, "", json);
  return Update(baseline_path, text, why_no_baseline, json, &verdict);
}

}  // namespace vramstow
