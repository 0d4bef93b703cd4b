#include "tools/report/sections.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/analysis/facts/context_request.h"
#include "tools/analysis/facts/fact_names.h"
#include "tools/analysis/facts/known_part.h"
#include "tools/analysis/facts/named_facts.h"
#include "tools/base/words.h"
#include "tools/report/chart.h"
#include "tools/report/identity.h"
#include "tools/report/text_table.h"

namespace vramstow {

std::string AndMore(uint64_t left_out) {
  return left_out == 0 ? "" : absl::StrCat("  … and ", Count(left_out), " more\n");
}

namespace {

using Align = Table::Align;

constexpr size_t kMaxRows = 12;
constexpr size_t kMaxBlocks = 6;

std::string AmountText(const Amount& amount) {
  return absl::StrCat(Bytes(amount.bytes), " in ", Counted(amount.blocks, "block"));
}

// Says why a pool could not serve the request.
std::string PoolStory(const OutOfMemoryFacts& failure) {
  std::string text =
      absl::StrFormat("  its pool held %s, of which %s were free in %s, the largest %s",
                      Bytes(failure.reserved_bytes), Bytes(failure.pool_free_bytes),
                      Counted(failure.pool_free_ranges, "piece"),
                      Bytes(failure.largest_free_range_bytes.value_or(0)));
  // A pool that moves chunks can combine free pieces, so the blocks around a free piece do not
  // matter.
  if (failure.pool_movable_bytes.has_value()) {
    return text + absl::StrCat("; in whole chunks, which it can combine, it had ",
                               Bytes(*failure.pool_movable_bytes), "\n");
  }
  const HoleFacts& hole = failure.largest_hole;
  if (hole.size > 0) {
    const auto neighbour = [](const std::string& site, uint64_t bytes) {
      return bytes == 0 ? std::string("the segment's edge")
                        : absl::StrCat(Bytes(bytes), " of ", Printable(site));
    };
    text += absl::StrFormat(", between %s and %s", neighbour(hole.before, hole.before_bytes),
                            neighbour(hole.after, hole.after_bytes));
  }
  if (failure.pending_bytes > 0) {
    text += absl::StrFormat("; %s were freed, but not yet reusable", Bytes(failure.pending_bytes));
  }
  return text + "\n";
}

// Returns the call site if there is a call stack, otherwise the library.
std::string WhoOf(const BlockFacts& block) {
  return Printable(!block.site.empty() ? block.site : block.library);
}

// Returns a table of the blocks at the peak. Consecutive blocks that are equal share one line.
std::string BlocksAtPeak(const std::vector<BlockFacts>& blocks) {
  Table table({Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft});
  size_t rows = 0;
  for (size_t i = 0; i < blocks.size() && rows < kMaxBlocks; ++rows) {
    size_t alike = i;
    while (alike < blocks.size() && blocks[alike].size == blocks[i].size &&
           blocks[alike].site == blocks[i].site && blocks[alike].call == blocks[i].call &&
           blocks[alike].library == blocks[i].library) {
      ++alike;
    }
    const size_t count = alike - i;
    // The list of blocks has a limit. If it ends within a group of equal blocks, the group may have
    // more blocks than the list shows.
    const bool open = alike == blocks.size() && blocks.size() == kMaxBlocksAtPeak && count > 1;
    table.AddRow({count == 1 ? "" : absl::StrCat(Count(count), open ? "+ x" : " x"),
                  Bytes(blocks[i].size), WhoOf(blocks[i]), Printable(blocks[i].call),
                  absl::StrCat(count == 1 ? "at " : "from ", Time(blocks[i].time_ns))});
    i = alike;
  }
  return table.Text(4);
}

// Returns a text like "activations 300 MiB, parameters 90 MiB".
std::string SharesInWords(const std::vector<ShareFacts>& shares) {
  constexpr size_t kMaxShown = 4;
  std::string text;
  for (size_t i = 0; i < std::min(shares.size(), kMaxShown); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Printable(shares[i].name), " ",
                    Bytes(shares[i].amount.bytes));
  }
  return text;
}

// Returns the owners of the memory, sorted by bytes, the largest first.
std::string HoldersInWords(const OutOfMemoryFacts& failure) {
  constexpr size_t kMaxShown = 8;
  if (!failure.bytes_without_holder.has_value()) return "";
  std::string text = "  held by:\n";
  for (size_t i = 0; i < std::min(failure.holders.size(), kMaxShown); ++i) {
    const HolderFacts& one = failure.holders[i];
    absl::StrAppend(&text, "    ", Bytes(one.amount.bytes), " in ", Count(one.amount.blocks),
                    one.amount.blocks == 1 ? " block: " : " blocks: ", Printable(one.holder), " (",
                    Printable(one.about), ")\n");
  }
  if (*failure.bytes_without_holder > 0) {
    absl::StrAppend(&text, "    ", Bytes(*failure.bytes_without_holder),
                    " of tensors: no Python object was found that references them\n");
  }
  return text;
}

// Describes which memory was live, how much was lacking, and what would have made the request fit.
std::string DemandStory(const OutOfMemoryFacts& failure) {
  const DemandFacts& demand = failure.demand;
  std::string text = "  nothing of this process was live\n";
  if (!demand.by_category.empty()) {
    text = absl::StrCat("  live: ", SharesInWords(demand.by_category), "\n  most of it from ",
                        SharesInWords(demand.by_site), "\n");
  }
  if (demand.card_bytes.has_value() && demand.outside_bytes.has_value()) {
    absl::StrAppend(&text, "  the card has ", Bytes(*demand.card_bytes),
                    "; the context, modules and ", "other processes have ",
                    Bytes(*demand.outside_bytes), " of it");
    if (demand.not_pytorch_bytes > 0) {
      absl::StrAppend(&text, "; ", Bytes(demand.not_pytorch_bytes),
                      " of the live memory are not PyTorch's tensors");
    }
    text += "\n";
  }
  const bool knows_room = demand.room_bytes != 0;
  if (knows_room) {
    absl::StrAppend(&text, "  lacking: ", Bytes(demand.lacking_bytes), "\n");
  } else if (!IsForContext(failure)) {
    text +=
        "  the missing memory is not known: the file does not contain the size of the GPU's "
        "memory\n";
  }
  for (const WouldFitFacts& one : failure.would_fit) {
    absl::StrAppend(&text, "  cause: ", AdviceName(one.cause), " at ", Printable(one.place), ", ",
                    one.is_estimate ? "about " : "", Bytes(one.bytes),
                    !knows_room ? ""
                    : one.fits  ? "; without it the request would succeed"
                                : "; without it the request would still fail",
                    "\n");
  }
  absl::StrAppend(&text, HoldersInWords(failure));
  return text;
}

}  // namespace

std::string CollectedInWords(const GarbageFacts& garbage) {
  return absl::StrFormat("%s would have failed without %s, which freed %s, at most %s at once",
                         Counted(garbage.saved_requests, "request"),
                         Counted(garbage.collections, "collection"), Bytes(garbage.freed_bytes),
                         Bytes(garbage.most_bytes));
}

bool HasLibraries(const Facts& facts) {
  return std::ranges::any_of(facts.by_library,
                             [](const TallyFacts& tally) { return tally.name != "unknown"; });
}

std::string FailuresInWords(const Facts& facts) {
  const uint64_t handled = facts.counts.handled_failures;
  const uint64_t failed = facts.counts.out_of_memory + handled;
  if (failed == 0) return "";
  std::string text = Counted(failed, "failed allocation");
  if (handled == 0) return text;
  if (handled < failed) {
    absl::StrAppend(&text, ", ", Count(handled), " of them");
  } else {
    absl::StrAppend(&text, failed == 1 ? "," : ", all of them");
  }
  const bool has_tensors = std::ranges::any_of(facts.by_library, [](const TallyFacts& library) {
    return library.name == "PyTorch's tensors";
  });
  return absl::StrCat(text, has_tensors ? " handled inside PyTorch"
                                        : " handled by the library that made the request");
}

std::string SumOfPeaksInWords(const Facts& total) {
  if (total.traces > 1 && total.processes == 1) {
    return absl::StrCat("the highest of ", total.traces, " programs (exec)");
  }
  return total.attempts > 1 ? "the sum of the highest attempt of each rank"
                            : "the sum of each process's own";
}

std::string PeakSection(const Facts& facts) {
  const Peak& peak = facts.peak;
  std::string text;
  if (facts.counts.allocations == 0 && peak.allocated_bytes == 0) {
    const bool is_whole = facts.report.dropped_events == 0 && facts.report.missing_events == 0;
    return is_whole ? "No memory was allocated.\n" : "No allocation was recorded; see below.\n";
  }
  text += absl::StrFormat("%s allocated, %s reserved, %s requested", Bytes(peak.allocated_bytes),
                          facts.reserved_known ? Bytes(peak.reserved_bytes) : "unknown",
                          Bytes(peak.requested_bytes));
  text += facts.traces == 1
              ? absl::StrCat(", at ", Time(peak.time_ns), "\n")
              : absl::StrCat(": ", SumOfPeaksInWords(facts),
                             facts.attempts > 1 || facts.processes == 1 ? "\n" : " peak\n");
  const std::string failed = FailuresInWords(facts);
  text += absl::StrFormat("%s, %s, largest block %s, %s\n",
                          Counted(facts.counts.allocations, "allocation"),
                          Counted(facts.counts.frees, "free"), Bytes(facts.largest_block_bytes),
                          failed.empty() ? "no failed allocation" : failed);
  for (const auto& [name, bytes] : ListedPeaks(peak)) {
    if (bytes == 0) continue;
    absl::StrAppend(&text, "  ", absl::string_view(name.data(), name.size()), ": ", Bytes(bytes),
                    " at the most\n");
  }
  if (facts.garbage.collections > 0) {
    text += absl::StrCat("  garbage: ", CollectedInWords(facts.garbage), "\n");
    for (const CycleFacts& cycle : facts.garbage.cycles) {
      if (&cycle - facts.garbage.cycles.data() == 4) break;
      text += absl::StrCat("    ", Bytes(cycle.bytes), " at once in ", Printable(cycle.cycle), " (",
                           Printable(cycle.about), ")\n");
    }
  }
  if (facts.offload.out_bytes > 0) {
    text += absl::StrCat("  offload: ", MovedInWords(facts.offload), "\n");
    if (facts.offload.carries_job) {
      text += absl::StrCat("    ", NeedInWords(facts.offload), ". ", CarriedInWords(facts.offload),
                           "\n");
    }
    text += OffloadedSites(facts.offload);
    if (const std::string cost = MovesCostInWords(facts); !cost.empty()) {
      absl::StrAppend(&text, "    ", cost, "\n");
    }
    for (size_t i = 0; i < facts.offload.by_hand.size(); ++i) {
      const std::string change = HandChangeInWords(facts, i);
      if (!change.empty())
        absl::StrAppend(&text, i == 0 ? "    Instead: " : "    Or: ", change, "\n");
    }
  }
  if (facts.largest_at_peak.empty()) return text;
  text += "  largest blocks at the peak:\n" + BlocksAtPeak(facts.largest_at_peak);
  return text;
}

std::string LibrarySection(const Facts& facts, const TextStyle& style) {
  const bool wide = style.width >= 92;
  const size_t name_width = wide ? 26 : style.width >= 78 ? 20 : 12;
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight});
  table.AddRow({"", "at peak", "", "highest", "at end", "allocations", wide ? "frees" : ""});
  size_t rows = 0;
  size_t left_out = 0;
  for (const TallyFacts& tally : facts.by_library) {
    // A library that called the driver but allocated nothing is left out.
    if (tally.allocations == 0 && tally.highest_bytes == 0) continue;
    if (rows == kMaxRows) {
      ++left_out;
      continue;
    }
    ++rows;
    table.AddRow(
        {Shortened(Printable(tally.name), name_width, style.utf8), Bytes(tally.at_peak.bytes),
         Share(tally.at_peak.bytes, facts.peak.allocated_bytes), Bytes(tally.highest_bytes),
         Bytes(tally.at_end.bytes), Count(tally.allocations), wide ? Count(tally.frees) : ""});
  }
  if (rows == 0) return "";
  return table.Text(0) + AndMore(left_out);
}

std::string KindSection(const Facts& facts) {
  if (facts.kind != "stow" && facts.by_kind.size() < 2) return "";
  Table table(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.AddRow({"", "highest", "at end", "in all", "allocations", "frees"});
  size_t rows = 0;
  for (const TallyFacts& tally : facts.by_kind) {
    if (tally.allocations == 0 && tally.highest_bytes == 0 && tally.other_highest_bytes == 0) {
      continue;
    }
    table.AddRow({tally.name, Bytes(tally.highest_bytes + tally.other_highest_bytes),
                  Bytes(tally.at_end.bytes + tally.other_at_end.bytes), Bytes(tally.total_bytes),
                  Count(tally.allocations), Count(tally.frees)});
    ++rows;
  }
  return rows == 0 ? "" : table.Text(0);
}

std::string CallSection(const Facts& facts) {
  // File formats other than vramstow's own only distinguish allocations and frees, so there is no
  // table of calls.
  if (facts.kind != "stow" && facts.kind != "several") return "";
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.AddRow({"", "calls", "refused", "allocated in all"});
  const size_t rows = std::min(facts.by_call.size(), kMaxRows);
  for (size_t i = 0; i < rows; ++i) {
    const TallyFacts& tally = facts.by_call[i];
    table.AddRow({Printable(tally.name), Count(tally.calls), Count(tally.failed),
                  tally.total_bytes == 0 ? "" : Bytes(tally.total_bytes)});
  }
  if (rows == 0) return "";
  return table.Text(0) + AndMore(facts.by_call.size() - rows);
}

std::string SizeSection(const Facts& facts, const TextStyle& style) {
  if (facts.histogram.empty()) return "";
  uint64_t most = 0;
  for (const HistogramRow& row : facts.histogram) most = std::max(most, row.at_peak.bytes);
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.AddRow({"from", "allocations", "blocks at peak", "bytes at peak", ""});
  const size_t bar = style.width > 70 ? std::min<size_t>(style.width - 56, 40) : 14;
  for (const HistogramRow& row : facts.histogram) {
    table.AddRow({Bytes(row.from_bytes), Count(row.allocations), Count(row.at_peak.blocks),
                  Bytes(row.at_peak.bytes), Bar(row.at_peak.bytes, most, bar, style.utf8)});
  }
  return table.Text(0);
}

// Describes free memory by the stream that alone can use it.
static std::string StreamText(const FragmentationFacts& fragmentation, const TextStyle& style) {
  std::string text = "free at the peak, by the stream that alone can use it: ";
  for (size_t i = 0; i < fragmentation.streams.size(); ++i) {
    const FragmentationFacts::Stream& stream = fragmentation.streams[i];
    if (i == kMaxRows) {
      text += "; …";
      break;
    }
    absl::StrAppend(
        &text, i == 0 ? "" : "; ",
        stream.stream == kUnknownStream ? "unknown" : absl::StrFormat("0x%x", stream.stream), " ",
        Bytes(stream.free_bytes), " of ", Bytes(stream.reserved_bytes));
  }
  return WrappedLines(text + "\n", style.width);
}

std::string FragmentationSection(const Facts& facts, const TextStyle& style) {
  const FragmentationFacts& fragmentation = facts.fragmentation;
  const Peak& peak = facts.peak;
  if (peak.allocated_bytes == 0 && !fragmentation.any_ranges) return "";
  if (!facts.reserved_known) return "The trace does not show how much was reserved.\n";
  std::string text = absl::StrCat(
      "reserved ÷ allocated at the peak: ", Ratio(peak.reserved_bytes, peak.allocated_bytes), "\n");
  if (!fragmentation.any_ranges) {
    text +=
        "No address range was reserved, so no free ranges are visible: free memory inside the "
        "blocks that a framework divides itself is not visible at the driver.\n";
    return WrappedLines(text, style.width);
  }
  text += absl::StrCat(fragmentation.in_pool ? "free memory in the pool (largest request so far: "
                                             : "free addresses in reserved ranges (largest request "
                                               "so far: ",
                       Bytes(fragmentation.largest_request_bytes), "):\n");
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  const std::string whole = fragmentation.moves ? "whole chunks" : "largest ÷ free";
  table.AddRow({"", "free", "largest range", whole, "too small"});
  const auto add = [&](const std::string& name, const FreeMemory& ranges) {
    table.AddRow({name, Bytes(ranges.free_bytes), Bytes(ranges.largest_bytes),
                  fragmentation.moves ? Bytes(ranges.movable_bytes)
                                      : Ratio(ranges.largest_bytes, ranges.free_bytes),
                  Bytes(ranges.unusable_bytes)});
  };
  add("at the peak", fragmentation.at_peak);
  if (fragmentation.worst.unusable_bytes > 0) {
    add("worst, at " + Time(fragmentation.worst_time_ns), fragmentation.worst);
  }
  add("at the end", fragmentation.at_end);
  text += table.Text(2);
  if (fragmentation.moves) {
    text += WrappedLines(
        "The pool combines whole chunks if a request needs them, so only parts of chunks can be "
        "too small.\n",
        style.width);
  }
  if (fragmentation.streams.size() > 1) text += StreamText(fragmentation, style);
  if (fragmentation.pending_peak_bytes.value_or(0) > 0) {
    text += absl::StrCat("freed and waiting for other streams: ",
                         Bytes(*fragmentation.pending_peak_bytes), " at the most\n");
  }
  return text + HoleTable(facts, style);
}

// Returns what was requested. The driver decides how large contexts, modules and graphs are.
std::string RequestedInWords(const OutOfMemoryFacts& failure) {
  if (failure.requested_bytes != 0) return Bytes(failure.requested_bytes);
  return IsForContext(failure) ? "memory for a context" : "memory of unknown size";
}

std::string RequestInWords(const OutOfMemoryFacts& failure) {
  std::string text = absl::StrFormat(
      "at %s %s requested %s", Time(failure.time_ns),
      Printable(failure.site.empty() ? failure.library : failure.site), RequestedInWords(failure));
  const bool says_more = !failure.operation.empty() && !failure.site.ends_with(failure.operation);
  const std::string& how = says_more ? failure.operation : failure.call;
  if (!how.empty()) text += absl::StrCat(" (", Printable(how), ")");
  if (failure.device != kNoDevice) text += absl::StrCat(" on device ", failure.device);
  text += absl::StrCat("; this process had ", Bytes(failure.allocated_bytes));
  if (failure.free_from == FreeKnownFrom::kNothing) {
    text += ", the free memory is not known";
  } else {
    const std::string since =
        failure.free_from == FreeKnownFrom::kStart
            ? "according to the free memory at the start"
            : "according to the driver's answer at " + Time(failure.free_known_at_ns);
    text += absl::StrFormat(", the device %s free (%s)", Bytes(failure.free_bytes), since);
  }
  return text;
}

std::string OutOfMemorySection(const FactSet& set, const TextStyle& style) {
  // Only the last failures are shown, because several threads may fail together, and programs may
  // retry.
  constexpr size_t kMaxShown = 3;
  const uint64_t count = set.total.counts.out_of_memory;
  if (count == 0) return "";
  std::string text;
  size_t shown = 0;
  for (const Facts& trace : set.traces) {
    for (auto one = trace.out_of_memory.rbegin(); one != trace.out_of_memory.rend(); ++one) {
      const OutOfMemoryFacts& failure = *one;
      if (shown == kMaxShown) break;
      ++shown;
      if (set.traces.size() > 1) text += NameOfTrace(trace) + ": ";
      text += RequestInWords(failure) + "\n";
      if (failure.has_pool) text += PoolStory(failure);
      if (failure.has_story) text += DemandStory(failure);
    }
  }
  return WrappedLines(text, style.width) + AndMore(count - std::min<uint64_t>(count, shown));
}

std::string LiveSection(const Facts& facts, const TextStyle& style) {
  const LiveFacts& live = facts.live;
  if (live.device.blocks == 0 && live.other.blocks == 0) return "";
  std::string text = absl::StrCat(AmountText(live.device), " on devices");
  if (live.other.blocks > 0) text += absl::StrCat(", ", AmountText(live.other), " on the host");
  text += facts.report.closed ? "; the driver frees them at exit\n" : "\n";
  text = WrappedLines(text, style.width);
  Table table(
      {Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft});
  const size_t rows = std::min(live.groups.size(), kMaxBlocks);
  for (size_t i = 0; i < rows; ++i) {
    const BlockFacts& group = live.groups[i];
    table.AddRow({Bytes(group.size * group.count), absl::StrCat(Count(group.count), " x"),
                  Bytes(group.size), MemoryKindName(group.memory),
                  Shortened(WhoOf(group), 24, style.utf8), Printable(group.call)});
  }
  text += table.Text(2);
  return text + AndMore(live.groups.size() - rows + live.groups_left_out);
}

}  // namespace vramstow
