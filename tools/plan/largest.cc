#include "tools/plan/largest.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/jobs/rehearsal.h"
#include "tools/jobs/settings.h"
#include "tools/plan/estimate.h"

namespace vramstow {
namespace {

constexpr size_t kMaxSites = 10;
constexpr size_t kLargestColumns = 100;
constexpr char kInterrupted[] = "interrupted.";

// Takes over what the fullest GPU had to provide, without contexts. If several processes share it,
// this is the sum of their peaks, which is at most what a GPU has that the run fits onto.
void FillRun(const Rehearsal& rehearsal, FitRun* run) {
  const Facts& facts = rehearsal.facts;
  uint64_t reserved = facts.peak.reserved_bytes;
  if (!rehearsal.gpus.empty()) {
    const GpuUse& gpu = rehearsal.gpus.front();
    run->capacity = gpu.total_bytes - std::min(gpu.total_bytes, gpu.context_bytes);
    run->processes_on_gpu = std::max(run->processes_on_gpu, gpu.processes);
    reserved = run->fits ? std::min(gpu.reserved_bytes, run->capacity) : gpu.reserved_bytes;
  }
  run->out_of_memory = std::max(run->out_of_memory, facts.counts.out_of_memory);
  run->peak_reserved = std::max(run->peak_reserved, reserved);
  run->peak_allocated = std::max(run->peak_allocated, facts.peak.allocated_bytes);
  run->peak_requested = std::max(run->peak_requested, facts.peak.requested_bytes);
}

const FitRun* LargestRun(const LargestOnCard& result) {
  const FitRun* best = nullptr;
  for (const FitRun& run : result.found.runs) {
    if (run.fits && (best == nullptr || run.value > best->value)) best = &run;
  }
  return best;
}

std::string BytesOf(double bytes) { return Bytes(bytes <= 0 ? 0 : static_cast<uint64_t>(bytes)); }

// Says whether a run fits. A run that was refused memory does not, even if it continued without.
std::string VerdictOn(const FitRun& run) {
  if (run.fits) return "fits";
  if (!run.continued) return "does not fit";
  return absl::StrCat("does not fit: it ran out of memory ", Counted(run.out_of_memory, "time"),
                      ", and continued");
}

std::string RunsInText(const LargestOnCard& result) {
  std::string text;
  std::vector<FitRun> runs = result.found.runs;
  std::ranges::sort(runs, {}, &FitRun::value);
  for (const FitRun& run : runs) {
    absl::StrAppendFormat(&text, "  %10d  %-12s %s\n", run.value, Bytes(run.peak_reserved),
                          run.fits ? "" : VerdictOn(run));
  }
  return text;
}

// Returns a note on the largest value, for the line that names it.
std::string NoteOnLargest(const FitResult& found) {
  if (found.interrupted) return " (so far: the search was interrupted)";
  return found.at_end ? " (the largest value to try)" : "";
}

class LargestFinder {
 public:
  LargestFinder(const LargestRequest& request, std::string folder, PlanNote note)
      : request_(request), folder_(std::move(folder)), note_(std::move(note)) {}

  absl::StatusOr<LargestOnCard> Find(const std::string& card);
  uint64_t rehearsals() const { return runs_; }

 private:
  absl::StatusOr<Rehearsal> Run(const std::string& card, uint64_t value, FlagValues flags);
  absl::StatusOr<FitRun> Attempt(const std::string& card, uint64_t value);
  void LookAtTensors(LargestOnCard* result);

  const LargestRequest& request_;
  const std::string folder_;
  const PlanNote note_;
  uint64_t runs_ = 0;
  std::optional<FitLine> line_;  // the result for the previous card
};

absl::StatusOr<LargestOnCard> LargestFinder::Find(const std::string& card) {
  LargestOnCard result;
  result.card = card;
  const auto found = SearchLargest(
      request_.range, [&](uint64_t value) { return Attempt(card, value); }, line_, 0);
  if (!found.ok()) return found.status();
  result.found = *found;
  if (!found->runs.empty()) result.capacity = found->runs.front().capacity;
  line_ = found->line;
  if (found->interrupted) {
    result.why_no_tensors = kInterrupted;
  } else if (found->is_flat) {
    result.why_no_tensors = "the value does not change the peak.";
  } else if (found->largest.has_value()) {
    LookAtTensors(&result);
  }
  return result;
}

absl::StatusOr<Rehearsal> LargestFinder::Run(const std::string& card, uint64_t value,
                                             FlagValues flags) {
  flags["VRAMSTOW_SIMULATE"] = card;
  std::vector<std::string> command;
  for (const std::string& word : request_.command) {
    command.push_back(absl::StrReplaceAll(word, {{kBatchPlace, absl::StrCat(value)}}));
  }
  Progress::OfProcess().Begin(absl::StrCat("simulated run ", runs_ + 1, ": ", value, " on ", card));
  return Rehearse(command, flags, absl::StrCat(folder_, "/", ++runs_));
}

// Runs the command with this value, several times if the request says so. The value fits if it fits
// in each run.
absl::StatusOr<FitRun> LargestFinder::Attempt(const std::string& card, uint64_t value) {
  FitRun run;
  run.value = value;
  run.fits = true;
  for (uint64_t i = 0; i < request_.repeat && run.fits; ++i) {
    const absl::StatusOr<Rehearsal> rehearsal = Run(card, value, {});
    if (!rehearsal.ok()) return rehearsal.status();
    const bool was_refused = rehearsal->facts.counts.out_of_memory > 0;
    run.fits = rehearsal->exit_status == 0 && !was_refused;
    run.continued = rehearsal->exit_status == 0 && was_refused;
    FillRun(*rehearsal, &run);
    if (run.fits || was_refused) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "with ", value, " on ", card, " the command failed with exit status ",
        rehearsal->exit_status,
        ", and not because of memory: ", Printable(LastLineOf(rehearsal->output, 300))));
  }
  note_(absl::StrCat("run ", runs_, ": ", value, " on ", card, " ", VerdictOn(run), ", ",
                     Bytes(run.peak_reserved), " at the peak"));
  return run;
}

// Finds how much memory the tensors alone would need, and at which call sites memory grows. Both
// can be measured if vramstow's pool serves the requests.
void LargestFinder::LookAtTensors(LargestOnCard* result) {
  const uint64_t from = request_.range.from;
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
    result->why_no_tensors = "it needs two values, and the larger one must need more memory.";
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

// Says that the peaks are upper bounds, if several processes share a GPU.
std::string NoteOnSharing(const LargestOnCard& result) {
  const bool are_shared = std::ranges::any_of(
      result.found.runs, [](const FitRun& run) { return run.processes_on_gpu > 1; });
  return are_shared ? absl::StrCat(Wrapped(kSumOfProcesses, kLargestColumns), "\n") : "";
}

std::string TextOfCard(const LargestOnCard& result) {
  std::string text = Printable(result.card) + "\n";
  const FitRun* best = LargestRun(result);
  if (best == nullptr) {
    absl::StrAppendFormat(&text, "  not even %d fits into %s\n", result.found.runs.front().value,
                          Bytes(result.capacity));
    return text + RunsInText(result);
  }
  const uint64_t spare = result.capacity - std::min(result.capacity, best->peak_reserved);
  if (result.found.is_flat) {
    absl::StrAppendFormat(&text,
                          "  every value that was tried fits: the peak is the same with each of "
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

JsonValue JsonOfCard(const LargestOnCard& result) {
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

}  // namespace

bool LargestReport::any_fits() const {
  return std::ranges::any_of(
      cards, [](const LargestOnCard& card) { return card.found.largest.has_value(); });
}

absl::StatusOr<LargestReport> FindLargest(const LargestRequest& request, const std::string& folder,
                                          const PlanNote& note) {
  LargestFinder finder(request, folder, note);
  LargestReport report;
  for (const std::string& card : request.cards) {
    auto result = finder.Find(card);
    if (!result.ok()) return result.status();
    if (result->found.interrupted && result->found.runs.empty()) break;
    report.cards.push_back(*std::move(result));
    if (report.cards.back().found.interrupted) break;
  }
  report.rehearsals = finder.rehearsals();
  return report;
}

std::string TextOf(const LargestReport& report) {
  std::string text;
  std::string note;
  for (const LargestOnCard& card : report.cards) {
    text += TextOfCard(card);
    if (note.empty()) note = NoteOnSharing(card);
  }
  return text + note;
}

JsonValue JsonOf(const LargestReport& report) {
  JsonValue json =
      JsonValue::Object({{"schema", JsonValue::Object({{"name", "vramstow.fit"}, {"version", 1}})},
                         {"cards", JsonValue::Array()}});
  for (const LargestOnCard& card : report.cards) json["cards"].Append(JsonOfCard(card));
  json["rehearsals"] = report.rehearsals;
  return json;
}

}  // namespace vramstow
