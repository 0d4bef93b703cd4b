#include "tools/plan/estimate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tools/base/words.h"
#include "tools/jobs/rehearsal.h"

namespace vramstow {
namespace {

// The option that gives a simulated card the largest memory it can have.
constexpr char kMuchMemory[] = ",memory=1TiB";
// The names of the parts of the peak that are not memory of blocks.
constexpr char kCached[] = "cached";
constexpr char kContext[] = "context";
constexpr char kOtherProcesses[] = "other processes";
constexpr size_t kEstimateColumns = 98;

absl::StatusOr<Rehearsal> Run(const std::string& card, const std::vector<std::string>& command,
                              const std::string& folder, FlagValues flags) {
  flags["VRAMSTOW_SIMULATE"] = card;
  flags["VRAMSTOW_STACKS"] = "sites";  // stacks show the purpose of blocks
  return Rehearse(command, flags, folder);
}

// Returns the option that gives another simulated card the contexts of this run. Where the card's
// memory is small, they are smaller than on a card with more memory.
std::string ContextOf(const Rehearsal& rehearsal, const std::string& card) {
  uint64_t context = 0;
  for (const GpuUse& gpu : rehearsal.gpus) {
    context = std::max(context, gpu.context_bytes / std::max<size_t>(gpu.traces.size(), 1));
  }
  if (context == 0 || absl::StrContains(card, ",context=")) return "";
  return absl::StrCat(",context=", context);
}

// Returns the GPUs that the process used whose facts the rehearsal has.
std::vector<GpuUse> GpusOf(const Rehearsal& rehearsal) {
  std::vector<GpuUse> gpus;
  for (const GpuUse& gpu : rehearsal.gpus) {
    if (std::ranges::find(gpu.traces, rehearsal.trace) != gpu.traces.end()) gpus.push_back(gpu);
  }
  return gpus;
}

// Fills in the peak and its parts. The rehearsal must be of a run without refused requests. If it
// is of the card itself, and not of one with more memory, no GPU was more than full.
void FillPeak(const Rehearsal& rehearsal, bool is_of_card, CardEstimate* estimate) {
  const Facts& facts = rehearsal.facts;
  const auto taken_of = [&](const GpuUse& gpu) {
    return is_of_card ? std::min(gpu.taken_bytes(), gpu.total_bytes) : gpu.taken_bytes();
  };
  if (!rehearsal.gpus.empty()) {
    estimate->spare_bytes = static_cast<int64_t>(estimate->total_bytes) -
                            static_cast<int64_t>(taken_of(rehearsal.gpus.front()));
  }
  uint64_t taken = 0;
  uint64_t context = 0;
  const std::vector<GpuUse> gpus = GpusOf(rehearsal);
  estimate->devices = gpus.size();
  for (const GpuUse& gpu : gpus) {
    taken += taken_of(gpu);
    context += gpu.context_bytes;
    estimate->sharing = std::max(estimate->sharing, gpu.processes);
  }
  const uint64_t reserved = facts.peak.reserved_bytes;
  const uint64_t own = reserved + context;
  estimate->peak_bytes = estimate->sharing > 1 ? std::max(taken, own) : own;
  uint64_t in_blocks = 0;
  for (const CategoryFacts& category : facts.by_category) {
    if (category.at_peak.bytes == 0) continue;
    estimate->parts.push_back({category.name, category.at_peak.bytes});
    in_blocks += category.at_peak.bytes;
  }
  std::ranges::stable_sort(estimate->parts, std::ranges::greater(), &CardEstimate::Part::bytes);
  const uint64_t cached = reserved - std::min(reserved, in_blocks);
  if (cached > 0) estimate->parts.push_back({kCached, cached});
  if (*estimate->peak_bytes > own) {
    estimate->parts.push_back({kOtherProcesses, *estimate->peak_bytes - own});
  }
  estimate->parts.push_back({kContext, context});
}

absl::Status FailedFor(const Rehearsal& rehearsal, const std::string& card) {
  return absl::FailedPreconditionError(
      absl::StrCat("on ", card, " the command failed with exit status ", rehearsal.exit_status,
                   ", and not because of memory: ", Printable(LastLineOf(rehearsal.output, 300))));
}

}  // namespace

const char kSumOfProcesses[] =
    "Several processes share a GPU: its peak is the sum of their peaks and contexts, which is an "
    "upper bound, because they need not have their peaks at the same moment.";

absl::StatusOr<CardEstimate> EstimateOn(const std::string& card,
                                        const std::vector<std::string>& command,
                                        const std::string& folder, const FlagValues& more_flags) {
  auto rehearsal = Run(card, command, folder, more_flags);
  if (!rehearsal.ok()) return rehearsal.status();
  CardEstimate estimate;
  estimate.card = card;
  estimate.processes = rehearsal->processes;
  estimate.cards = std::max<uint64_t>(rehearsal->gpus.size(), 1);
  estimate.out_of_memory = rehearsal->facts.counts.out_of_memory;
  // A command that continues without memory that it asked for does less than it should.
  const bool ended_well = rehearsal->exit_status == 0;
  estimate.fits = ended_well && estimate.out_of_memory == 0;
  estimate.continued = ended_well && !estimate.fits;
  for (const DeviceFacts& device : rehearsal->facts.devices) {
    if (device.total_bytes.value_or(0) <= estimate.total_bytes) continue;
    estimate.total_bytes = *device.total_bytes;
    estimate.name = device.name;
  }
  if (estimate.fits) {
    FillPeak(*rehearsal, /*is_of_card=*/true, &estimate);
    estimate.facts = std::move(rehearsal->facts);
    return estimate;
  }
  if (estimate.out_of_memory == 0) return FailedFor(*rehearsal, card);
  estimate.advice_at_failure = std::move(rehearsal->facts.advice);
  const std::string much = card + ContextOf(*rehearsal, card) + kMuchMemory;
  auto roomy = Run(much, command, folder + "-roomy", more_flags);
  if (!roomy.ok()) return roomy.status();
  if (roomy->facts.counts.out_of_memory > 0) return estimate;
  if (roomy->exit_status != 0) return FailedFor(*roomy, much);
  FillPeak(*roomy, /*is_of_card=*/false, &estimate);
  estimate.facts = std::move(roomy->facts);
  return estimate;
}

std::string TextOf(const CardEstimate& estimate) {
  std::string text = absl::StrCat(Printable(estimate.card), " (", Printable(estimate.name), ")\n");
  std::string continued;
  if (estimate.continued) {
    continued = absl::StrCat("  it ran out of memory ", Counted(estimate.out_of_memory, "time"),
                             ", and continued\n");
  }
  if (!estimate.peak_bytes.has_value()) {
    return absl::StrCat(text, "  does not fit, not even into 1 TiB\n", continued);
  }
  const int64_t spare = estimate.spare_bytes.value_or(0);
  const std::string where = estimate.devices > 1 ? " on the fullest GPU" : "";
  if (estimate.fits) {
    absl::StrAppendFormat(&text, "  fits: %s at the peak, %s of %s to spare%s\n",
                          Bytes(*estimate.peak_bytes),
                          Bytes(static_cast<uint64_t>(std::max<int64_t>(spare, 0))),
                          Bytes(estimate.total_bytes), where);
  } else {
    absl::StrAppendFormat(&text, "  does not fit: %s at the peak with enough memory",
                          Bytes(*estimate.peak_bytes));
    if (spare < 0) {
      absl::StrAppendFormat(&text, ", %s more than %s%s", Bytes(static_cast<uint64_t>(-spare)),
                            Bytes(estimate.total_bytes), where);
    } else {
      absl::StrAppendFormat(&text, "; the rest of %s is fragmented, or another process uses it",
                            Bytes(estimate.total_bytes));
    }
    text += '\n' + continued;
  }
  for (const CardEstimate::Part& part : estimate.parts) {
    absl::StrAppendFormat(&text, "  %10s  %s\n", Bytes(part.bytes), Printable(part.name));
  }
  if (estimate.sharing > 1) {
    text +=
        "  " + absl::StrReplaceAll(Wrapped(kSumOfProcesses, kEstimateColumns), {{"\n", "\n  "}});
    text += '\n';
  } else if (estimate.processes > 1) {
    absl::StrAppendFormat(&text,
                          "  these are the numbers of the one of %d processes that used most\n",
                          estimate.processes);
  }
  return text;
}

JsonValue JsonOf(const CardEstimate& estimate) {
  JsonValue parts = JsonValue::Object();
  for (const CardEstimate::Part& part : estimate.parts) parts[part.name] = part.bytes;
  JsonValue json = JsonValue::Object({{"card", estimate.card},
                                      {"name", estimate.name},
                                      {"total_bytes", estimate.total_bytes},
                                      {"fits", estimate.fits},
                                      {"peak_bytes", nullptr},
                                      {"spare_bytes", nullptr},
                                      {"out_of_memory", estimate.out_of_memory},
                                      {"processes", estimate.processes},
                                      {"devices", estimate.devices},
                                      {"parts", std::move(parts)}});
  if (estimate.peak_bytes.has_value()) json["peak_bytes"] = *estimate.peak_bytes;
  if (estimate.spare_bytes.has_value()) json["spare_bytes"] = *estimate.spare_bytes;
  return json;
}

}  // namespace vramstow
