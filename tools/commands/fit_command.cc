// vramstow fit: the largest batch (or whatever a command takes) that fits onto a card, by
// rehearsal.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/commands/fit_once.h"
#include "tools/jobs/rehearsal.h"
#include "tools/jobs/run_folder.h"
#include "tools/json/json_value.h"
#include "tools/launch/end_signals.h"
#include "tools/plan/cards.h"
#include "tools/plan/fit_search.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kFitFooter[] =
    "The command replaces {batch} by the value that it tries. \"Without fragmentation\" means: if "
    "tensors\n"
    "lay without gaps. That is known where the pool can serve the tensors (PyTorch).\n"
    "\n"
    "With --once the command runs as it is, once on each card: does it fit, how much does it take, "
    "what for?\n"
    "\n"
    "Examples:\n"
    "  vramstow fit --simulate=h100,a100 -- python train.py --batch-size {batch}\n"
    "  vramstow fit --once --simulate=h100,l4 -- python train.py\n"
    "  vramstow fit --simulate=rtx4090,memory=16GiB --to 64 --json -- ./job {batch}\n"
    "\n"
    "Exit status: 0; 1 if nothing fits on any card, or the result could not be written; 2 for "
    "wrong\n"
    "arguments, and if the command fails for another reason than memory; 130 after Ctrl-C (143 "
    "after\n"
    "SIGTERM), with what is known by then.";

constexpr int kExitNothingFits = 1;
constexpr char kPlace[] = "{batch}";
constexpr size_t kMaxSites = 10;
constexpr char kInterrupted[] = "interrupted.";

struct Growth {
  std::string site;
  std::string operation;
  double bytes_per_unit = 0;
};

struct CardResult {
  std::string card;
  FitResult found;
  uint64_t capacity = 0;
  // The line of tensors alone, where the pool served them.
  std::optional<FitLine> tensors;
  std::string why_no_tensors;
  std::vector<Growth> growth;
};

// The bytes of the card that a process finds when it begins.
uint64_t CapacityOf(const Facts& facts) {
  uint64_t capacity = 0;
  for (const DeviceFacts& device : facts.devices) {
    const uint64_t total = device.total_bytes.value_or(0);
    capacity = std::max(capacity, device.free_bytes_at_start.value_or(total));
  }
  return capacity;
}

class Fitter {
 public:
  Fitter(std::string folder, std::vector<std::string> command, uint64_t repeat)
      : folder_(std::move(folder)), command_(std::move(command)), repeat_(repeat) {}

  absl::StatusOr<CardResult> Fit(const std::string& card, const FitRange& range) {
    CardResult result;
    result.card = card;
    const auto found = SearchLargest(
        range, [&](uint64_t value) { return Attempt(card, value); }, line_, 0);
    if (!found.ok()) return found.status();
    result.found = *found;
    if (!found->runs.empty()) result.capacity = found->runs.front().capacity;
    line_ = found->line;
    if (found->interrupted) {
      result.why_no_tensors = kInterrupted;
    } else if (found->is_flat) {
      result.why_no_tensors = "the value does not change the peak.";
    } else if (found->largest.has_value()) {
      LookAtTensors(range.from, &result);
    }
    return result;
  }

  uint64_t runs() const { return runs_; }

 private:
  absl::StatusOr<Rehearsal> Run(const std::string& card, uint64_t value, FlagValues flags) {
    flags["VRAMSTOW_SIMULATE"] = card;
    std::vector<std::string> command;
    for (const std::string& word : command_) {
      command.push_back(absl::StrReplaceAll(word, {{kPlace, absl::StrCat(value)}}));
    }
    Progress::OfProcess().Begin(absl::StrCat("rehearsal ", runs_ + 1, ": ", value, " on ", card));
    return Rehearse(command, flags, absl::StrCat(folder_, "/", ++runs_));
  }

  // A job that varies fits if each of its runs does.
  absl::StatusOr<FitRun> Attempt(const std::string& card, uint64_t value) {
    FitRun run;
    run.value = value;
    run.fits = true;
    for (uint64_t i = 0; i < repeat_ && run.fits; ++i) {
      const absl::StatusOr<Rehearsal> rehearsal = Run(card, value, {});
      if (!rehearsal.ok()) return rehearsal.status();
      const Facts& facts = rehearsal->facts;
      run.peak_reserved = std::max(run.peak_reserved, facts.peak.reserved_bytes);
      run.peak_allocated = std::max(run.peak_allocated, facts.peak.allocated_bytes);
      run.peak_requested = std::max(run.peak_requested, facts.peak.requested_bytes);
      run.capacity = CapacityOf(facts);
      run.fits = rehearsal->exit_status == 0;
      if (run.fits || facts.counts.out_of_memory > 0) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "with ", value, " on ", card, " the command failed with exit status ",
          rehearsal->exit_status,
          ", and not for want of memory: ", Printable(LastLineOf(rehearsal->output, 300))));
    }
    Complain("fit", absl::StrCat("run ", runs_, ": ", value, " on ", card,
                                 run.fits ? " fits, " : " does not fit, ", Bytes(run.peak_reserved),
                                 " at the peak"));
    return run;
  }

  // Looks what tensors alone would need, and who grows: seen where the pool serves them.
  void LookAtTensors(uint64_t from, CardResult* result) {
    const uint64_t largest = *result->found.largest;
    const FlagValues flags = {{"VRAMSTOW_POOL", "on"}, {"VRAMSTOW_STACKS", "sites"}};
    const auto small = Run(result->card, from, flags);
    const auto large = largest == from ? small : Run(result->card, largest, flags);
    for (const auto* run : {&small, &large}) {
      if (!run->ok()) {
        result->why_no_tensors = std::string(run->status().message());
        result->found.interrupted |= absl::IsCancelled(run->status());
      } else if ((*run)->exit_status != 0) {
        result->why_no_tensors = "the command failed with --pool=on.";
      }
    }
    if (!result->why_no_tensors.empty()) return;
    result->tensors = LineThrough(from, small->facts.peak.allocated_bytes, largest,
                                  large->facts.peak.allocated_bytes);
    if (!result->tensors.has_value()) {
      result->why_no_tensors = "it needs two values of which the larger takes more.";
      return;
    }
    std::map<std::pair<std::string, std::string>, double> sites;
    for (const SiteFacts& site : large->facts.by_site) {
      sites[{site.site, site.operation}] += static_cast<double>(site.at_peak.bytes);
    }
    for (const SiteFacts& site : small->facts.by_site) {
      sites[{site.site, site.operation}] -= static_cast<double>(site.at_peak.bytes);
    }
    for (const auto& [name, bytes] : sites) {
      if (bytes <= 0) continue;
      result->growth.push_back(
          {name.first, name.second, bytes / static_cast<double>(largest - from)});
    }
    std::ranges::sort(result->growth, std::ranges::greater(), &Growth::bytes_per_unit);
    if (result->growth.size() > kMaxSites) result->growth.resize(kMaxSites);
  }

  const std::string folder_;
  const std::vector<std::string> command_;
  const uint64_t repeat_;
  uint64_t runs_ = 0;
  std::optional<FitLine> line_;  // of the card before
};

const FitRun* LargestRun(const CardResult& result) {
  const FitRun* best = nullptr;
  for (const FitRun& run : result.found.runs) {
    if (run.fits && (best == nullptr || run.value > best->value)) best = &run;
  }
  return best;
}

std::string BytesOf(double bytes) { return Bytes(bytes <= 0 ? 0 : static_cast<uint64_t>(bytes)); }

std::string RunsInText(const CardResult& result) {
  std::string text;
  std::vector<FitRun> runs = result.found.runs;
  std::ranges::sort(runs, {}, &FitRun::value);
  for (const FitRun& run : runs) {
    absl::StrAppendFormat(&text, "  %10d  %-12s %s\n", run.value, Bytes(run.peak_reserved),
                          run.fits ? "" : "does not fit");
  }
  return text;
}

// A note on the largest value, for the line that names it.
const char* NoteOnLargest(const FitResult& found) {
  if (found.interrupted) return " (so far: the search was interrupted)";
  return found.at_end ? " (the largest that was to be tried)" : "";
}

std::string TextOf(const CardResult& result) {
  std::string text = Printable(result.card) + "\n";
  const FitRun* best = LargestRun(result);
  if (best == nullptr) {
    absl::StrAppendFormat(&text, "  not even %d fits into %s\n", result.found.runs.front().value,
                          Bytes(result.capacity));
    return text;
  }
  const uint64_t spare = result.capacity - std::min(result.capacity, best->peak_reserved);
  if (result.found.is_flat) {
    absl::StrAppendFormat(&text,
                          "  every value fits that was tried: the peak is the same with each of "
                          "them, %s of %s,\n  so the value does not change it\n",
                          Bytes(best->peak_reserved), Bytes(result.capacity));
    return text + RunsInText(result);
  }
  absl::StrAppendFormat(&text, "  largest that fits      %d%s: %s at the peak, %s to spare of %s\n",
                        best->value, NoteOnLargest(result.found), Bytes(best->peak_reserved),
                        Bytes(spare), Bytes(result.capacity));
  if (result.tensors.has_value()) {
    absl::StrAppendFormat(
        &text, "  without fragmentation  about %d: tensors take %s + %s per unit of batch\n",
        result.tensors->LargestWithin(result.capacity).value_or(0), BytesOf(result.tensors->fixed),
        BytesOf(result.tensors->slope));
  } else {
    absl::StrAppend(&text, "  without fragmentation  not known: ", Printable(result.why_no_tensors),
                    "\n");
  }
  text += RunsInText(result);
  for (const Growth& growth : result.growth) {
    absl::StrAppendFormat(&text, "  +%s per unit of batch  %s%s\n", BytesOf(growth.bytes_per_unit),
                          Printable(growth.site),
                          growth.operation.empty() ? "" : ", " + Printable(growth.operation));
  }
  return text;
}

JsonValue JsonOf(const CardResult& result) {
  const FitRun* best = LargestRun(result);
  JsonValue runs = JsonValue::Array();
  for (const FitRun& run : result.found.runs) {
    runs.Append(JsonValue::Object({{"value", run.value},
                                   {"fits", run.fits},
                                   {"peak_reserved_bytes", run.peak_reserved},
                                   {"peak_allocated_bytes", run.peak_allocated}}));
  }
  JsonValue json = JsonValue::Object({{"card", result.card},
                                      {"capacity_bytes", result.capacity},
                                      {"largest", nullptr},
                                      {"spare_bytes", nullptr},
                                      {"is_last_tried", result.found.at_end},
                                      {"is_independent_of_value", result.found.is_flat},
                                      {"interrupted", result.found.interrupted},
                                      {"largest_without_fragmentation", nullptr},
                                      {"why_not_known", result.why_no_tensors},
                                      {"runs", std::move(runs)},
                                      {"growth", JsonValue::Array()}});
  if (best != nullptr) {
    json["largest"] = best->value;
    json["spare_bytes"] = result.capacity - std::min(result.capacity, best->peak_reserved);
  }
  if (result.tensors.has_value()) {
    json["largest_without_fragmentation"] = *result.tensors->LargestWithin(result.capacity);
  }
  for (const Growth& growth : result.growth) {
    json["growth"].Append(JsonValue::Object({{"site", growth.site},
                                             {"operation", growth.operation},
                                             {"bytes_per_unit", growth.bytes_per_unit}}));
  }
  return json;
}

int FitIsWrong(const std::string& sentence) {
  Complain("fit", sentence);
  return kExitUsage;
}

struct FitSettings {
  std::string simulate;
  bool once = false;
  FitRange range{1, 65536, 1};
  uint64_t repeat = 1;
  std::string keep;
  bool json = false;
  std::vector<std::string> command;
};

// The result of all cards, and the exit status.
int PrintFit(const FitSettings& settings, const std::string& text, const JsonValue& json,
             bool any_fits) {
  const bool is_interrupted = EndSignals::taken() != 0;
  if (is_interrupted && text.empty()) {
    Complain("fit", "interrupted before anything was known.");
    return EndSignals::exit_status();
  }
  const std::string heading = is_interrupted ? "Interrupted; this is what is known.\n\n" : "";
  const int printed = PrintResult("fit", settings.json ? json.Dump() + "\n" : heading + text);
  if (printed != kExitOk) return printed;
  if (is_interrupted) return EndSignals::exit_status();
  return any_fits ? kExitOk : kExitNothingFits;
}

JsonValue JsonOfSchema(const char* name) {
  return JsonValue::Object({{"schema", JsonValue::Object({{"name", name}, {"version", 1}})},
                            {"cards", JsonValue::Array()}});
}

int FitOnce(const FitSettings& settings, const std::string& folder) {
  std::string text;
  JsonValue json = JsonOfSchema("vramstow.estimate");
  bool any = false;
  size_t number = 0;
  for (const std::string& card : SplitCards(settings.simulate)) {
    Progress::OfProcess().Begin(absl::StrCat("rehearsal on ", card));
    const auto estimate = EstimateOn(card, settings.command, absl::StrCat(folder, "/", ++number));
    if (absl::IsCancelled(estimate.status())) break;
    if (!estimate.ok()) return FitIsWrong(std::string(estimate.status().message()));
    any = any || estimate->fits;
    Complain("fit", absl::StrCat("run ", number, ": ", estimate->fits ? "fits" : "does not fit",
                                 " on ", Printable(card)));
    json["cards"].Append(JsonOf(*estimate));
    text += TextOf(*estimate);
  }
  return PrintFit(settings, text, json, any);
}

int FitCards(const FitSettings& settings, const std::string& folder) {
  Fitter fitter(folder, settings.command, settings.repeat);
  std::string text;
  JsonValue json = JsonOfSchema("vramstow.fit");
  bool any = false;
  for (const std::string& card : SplitCards(settings.simulate)) {
    const auto result = fitter.Fit(card, settings.range);
    if (!result.ok()) return FitIsWrong(std::string(result.status().message()));
    if (result->found.interrupted && result->found.runs.empty()) break;
    any = any || result->found.largest.has_value();
    json["cards"].Append(JsonOf(*result));
    text += TextOf(*result);
    if (result->found.interrupted) break;
  }
  json["rehearsals"] = fitter.runs();
  return PrintFit(settings, text, json, any);
}

// The sentence on wrong arguments, or nothing.
std::string WrongWith(const FitSettings& settings) {
  const bool has_place = std::ranges::any_of(settings.command, [](const std::string& word) {
    return word.find(kPlace) != std::string::npos;
  });
  if (settings.once) {
    return has_place ? "--once runs the command as it is: write a value in place of {batch}." : "";
  }
  if (!has_place) {
    return "the command has no {batch}: write {batch} where the value goes, or rehearse the "
           "command as it is with --once.";
  }
  if (settings.range.step == 0 || settings.repeat == 0 || settings.range.from > settings.range.to) {
    return "--step and --repeat must be at least 1, and --from must not be above --to.";
  }
  return "";
}

}  // namespace

int FitCommand(const std::vector<std::string>& arguments) {
  FitSettings settings;
  const CommandLine line{
      .command = "fit",
      .summary =
          "Finds the largest batch with which a command fits onto a card, by rehearsing the "
          "command with\nseveral values; or tells of one command whether it fits (--once).",
      .footer = kFitFooter,
      .options = {
          {"--simulate",
           &settings.simulate,
           "The cards, as for vramstow run, separated by commas",
           {.required = true, .takes_no_file = true}},
          {"--once",
           &settings.once,
           "Rehearse the command as it is, once on each card",
           {.excludes = {"--from", "--to", "--step", "--repeat"}}},
          {"--from", &settings.range.from, "The first value that is tried (1)"},
          {"--to", &settings.range.to, "The largest value that is tried (65536)"},
          {"--step", &settings.range.step, "The distance between values that are tried (1)"},
          {"--repeat", &settings.repeat, "Runs for each value; all of them must fit (1)"},
          {"--keep", &settings.keep, "A folder that keeps traces and output"},
          {"--json", &settings.json, "Print JSON on one line"},
          {"COMMAND", &settings.command, "The command to rehearse, after --", {.required = true}}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  const std::string wrong = WrongWith(settings);
  if (!wrong.empty()) return FitIsWrong(wrong);
  const RunFolder folder(settings.keep);
  if (!folder.ok()) return FitIsWrong("cannot make a folder for the traces.");
  return settings.once ? FitOnce(settings, folder.path()) : FitCards(settings, folder.path());
}

}  // namespace vramstow
