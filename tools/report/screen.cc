#include "tools/report/screen.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/adopted_blocks.h"
#include "tools/analysis/facts/fact_names.h"
#include "tools/analysis/facts/known_part.h"
#include "tools/analysis/facts/named_facts.h"
#include "tools/analysis/facts/process_images.h"
#include "tools/analysis/facts/program_end.h"
#include "tools/base/words.h"
#include "tools/report/chart.h"
#include "tools/report/identity.h"
#include "tools/report/open_traces.h"
#include "tools/report/room.h"
#include "tools/report/sections.h"
#include "tools/report/text_report.h"
#include "tools/report/text_table.h"

namespace vramstow {
namespace {

constexpr size_t kChartHeight = 6;
constexpr size_t kMaxLines = 3;      // lines of the program, ordered by the memory that they hold
constexpr size_t kMaxProcesses = 4;  // processes of a job that has many
constexpr size_t kMaxMissing = 2;    // sentences on what is missing
constexpr size_t kMaxDead = 3;       // processes that are explained

// Returns the trace that the screen describes. It is one that ran out of memory, preferably with a
// known cause. If none did, it is one with a fault. If there is no fault, it is one that ran only
// because memory was moved to the host. Otherwise it is the one with the highest peak.
const Facts& MainTrace(const FactSet& set) {
  const auto weight = [](const Facts& facts) {
    const bool failed = !facts.out_of_memory.empty() && !WentOnAfterOutOfMemory(facts);
    const bool is_explained = failed && FirstCause(facts) != nullptr;
    return std::array<uint64_t, 4>{is_explained ? 1u : 0u, failed ? 1u : 0u,
                                   FirstFault(facts) != nullptr ? 2u
                                   : facts.offload.carries_job  ? 1u
                                                                : 0u,
                                   facts.peak.allocated_bytes};
  };
  return *std::ranges::max_element(set.traces, {}, weight);
}

// Returns a text like ", rank 3" that names the trace. Returns an empty text if there is only one
// trace.
std::string OfTrace(const FactSet& set, const Facts& facts) {
  return set.traces.size() == 1 ? "" : ", " + NameOfTrace(facts);
}

std::string PeakInWords(const Facts& facts) {
  const Peak& peak = facts.peak;
  if (peak.allocated_bytes > 0) {
    return absl::StrCat(
        IsCertain(facts) ? "" : "At least ", Bytes(peak.allocated_bytes), " allocated",
        facts.reserved_known ? absl::StrCat(", ", Bytes(peak.reserved_bytes), " reserved") : "",
        ", at ", Time(peak.time_ns));
  }
  if (!IsCertain(facts)) return "It is not known, because no allocation was recorded.";
  std::string text = "No device memory was allocated";
  for (const auto& [name, bytes] : ListedPeaks(peak)) {
    if (bytes > 0)
      absl::StrAppend(&text, "; ", std::string(name), " ", Bytes(bytes), " at the most");
  }
  return text + ".";
}

std::string RoomLine(const FactSet& set, const Facts& facts, const TextStyle& style) {
  if (!IsCertain(facts) || EndedUnseen(facts)) {
    return Labelled("Room", "It is not known, because the recording of the run is incomplete.",
                    style);
  }
  if (SeesOnlyFramework(facts)) {
    return Labelled("Room",
                    "It is not known, because only PyTorch's memory was observed, and not that of "
                    "the CUDA context, of other libraries and of other processes.",
                    style);
  }
  const GpuSharers sharers(set.traces);
  std::string words = RoomInWords(sharers, facts);
  if (words.empty()) {
    words = sharers.SharesAny(facts)
                ? "It is not known, because processes shared the GPU"
                : "It is not known, because the size of the GPU's memory is unknown";
  }
  return Labelled("Room", words + ".", style);
}

// Returns the GPUs that the process has used or queried.
std::vector<const DeviceFacts*> CardsOf(const Facts& facts) {
  std::vector<const DeviceFacts*> cards;
  for (const DeviceFacts& device : facts.devices) {
    if (device.device >= 0) cards.push_back(&device);
  }
  return cards;
}

// Returns a text like " on card 1" if there are several GPUs. Returns an empty text if there is
// only one GPU, or if the GPU is unknown.
std::string OnCard(const Facts& facts, int device) {
  return device < 0 || CardsOf(facts).size() < 2 ? "" : absl::StrCat(" on card ", device);
}

// Returns the peak of each of several GPUs; empty if there is only one.
std::string CardsLine(const Facts& facts, const TextStyle& style) {
  constexpr size_t kMax = 8;
  const std::vector<const DeviceFacts*> cards = CardsOf(facts);
  if (cards.size() < 2) return "";
  std::vector<std::string> words;
  for (const DeviceFacts* card : cards) {
    if (words.size() == kMax) break;
    words.push_back(
        absl::StrCat("card ", card->device, " ", Bytes(card->peak_bytes), " at the most"));
    if (card->total_bytes.has_value()) {
      absl::StrAppend(&words.back(), " (the card has ", Bytes(*card->total_bytes), ")");
    }
  }
  if (cards.size() > kMax) words.push_back(absl::StrCat(cards.size() - kMax, " more cards"));
  return Labelled("Cards", absl::StrCat(absl::StrJoin(words, "; "), "."), style);
}

// Returns an upper bound for the memory of a context: the memory that was in use on a GPU before
// the process allocated on it. The least such memory of all GPUs counts. Other processes may hold a
// part of it.
std::string ContextWords(const std::vector<const DeviceFacts*>& cards) {
  constexpr uint64_t kNotByContext = 2ULL << 30;
  const DeviceFacts* least_used = nullptr;
  uint64_t least = kNotByContext;
  for (const DeviceFacts* card : cards) {
    if (!card->total_bytes.has_value() || !card->free_bytes_at_start.has_value()) continue;
    const uint64_t gone =
        *card->total_bytes - std::min(*card->total_bytes, *card->free_bytes_at_start);
    if (gone == 0 || gone >= least) continue;
    least = gone;
    least_used = card;
  }
  if (least_used == nullptr) return "some hundred MiB there";
  return absl::StrCat("up to ", Bytes(least), " there (this much was in use on GPU ",
                      least_used->device, " before the first allocation)");
}

// Reports contexts on GPUs on which the process has no memory. Returns an empty text if there are
// none, or if the process has no memory on any GPU.
std::string UnusedLine(const Facts& facts, const TextStyle& style) {
  std::vector<std::string> unused;
  std::vector<std::string> used;
  for (const DeviceFacts* card : CardsOf(facts)) {
    const bool is_used = card->peak_bytes > 0 || card->peak_reserved_bytes > 0;
    if (!is_used && card->out_of_memory > 0) continue;  // perhaps its context found no room
    (is_used ? used : unused).push_back(absl::StrCat(card->device));
  }
  if (unused.empty() || used.empty() || facts.kind != "stow") return "";
  // A trace does not have CUDA_VISIBLE_DEVICES, so it does not tell the numbers outside of the
  // process.
  return Labelled("Unused",
                  absl::StrCat("The process has a context on GPU ", absl::StrJoin(unused, ", "),
                               ", which takes ", ContextWords(CardsOf(facts)),
                               ", but allocates no memory there. It has no such context if it "
                               "starts with CUDA_VISIBLE_DEVICES set to the GPUs that it uses",
                               used.size() > 1 ? "."
                                               : absl::StrCat(", or if the first CUDA call of each "
                                                              "thread, also of libraries, comes "
                                                              "after torch.cuda.set_device(",
                                                              used.front(), ") in that thread."),
                               " The numbers count the GPUs that are visible to the process."),
                  style);
}

std::string FailureTitle(const FactSet& set, const Facts& facts, const TextStyle& style) {
  constexpr size_t kAround = 4;  // columns around a title
  const OutOfMemoryFacts& last = facts.out_of_memory.back();
  std::vector<std::string> parts = {OfTrace(set, facts), OnCard(facts, last.device),
                                    " at " + Time(last.time_ns)};
  if (facts.counts.out_of_memory > 1) {
    parts.push_back(", the last of " + Counted(facts.counts.out_of_memory, "time"));
  }
  if (last.requested_bytes != 0) {
    parts.push_back(absl::StrCat(": ", Bytes(last.requested_bytes), " asked for"));
  }
  if (last.has_story && last.demand.lacking_bytes > 0) {
    parts.push_back(absl::StrCat(", ", Bytes(last.demand.lacking_bytes), " lacking"));
  }
  std::string text = "Out of memory";
  for (const std::string& part : parts) {
    if (Columns(text) + Columns(part) + kAround <= style.width) text += part;
  }
  return text;
}

// Explains the first few failures of other processes whose cause was not explained before. The rest
// is counted.
std::string OtherFailures(const FactSet& set, const Facts& main, const TextStyle& style) {
  std::set<std::pair<AdviceId, std::string>> explained;
  const auto is_new = [&](const Facts& trace) {
    const AdviceFacts* cause = FirstCause(trace);
    return cause != nullptr && explained.emplace(cause->id, cause->place).second;
  };
  is_new(main);
  std::string stories;
  uint64_t left = 0;
  for (const Facts& trace : set.traces) {
    if (&trace == &main || trace.out_of_memory.empty()) continue;
    if (explained.size() < kMaxDead && is_new(trace)) {
      stories += Title(FailureTitle(set, trace, style), style, Colour::kRed);
      stories += WhySection(trace, style);
    } else {
      ++left;
    }
  }
  if (left == 0) return stories;
  const std::string words = Counted(left, "other process") + " ran out of memory, too.";
  return Labelled("Also", words, style) + stories;
}

// Returns the title for a program that ran out of memory and caught the error.
std::string WentOnTitle(const FactSet& set, const Facts& facts) {
  return absl::StrCat("Memory ran out ", Counted(facts.counts.out_of_memory, "time"),
                      ", and the program continued", OfTrace(set, facts));
}

// Says how the program ended; empty if the out-of-memory ended it, or the end is unknown.
std::string EndLine(const Facts& facts, const TextStyle& style) {
  if (!WentOnAfterOutOfMemory(facts)) return "";
  if (EndOf(facts) == ProgramEnd::kWell) {
    const std::string threads = EndedThreadsInWords(facts);
    return Labelled("End",
                    absl::StrCat("The program ended successfully",
                                 threads.empty() ? "" : absl::StrCat(", but ", threads),
                                 ". The reason for the missing memory follows."),
                    style);
  }
  return Labelled("End",
                  absl::StrCat(Printable(UncaughtError(facts)),
                               " ended the program later, not the missing memory. The reason for "
                               "the missing memory follows."),
                  style);
}

std::string Failure(const FactSet& set, const Facts& facts, const TextStyle& style) {
  std::string text = WentOnAfterOutOfMemory(facts)
                         ? Title(WentOnTitle(set, facts), style, Colour::kYellow)
                         : Title(FailureTitle(set, facts, style), style, Colour::kRed);
  text += EndLine(facts, style);
  if (FirstCause(facts) == nullptr) {
    text += Labelled("Request", RequestInWords(facts.out_of_memory.back()), style);
    text += Labelled("Peak", PeakInWords(facts), style);
  }
  text += WhySection(facts, style);
  text += CardsLine(facts, style) + UnusedLine(facts, style);
  if (facts.advice.size() > 1) {
    const size_t more = facts.advice.size() - 1;
    text += Labelled("Or",
                     more == 1 ? "The full report shows another way to need less memory."
                               : absl::StrCat("The full report shows ", more,
                                              " other ways to need less memory."),
                     style);
  }
  return text + OtherFailures(set, facts, style);
}

// Says how much garbage was collected and how much memory was moved to the host. The text is empty
// if there was neither.
std::string Extras(const Facts& facts, const TextStyle& style) {
  std::string text;
  if (facts.garbage.collections > 0) {
    text += Labelled("Garbage", CollectedInWords(facts.garbage), style);
  }
  if (facts.offload.out_bytes > 0) text += Labelled("Offload", MovedInWords(facts.offload), style);
  return text + UnusedLine(facts, style);
}

// Returns the time of an iteration by the simulated GPU's clock; empty if unknown.
std::string StepLine(const Facts& facts, const TextStyle& style) {
  const std::string words = StepInWords(facts.model_clock);
  return words.empty() ? "" : Labelled("Step", words, style);
}

// Reports a fault that did not end the job.
std::string Fault(const FactSet& set, const Facts& facts, const AdviceFacts& advice,
                  const TextStyle& style) {
  std::string text = Title("Memory did not run out, but something is wrong" + OfTrace(set, facts),
                           style, Colour::kYellow);
  text += Labelled("But", AdviceTitle(advice), style);
  text += Labelled("Seen", advice.evidence, style);
  if (!advice.holder.empty()) text += Labelled("Held by", HolderInWords(advice), style);
  text += Labelled("Do", advice.action, style);
  if (const std::string then = ReplayedUpToPeak(advice); !then.empty()) {
    text += Labelled("Then", then, style);
  }
  text += Labelled("Peak", PeakInWords(facts), style);
  if (facts.offload.carries_job) {
    text += Labelled("Ran",
                     absl::StrCat(NeedInWords(facts.offload), ". ", CarriedInWords(facts.offload)),
                     style);
  } else {
    text += RoomLine(set, facts, style);
  }
  return text + StepLine(facts, style) + Extras(facts, style);
}

// Returns the advice that saves most memory according to a replay up to the peak. Returns null if
// no advice saves a tenth of the peak.
const AdviceFacts* SavesMost(const Facts& facts) {
  constexpr uint64_t kLeastPart = 10;
  const uint64_t peak = std::max(facts.peak.reserved_bytes, facts.peak.allocated_bytes);
  const AdviceFacts* most = nullptr;
  for (const AdviceFacts& advice : facts.advice) {
    // The advice about the cache at the end of the job does not lower the peak, so it is left out.
    if (!advice.proof.is_proved || advice.id == AdviceId::kCacheAtEnd) continue;
    if (advice.proof.lowered_bytes * kLeastPart < peak) continue;
    if (most == nullptr || advice.proof.lowered_bytes > most->proof.lowered_bytes) most = &advice;
  }
  return most;
}

// Returns the line about recordings that were not closed; empty if there is only one process.
std::string OpenLine(const FactSet& set, const TextStyle& style) {
  const std::string words = set.traces.size() == 1 ? "" : OpenInWords(set);
  return words.empty() ? "" : Labelled("Open", words, style);
}

// Returns the most useful piece of advice for a job without a fault. Returns an empty text if no
// advice is useful enough.
std::string OneThing(const FactSet& set, const Facts& facts, const TextStyle& style) {
  // A process that was killed, or still runs, might have needed more memory later.
  const bool any_open = !OpenTraces(set).empty();
  // A job that uses less than 1/20 of the GPU says little about how its memory grows with the
  // batch.
  constexpr uint64_t kSmallShare = 20;
  if (const AdviceFacts* most = SavesMost(facts); most != nullptr) {
    return Labelled(
        "Could", absl::StrCat(AdviceTitle(*most), ". ", most->action, " ", ReplayedUpToPeak(*most)),
        style);
  }
  const std::optional<Room> room = RoomOf(GpuSharers(set.traces), facts);
  const bool any_batch = std::ranges::any_of(
      facts.advice, [](const AdviceFacts& advice) { return advice.id == AdviceId::kLargerBatch; });
  if (any_open || !any_batch || !room.has_value() || room->is_shared ||
      room->used_bytes * kSmallShare < room->card_bytes) {
    return "";
  }
  return Labelled("Could", "Use a larger batch: `vramstow fit` finds the largest one that fits.",
                  style);
}

// Returns the first trace that is not complete, or whose program was ended by an out-of-memory that
// the trace does not contain. A job is called healthy only if there is no such trace.
const Facts* FirstUncertain(const FactSet& set) {
  const auto found = std::ranges::find_if(
      set.traces, [](const Facts& trace) { return !IsCertain(trace) || EndedUnseen(trace); });
  return found == set.traces.end() ? nullptr : &*found;
}

// Returns a title that claims only what the recording shows. A snapshot, for example, has only a
// part of a run.
std::string UncertainTitle(const FactSet& set, const Facts& trace) {
  if (EndedUnseen(trace)) {
    return absl::StrCat("Memory ran out", OfTrace(set, trace),
                        ", and the recording does not show why");
  }
  return absl::StrCat("Memory did not run out ", KnownPartInWords(trace), OfTrace(set, trace));
}

// True if the process ran only because memory was moved to the host, and all traces are complete.
bool IsCarried(const FactSet& set, const Facts& facts) {
  return facts.offload.carries_job && FirstUncertain(set) == nullptr;
}

std::string HealthyTitle(const FactSet& set, const Facts& facts) {
  if (const Facts* trace = FirstUncertain(set)) return UncertainTitle(set, *trace);
  if (facts.kind != "stow") return "Memory did not run out in this recording";
  if (SeesOnlyFramework(facts)) {
    return absl::StrCat("Memory did not run out while the process was observed, for ",
                        Time(facts.end_ns));
  }
  if (const std::vector<const Facts*> open = OpenTraces(set); !open.empty()) {
    return absl::StrCat("Memory did not run out ", KnownPartInWords(*open.front()),
                        OfTrace(set, *open.front()));
  }
  if (set.traces.size() > 1) {
    return absl::StrCat("Healthy: memory never ran out in ",
                        Counted(ProcessesOf(set.traces).size(), "process"));
  }
  const bool is_steady =
      facts.lifetimes.known && facts.lifetimes.growing.empty() && !facts.iterations.Grows();
  return is_steady ? "Healthy: memory never ran out, and does not grow"
                   : "Healthy: memory never ran out";
}

// Returns the bytes of the blocks that were there before vramstow attached. These blocks are
// recorded some milliseconds after the trace has begun, so no point of the timeline has this level
// for certain.
uint64_t BytesBeforeObservation(const Facts& facts) {
  const auto adopted = std::ranges::find(facts.by_call, kAdoptedCall, &TallyFacts::name);
  return adopted == facts.by_call.end() ? 0 : adopted->total_bytes;
}

// Describes how memory grew while a running process was observed.
std::string GrowthWhileObserved(const Facts& facts) {
  const std::vector<TimelinePoint>& points = facts.timeline.points;
  const uint64_t first = BytesBeforeObservation(facts);
  const uint64_t last = points.empty() ? 0 : points.back().allocated_last;
  if (last <= first) {
    const std::string rise =
        facts.peak.allocated_bytes > first
            ? absl::StrCat("; in between it rose to ", Bytes(facts.peak.allocated_bytes))
            : "";
    return absl::StrCat("Live memory did not grow: it was ", Bytes(first),
                        " at the beginning of this time and ", Bytes(last), " at the end", rise,
                        ". To find slow growth, measure for longer (vramstow attach PID --growth "
                        "--every 10m).");
  }
  std::string text = absl::StrCat("Live memory grew by ", Bytes(last - first), ", from ",
                                  Bytes(first), " to ", Bytes(last));
  const auto made = std::ranges::find_if(
      facts.live.groups, [](const BlockFacts& group) { return !group.site.empty(); });
  if (made != facts.live.groups.end()) {
    absl::StrAppend(&text, "; most of the memory that was allocated meanwhile and is still live: ",
                    Bytes(made->size * made->count), " at ", made->site);
  }
  return text +
         ". To find out whether it continues, measure for longer (vramstow attach PID --growth).";
}

std::string Healthy(const FactSet& set, const Facts& facts, const TextStyle& style) {
  const Colour colour = FirstUncertain(set) == nullptr ? Colour::kGreen : Colour::kYellow;
  std::string text = Title(HealthyTitle(set, facts), style, colour);
  if (SeesOnlyFramework(facts)) {
    text += Labelled("Seen", GrowthWhileObserved(facts), style);
  }
  text += Labelled("Peak", PeakInWords(facts) + OfTrace(set, facts), style);
  if (facts.peak.allocated_bytes == 0) return text + Extras(facts, style);
  text += RoomLine(set, facts, style);
  text += StepLine(facts, style);
  if (FirstUncertain(set) == nullptr) text += OneThing(set, facts, style);
  return text + Extras(facts, style);
}

// Says what moves to the host cost, and what could be done instead; empty if both are unknown.
std::string CostsAndChanges(const Facts& facts, const TextStyle& style) {
  const std::pair<const char*, std::string> lines[] = {{"Costs", MovesCostInWords(facts)},
                                                       {"Instead", HandChangeInWords(facts, 0)},
                                                       {"Or", HandChangeInWords(facts, 1)}};
  std::string text;
  for (const auto& [label, words] : lines) {
    if (!words.empty()) text += Labelled(label, words, style);
  }
  return text;
}

// Describes a job that would have run out of memory without moves to the host.
std::string Carried(const FactSet& set, const Facts& facts, const TextStyle& style) {
  std::string text =
      Title(NeedInWords(facts.offload) + OfTrace(set, facts), style, Colour::kYellow);
  text += Labelled("Ran", CarriedInWords(facts.offload), style);
  if (const std::string moved = MostMovedInWords(facts.offload); !moved.empty()) {
    text += Labelled("Moved", moved, style);
  }
  const std::string changes = CostsAndChanges(facts, style);
  text += changes + StepLine(facts, style);
  text += Labelled("Peak", PeakInWords(facts), style);
  const bool has_change = !HandChangeInWords(facts, 0).empty();
  if (!has_change && FirstUncertain(set) == nullptr) text += OneThing(set, facts, style);
  return text + Extras(facts, style);
}

std::string Verdict(const FactSet& set, const Facts& facts, const TextStyle& style) {
  if (!facts.out_of_memory.empty()) return Failure(set, facts, style);
  const AdviceFacts* fault = FirstFault(facts);
  const std::string text = fault != nullptr        ? Fault(set, facts, *fault, style)
                           : IsCarried(set, facts) ? Carried(set, facts, style)
                                                   : Healthy(set, facts, style);
  return text + OpenLine(set, style);
}

// One row of the table of the call sites that hold most memory.
struct Holding {
  std::string name;
  std::string operation;
  Amount amount;
};

std::string HoldingTable(const std::vector<Holding>& rows, uint64_t whole, const TextStyle& style) {
  constexpr size_t kFiguresWidth = 34;  // bytes, share, blocks, and the space between
  const size_t rest = style.width - std::min(style.width - 1, kFiguresWidth);
  size_t operation_width = 0;
  size_t name_width = 0;
  for (const Holding& row : rows) {
    operation_width = std::max(operation_width, Columns(Printable(row.operation)));
    name_width = std::max(name_width, Columns(Printable(row.name)));
  }
  // If the columns are too wide for the screen, the name of the source line gets the larger part.
  name_width = std::min(name_width, rest - std::min(operation_width, rest / 4));
  operation_width = std::min(operation_width, rest - name_width);
  Table table({Table::Align::kRight, Table::Align::kRight, Table::Align::kRight,
               Table::Align::kLeft, Table::Align::kLeft});
  for (const Holding& row : rows) {
    table.AddRow({Bytes(row.amount.bytes), Share(row.amount.bytes, whole),
                  Counted(row.amount.blocks, "block"),
                  Shortened(Printable(row.name), name_width, style.utf8),
                  Shortened(Printable(row.operation), operation_width, style.utf8)});
  }
  return table.Text(0);
}

// Returns the three call sites that held most memory when it ran out. If this is unknown, returns
// those that held most at the peak.
std::string LargestLines(const FactSet& set, const Facts& facts, const TextStyle& style) {
  std::vector<Holding> rows;
  const bool has_sites = KnowsSites(facts);
  const bool failed = !facts.out_of_memory.empty() && facts.out_of_memory.back().has_story;
  uint64_t whole = facts.peak.allocated_bytes;
  if (has_sites && failed) {
    const DemandFacts& demand = facts.out_of_memory.back().demand;
    whole = demand.live_bytes;
    for (const ShareFacts& share : demand.by_site) rows.push_back({share.name, "", share.amount});
  } else if (has_sites) {
    for (const SiteFacts& site : facts.by_site) {
      rows.push_back({site.site, site.operation, site.at_peak});
    }
  } else if (HasLibraries(facts)) {
    for (const TallyFacts& tally : facts.by_library) {
      rows.push_back({tally.name, "", tally.at_peak});
    }
  }
  std::erase_if(rows, [](const Holding& row) { return row.amount.bytes == 0; });
  if (rows.empty()) return "";
  rows.resize(std::min(rows.size(), kMaxLines));
  return Title(absl::StrCat("Largest by ", has_sites ? "line" : "library",
                            has_sites && failed ? ", when memory ran out" : ", at the peak",
                            OfTrace(set, facts)),
               style) +
         HoldingTable(rows, whole, style);
}

std::string Missing(const FactSet& set, const TextStyle& style) {
  const std::string all = MissingOfAll(set);
  if (all.empty()) return "";
  std::string text;
  size_t from = 0;
  size_t shown = 0;
  size_t left_out = 0;
  while (from < all.size()) {
    const size_t end = std::min(all.find('\n', from), all.size());
    if (shown < kMaxMissing) {
      absl::StrAppend(&text, all.substr(from, end - from), "\n");
      ++shown;
    } else {
      ++left_out;
    }
    from = end + 1;
  }
  return Title("What is missing", style) + WrappedLines(text, style.width) + AndMore(left_out);
}

std::string ReadOn(const Facts& facts, const std::string& input, const TextStyle& style) {
  std::string text = Title("Read on", style);
  // A command is not wrapped, so that it can be copied.
  const auto line = [&](const std::string& label, const std::string& command) {
    absl::StrAppend(&text, Coloured(label, Colour::kBold, style),
                    std::string(9 - label.size(), ' '), command, "\n");
  };
  const AdviceFacts* shown = facts.out_of_memory.empty() ? FirstFault(facts) : FirstCause(facts);
  if (shown != nullptr) line("Cause", absl::StrCat("vramstow help ", AdviceName(shown->id)));
  line("Full", "vramstow analyze --full " + input);
  line("Page", "vramstow report --open " + input);
  return text;
}

}  // namespace

std::string ScreenReport(const FactSet& set, const std::string& input, const TextStyle& style) {
  const bool one = set.traces.size() == 1;
  const Facts& facts = MainTrace(set);
  std::string text = one ? ShortIdentity(facts, style) : IdentityOfAll(set, style);
  text += Verdict(set, facts, style);
  if (!one) {
    text += Title("Processes", style) + ProcessTable(set, kMaxProcesses, kMaxProcesses, style);
    if (set.comparison.has_value()) {
      text += WrappedLines(RankSentence(*set.comparison) + "\n", style.width);
    }
  }
  const std::string chart =
      Chart(facts.timeline, facts.end_ns, {style.width, kChartHeight, style.utf8});
  if (!chart.empty()) {
    text += Title("Device memory over time" + OfTrace(set, facts), style) + chart;
  }
  text += LargestLines(set, facts, style);
  text += Missing(set, style);
  text += ReadOn(facts, input, style);
  return style.utf8 ? text : Ascii(text);
}

}  // namespace vramstow
