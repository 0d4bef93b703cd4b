// vramstow check: tests what a run did with memory, for continuous integration.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/default_input.h"
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
    "memory that was free\nbut unusable, the memory that was live at the end, the number of "
    "allocations, and the duration of an\niteration by a simulated GPU's clock. An assertion "
    "compares\nfigures:\npeak_allocated, peak_reserved, peak_requested, allocations, frees, "
    "out_of_memory, handled_failures,\nfragmentation, unusable, iterations, growth, live_at_end, "
    "step_seconds, or any path of the JSON.\n\nExamples:\n  vramstow check run.stow --baseline "
    "base.json --update\n  vramstow check run.stow --baseline base.json --tolerance 5%\n  vramstow "
    "check run.stow --assert 'peak_reserved <= 2GiB && out_of_memory == 0'\n\nExit status: 0 if "
    "everything holds; 1 if something does not hold, or the result could not be\nwritten; 2 for "
    "wrong arguments and inputs that cannot be read.";

constexpr int kExitFailed = 1;

// Reads a baseline: facts, or files from which facts can be made. Returns an empty text on success,
// otherwise one sentence.
std::string ReadBaseline(const std::string& path, const std::string& within, JsonValue* baseline) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    auto inputs = AnalyzePaths({path}, within);
    if (inputs.ok()) {
      PrintLeftOut("check", *inputs);
      *baseline = *JsonValue::Parse(JsonReport(Together(*std::move(inputs))));
      return "";
    }
  }
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
  if (!parsed.has_value() || !parsed->Has("peak")) {
    return absl::StrCat(path,
                        " is not a baseline: --update or vramstow analyze --json writes one.");
  }
  *baseline = *std::move(parsed);
  return "";
}

int CheckIsWrong(const std::string& sentence) {
  Complain("check", sentence);
  return kExitUsage;
}

// `made` is the text that is printed before the verdict.
int PrintVerdict(const Verdict& verdict, const std::string& made, bool json) {
  const int printed =
      PrintResult("check", json ? JsonOf(verdict).Dump() + "\n" : made + TextOf(verdict));
  return printed != kExitOk ? printed : verdict.failures.empty() ? kExitOk : kExitFailed;
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
  if (update && baseline_path.empty()) return CheckIsWrong("--update needs --baseline.");
  Tolerance tolerance;
  if (!ParseTolerance(tolerance_text, &tolerance)) {
    return CheckIsWrong(
        absl::StrCat("'", Printable(tolerance_text),
                     "' is not a tolerance: write a percentage (5%) or bytes (20MiB)."));
  }
  auto inputs = AnalyzePaths({input}, within);
  if (!inputs.ok()) return CheckIsWrong(std::string(inputs.status().message()));
  PrintLeftOut("check", *inputs);
  const FactSet set = Together(*std::move(inputs));
  const std::string text = JsonReport(set);
  JsonValue facts = *JsonValue::Parse(text);
  AddSteadyState({}, &facts);
  Verdict verdict = VerdictOnMissing(set);
  if (update) {
    if (!WriteOutputFile(baseline_path, text)) {
      Complain("check", absl::StrCat("cannot write ", baseline_path, ": ", strerror(errno), "."));
      return kExitCannotWrite;
    }
  } else if (!baseline_path.empty()) {
    JsonValue baseline;
    const std::string problem = ReadBaseline(baseline_path, within, &baseline);
    if (!problem.empty()) return CheckIsWrong(problem);
    AddSteadyState({}, &baseline);
    CheckBaseline(baseline, facts, tolerance, &verdict);
  }
  for (const std::string& assertion : assertions) {
    const auto result = Assert(facts, assertion);
    if (!result.ok()) return CheckIsWrong(std::string(result.status().message()));
    if (!result->holds) verdict.failures.push_back(result->why_not);
  }
  const std::string made =
      update && !json ? absl::StrCat(Printable(baseline_path), " is the baseline now\n") : "";
  return PrintVerdict(verdict, made, json);
}

}  // namespace vramstow
