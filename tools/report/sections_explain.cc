// Writes the sections on causes, advice, iterations and other explanations that the analysis has
// found.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/analysis/facts/library_failure.h"
#include "tools/base/words.h"
#include "tools/report/chart.h"
#include "tools/report/sections.h"
#include "tools/report/text_table.h"

namespace vramstow {
namespace {

using Align = Table::Align;

constexpr size_t kMaxSitesShown = 12;
constexpr size_t kMaxIterationsShown = 6;
constexpr size_t kMaxHolesShown = 6;

std::string Signed(int64_t bytes) {
  return absl::StrCat(bytes < 0 ? "-" : "+",
                      Bytes(static_cast<uint64_t>(bytes < 0 ? -bytes : bytes)));
}

std::string Words(const std::string& text, size_t width, const TextStyle& style) {
  return Shortened(Printable(text), width, style.utf8);
}

std::string NeighbourText(const std::string& site, uint64_t bytes, const TextStyle& style) {
  return bytes == 0 ? "segment's edge" : absl::StrCat(Bytes(bytes), " ", Words(site, 22, style));
}

std::string SiteRows(const Facts& facts, const std::vector<SiteFacts>& sites, const char* name,
                     const TextStyle& style) {
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  table.AddRow({"at peak", "", "blocks", name, "operation"});
  const size_t site_width = style.width >= 92 ? 40 : 30;
  size_t rows = 0;
  size_t left_out = 0;
  for (const SiteFacts& site : sites) {
    if (site.at_peak.bytes == 0) continue;
    if (rows == kMaxSitesShown) {
      ++left_out;
      continue;
    }
    ++rows;
    table.AddRow({Bytes(site.at_peak.bytes), Share(site.at_peak.bytes, facts.peak.allocated_bytes),
                  Count(site.at_peak.blocks), Words(site.site, site_width, style),
                  Words(site.operation, 22, style)});
  }
  return rows == 0 ? "" : table.Text(0) + AndMore(left_out);
}

// Returns the name of a replay's allocator for a sentence about the memory that it would reserve.
std::string ReservingAllocator(const std::string& model) {
  if (model == "native") return "PyTorch";
  if (model == "expandable") return "PyTorch with expandable segments";
  return model == "vramstow" ? "vramstow's pool" : "the model " + Printable(model);
}

// Returns the name of a replay's allocator as the subject of a sentence.
std::string AllocatorName(const std::string& model) {
  if (model == "native") return "PyTorch's allocator";
  if (model == "expandable") return "PyTorch's allocator with expandable segments";
  return model == "vramstow" ? "vramstow's pool" : "the model " + Printable(model);
}

// Returns the memory that was available, in words. Memory that --offload has moved to the host is a
// part of it, and so it can be more than the GPU has.
std::string AvailableInWords(const DemandFacts& demand) {
  const uint64_t all = demand.room_bytes + demand.outside_bytes.value_or(0);
  const bool is_more =
      demand.outside_bytes.has_value() && demand.card_bytes.has_value() && all > *demand.card_bytes;
  if (!is_more) return absl::StrCat(Bytes(demand.room_bytes), " are available");
  return absl::StrCat(Bytes(demand.room_bytes), " are available, ", Bytes(all - *demand.card_bytes),
                      " of them on the host");
}

// Says whether a replay without the cause served the request that failed. The replay ends there, so
// the words must not be read as the need of the whole job.
std::string FitsInWords(const OutOfMemoryFacts& failure, const AdviceFacts& advice) {
  if (advice.proof.is_untried) {
    return "A replay cannot show whether this helps, because it has no threads and no libraries.";
  }
  const std::string verdict = absl::StrCat(" request for ", Bytes(failure.requested_bytes),
                                           *advice.fits ? " fits" : " still does not fit");
  if (advice.replays.empty()) {
    return absl::StrCat("Judging by the bytes alone, the", verdict,
                        "; no replay has confirmed it.");
  }
  const ReplayFacts& first = advice.replays.front();
  std::string text = absl::StrCat(
      "The", verdict, ". Up to this request ", ReservingAllocator(first.model), " would reserve ",
      Bytes(first.peak_reserved_bytes), " with this change (", AvailableInWords(failure.demand));
  if (!failure.replays.empty()) {
    absl::StrAppend(&text, "; without it ", Bytes(failure.replays.front().peak_reserved_bytes));
  }
  text += ")";
  if (advice.replays.size() > 1) {
    const ReplayFacts& pool = advice.replays.back();
    absl::StrAppend(&text, "; ", AllocatorName(pool.model), " needs ",
                    Bytes(pool.peak_reserved_bytes),
                    pool.would_serve == first.would_serve ? ""
                    : pool.would_serve                    ? ", and the request succeeds"
                                                          : ", and the request fails");
  }
  return text + (*advice.fits ? ". Later requests may need more." : ".");
}

// Describes the failed request of a library other than PyTorch. PyTorch does not report such a
// failure as an out-of-memory error.
std::string LibraryInWords(const OutOfMemoryFacts& failure) {
  return absl::StrCat(Printable(failure.library), " requested ", Bytes(failure.requested_bytes),
                      " from the driver, but ", Bytes(failure.demand.lacking_bytes),
                      IsMathLibrary(failure.library)
                          ? " of free memory were missing. PyTorch reports an error of "
                            "that library instead of an out-of-memory error."
                          : " of free memory were missing. The request did not come from "
                            "PyTorch.");
}

// True if no call stacks were recorded, so that hardly any cause can be found.
bool LacksStacks(const Facts& facts) {
  const auto setting = facts.trace_metadata.find("option.stacks");
  return setting != facts.trace_metadata.end() && setting->second == "off";
}

// Describes on what the named cause is based, if PyTorch's tensors or Python's source lines were
// not recorded. Otherwise returns an empty text.
std::string Basis(const Facts& facts) {
  std::vector<std::string> parts;
  const auto has = [&facts](std::string_view library) {
    return std::ranges::any_of(facts.by_library, [library](const TallyFacts& tally) {
      return tally.allocations > 0 && tally.name.starts_with(library);
    });
  };
  if (facts.kind == "stow" && has("libc10_cuda") && !has("PyTorch")) {
    parts.emplace_back("PyTorch's segments, because its tensors were not observed");
  }
  if (const auto release = facts.trace_metadata.find("python.no_lines");
      release != facts.trace_metadata.end()) {
    parts.push_back(absl::StrCat("functions of libraries, because source lines of Python ",
                                 Printable(release->second), " cannot be read"));
  }
  if (parts.empty()) return "";
  return absl::StrCat(
      absl::StrJoin(parts, "; "),
      ". The true cause may be another one; `vramstow doctor` says what is missing.");
}

// Returns the bytes that the advice saves. They are an upper bound unless a replay has confirmed
// them or they are an estimate.
std::string Gain(const AdviceFacts& advice) {
  if (advice.bytes == 0) return "";
  const bool is_bound = !advice.replayed_bytes.has_value() && !advice.is_estimate;
  return absl::StrCat(is_bound             ? ": up to "
                      : advice.is_estimate ? ": about "
                                           : ": ",
                      Bytes(advice.bytes));
}

}  // namespace

bool KnowsSites(const Facts& facts) {
  std::set<std::string> libraries;
  for (const TallyFacts& library : facts.by_library) {
    libraries.insert(library.name);
  }
  return std::ranges::any_of(facts.by_site, [&libraries](const SiteFacts& site) {
    return !site.operation.empty() && site.at_peak.bytes > 0 && !libraries.contains(site.site) &&
           site.site != "unknown" && site.site != "no call stack";
  });
}

std::string ReplayedUpToPeak(const AdviceFacts& advice) {
  if (advice.replays.empty() || !advice.replayed_bytes.has_value()) return "";
  const ReplayFacts& replay = advice.replays.front();
  return absl::StrCat("In a replay up to the peak, ", AllocatorName(replay.model), " needs ",
                      Bytes(replay.peak_reserved_bytes), " instead of ",
                      Bytes(replay.peak_reserved_bytes + *advice.replayed_bytes), ".");
}

std::string HolderInWords(const AdviceFacts& advice) {
  return advice.kept_at.empty() ? advice.holder
                                : absl::StrCat(advice.holder, ", put there at ", advice.kept_at);
}

std::string AdviceTitle(const AdviceFacts& advice) {
  return absl::StrCat(advice.title, Gain(advice), " [", AdviceName(advice.id), "]");
}

const AdviceFacts* FirstCause(const Facts& facts) {
  if (facts.out_of_memory.empty()) return nullptr;
  const AdviceId cause = facts.out_of_memory.back().cause;
  // The cause need not be the first piece of advice, because advice that serves the request better
  // may come before it.
  const auto first = std::ranges::find_if(facts.advice, [cause](const AdviceFacts& advice) {
    return advice.id == AdviceId::kOutOfMemoryByFragmentation ||
           (cause != AdviceId::kNone && advice.id == cause);
  });
  return first == facts.advice.end() ? nullptr : &*first;
}

const AdviceFacts* FirstFault(const Facts& facts) {
  const auto first = std::ranges::find_if(
      facts.advice, [](const AdviceFacts& advice) { return advice.proof.is_fault; });
  return first == facts.advice.end() ? nullptr : &*first;
}

std::string WhySection(const Facts& facts, const TextStyle& style) {
  if (facts.out_of_memory.empty()) return "";
  const OutOfMemoryFacts& last = facts.out_of_memory.back();
  std::string text;
  if (const AdviceFacts* first = FirstCause(facts); first != nullptr) {
    text += Labelled("Because",
                     absl::StrCat(first->title, first->is_estimate ? ": about " : ": ",
                                  Bytes(first->bytes), " [", AdviceName(first->id), "]"),
                     style);
    if (!first->place.empty() && first->place != "unknown")
      text += Labelled("At", first->place, style);
    if (!first->holder.empty()) {
      text += Labelled("Held by", HolderInWords(*first), style);
    } else if (!last.census_left_out.empty()) {
      text += Labelled("Held by", absl::StrCat("not known: ", Printable(last.census_left_out), "."),
                       style);
    }
    if (IsLibraryFailure(last)) text += Labelled("For", LibraryInWords(last), style);
    text += Labelled("Do", first->action, style);
    if (first->fits.has_value() || first->proof.is_untried)
      text += Labelled("Then", FitsInWords(last, *first), style);
  }
  if (const std::string basis = Basis(facts); !basis.empty() && !text.empty()) {
    text += Labelled("Based on", basis, style);
  }
  if (LacksStacks(facts)) {
    text +=
        Labelled("Record",
                 absl::StrCat("again with `vramstow run --stacks=sites --census=on -- ...`: ",
                              text.empty() ? "this trace has no call stacks, so neither the cause "
                                             "nor the source line is known."
                                           : "this trace has no call stacks, so the source line is "
                                             "not known, and the cause may be another one."),
                 style);
  }
  return text;
}

namespace {

// Returns "Replayed up to the request that failed: vramstow needs 418 MiB, and the request
// succeeds."
std::string ReplayedText(const AdviceFacts& advice, bool failed) {
  if (!failed) return ReplayedUpToPeak(advice);
  std::string text = "Replayed up to the request that failed:";
  for (const ReplayFacts& replay : advice.replays) {
    absl::StrAppend(
        &text, &replay == &advice.replays.front() ? " " : "; ", replay.model, " needs ",
        Bytes(replay.peak_reserved_bytes),
        replay.would_serve ? ", and the request succeeds" : ", and the request fails again");
  }
  if (advice.together_with != AdviceId::kNone) {
    absl::StrAppend(&text, "; together with [", AdviceName(advice.together_with), "] it succeeds");
  }
  return text + ".";
}

}  // namespace

std::string AdviceSection(const Facts& facts, const TextStyle& style) {
  std::string text;
  size_t number = 0;
  for (const AdviceFacts& advice : facts.advice) {
    text += absl::StrFormat("%d. %s\n", ++number, AdviceTitle(advice));
    std::vector<std::string> lines = {Printable(advice.evidence), "Try: " + advice.action,
                                      "Costs: " + advice.cost};
    if (!advice.replays.empty())
      lines.push_back(ReplayedText(advice, !facts.out_of_memory.empty()));
    for (const std::string& line : lines) {
      std::string wrapped = WrappedLines(line, style.width - 3);
      size_t from = 0;
      while (from < wrapped.size()) {
        const size_t end = std::min(wrapped.find('\n', from), wrapped.size());
        text += absl::StrCat("   ", wrapped.substr(from, end - from), "\n");
        from = end + 1;
      }
    }
  }
  return text;
}

std::string SnapshotSection(const Facts& facts) {
  if (!facts.snapshot.has_value()) return "";
  const SnapshotStateFacts& state = *facts.snapshot;
  std::string text =
      absl::StrFormat("%s in %s, %s allocated in %s", Bytes(state.reserved_bytes),
                      Counted(state.segments, "segment"), Bytes(state.allocated_bytes),
                      Counted(state.allocated_blocks, "block"));
  if (state.pending_blocks > 0) {
    text += absl::StrCat(", ", Bytes(state.pending_bytes), " in ",
                         Counted(state.pending_blocks, "block"), " on the way back");
  }
  text += absl::StrCat("; ", Counted(state.inactive_blocks, "free block"), "\n");
  if (state.pools.size() < 2) return text;
  Table table({Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight});
  table.AddRow({"device", "pool", "stream", "segments", "reserved", "allocated", "largest free"});
  for (const SnapshotStateFacts::Pool& pool : state.pools) {
    table.AddRow({absl::StrCat(pool.device), pool.id, absl::StrFormat("0x%x", pool.stream),
                  Count(pool.segments), Bytes(pool.reserved_bytes), Bytes(pool.allocated_bytes),
                  Bytes(pool.largest_free_bytes)});
  }
  return text + table.Text(2);
}

std::string SiteSection(const Facts& facts, const TextStyle& style) {
  return KnowsSites(facts) ? SiteRows(facts, facts.by_site, "site", style) : "";
}

std::string ModuleSection(const Facts& facts, const TextStyle& style) {
  return SiteRows(facts, facts.by_module, "module", style);
}

std::string CategorySection(const Facts& facts, const TextStyle& style) {
  if (facts.by_category.empty()) return "";
  if (facts.by_category.size() == 1 && facts.by_category.front().name == "unknown") return "";
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  for (const CategoryFacts& category : facts.by_category) {
    table.AddRow({category.name, Bytes(category.at_peak.bytes),
                  Share(category.at_peak.bytes, facts.peak.allocated_bytes),
                  Words(category.evidence, style.width - 36, style)});
  }
  return table.Text(0);
}

std::string BeforePeakSection(const Facts& facts, const TextStyle& style) {
  const BeforePeakFacts& before = facts.before_peak;
  if (!before.known || before.changes.empty()) return "";
  std::string text = absl::StrFormat("From %s (%s) to the peak at %s (%s):\n", Time(before.from_ns),
                                     Bytes(before.from_bytes), Time(facts.peak.time_ns),
                                     Bytes(facts.peak.allocated_bytes));
  Table table({Align::kRight, Align::kLeft, Align::kLeft});
  const size_t rows = std::min<size_t>(before.changes.size(), 8);
  for (size_t i = 0; i < rows; ++i) {
    const ChangeFacts& change = before.changes[i];
    table.AddRow(
        {Signed(change.bytes), Words(change.site, 40, style), Words(change.operation, 22, style)});
  }
  return text + table.Text(2) + AndMore(before.changes.size() - rows);
}

// Describes the evidence by which the iterations were found.
std::string WayFound(const IterationsFacts& iterations) {
  if (iterations.found_by == "marks") {
    return absl::StrCat("the marks \"", Printable(iterations.mark), "\"");
  }
  if (iterations.found_by == "optimizer_steps") return "steps of the optimizer";
  if (iterations.found_by == "backward_passes") return "backward passes";
  if (iterations.found_by == "forward_passes") return "forward passes of the model";
  return iterations.found_by == "loop" ? "repeated source lines" : "what recurs";
}

std::string IterationSection(const Facts& facts) {
  const IterationsFacts& iterations = facts.iterations;
  if (iterations.list.empty()) {
    return iterations.why_not.empty() ? "" : "None found: " + iterations.why_not + "\n";
  }
  std::string text = absl::StrCat(Counted(iterations.count, "iteration"), ", by ");
  text += WayFound(iterations);
  if (!iterations.is_sure) text += " (not sure: they may be layers or parts of one)";
  if (iterations.backward_per_iteration > 1) {
    text += absl::StrCat(", ", iterations.backward_per_iteration, " backward passes a step");
  }
  text += absl::StrFormat("; the memory that is live between them changes by %s each\n",
                          Signed(iterations.growth_bytes));
  if (facts.model_clock.known()) absl::StrAppend(&text, StepInWords(facts.model_clock), "\n");
  Table table(
      {Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.AddRow({"", "from", "took", "peak", "at its end", "allocations"});
  const size_t count = iterations.list.size();
  for (size_t i = 0; i < count; ++i) {
    // If there are too many iterations, only the first ones and the last one are shown.
    if (count > kMaxIterationsShown && i >= kMaxIterationsShown - 1 && i + 1 < count) continue;
    const IterationFacts& iteration = iterations.list[i];
    table.AddRow({Count(i + 1), Time(iteration.begin_ns),
                  Time(iteration.end_ns - iteration.begin_ns), Bytes(iteration.peak_bytes),
                  Bytes(iteration.end_bytes), Count(iteration.allocations)});
  }
  return text + table.Text(2);
}

std::string PhaseSection(const Facts& facts) {
  if (facts.phases.empty()) return "";
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.AddRow({"", "times", "took", "peak", ""});
  for (const PhaseFacts& phase : facts.phases) {
    std::string more = phase.has_peak ? "the highest" : "";
    if (phase.decode_steps > 0) {
      absl::StrAppend(&more, more.empty() ? "" : ", ", Counted(phase.decode_steps, "decode step"));
    }
    const std::string name = phase.name == "start_up" ? "start-up" : phase.name;
    table.AddRow({name, Count(phase.times), Time(phase.took_ns), Bytes(phase.peak_bytes), more});
  }
  return table.Text(0);
}

std::string LaunchSection(const Facts& facts, const TextStyle& style) {
  constexpr size_t kMaxShown = 10;
  constexpr size_t kNameWidth = 72;
  const LaunchesFacts& launches = facts.launches;
  if (launches.launches == 0) return "";
  const auto most = [&](const std::vector<LaunchedFacts>& rows) {
    Table table({Align::kRight, Align::kLeft});
    for (size_t i = 0; i < std::min(rows.size(), kMaxShown); ++i) {
      table.AddRow(
          {Count(rows[i].launches), Shortened(Printable(rows[i].name), kNameWidth, style.utf8)});
    }
    return table.Text(2);
  };
  std::string text = absl::StrCat(
      launches.launches == 1 ? "1 launch" : absl::StrCat(Count(launches.launches), " launches"),
      launches.sampled ? ", as far as samples show" : "", "; by kernel:\n",
      most(launches.by_kernel));
  if (!launches.by_range.empty()) text += "By range:\n" + most(launches.by_range);
  return text;
}

std::string LifetimeSection(const Facts& facts, const TextStyle& style) {
  const LifetimeFacts& lifetimes = facts.lifetimes;
  if (!lifetimes.known) return "";
  Table table({Align::kLeft, Align::kRight, Align::kRight});
  const auto add = [&table](const char* name, const Amount& amount) {
    table.AddRow({name, Bytes(amount.bytes), Counted(amount.blocks, "block")});
  };
  add("freed in the iteration that allocated it", lifetimes.within);
  add("freed in a later iteration", lifetimes.across);
  add("live at the end", lifetimes.persistent);
  add("allocated before the first iteration", lifetimes.before);
  std::string text = table.Text(0);
  if (lifetimes.growing.empty()) {
    return text + (facts.iterations.Grows()
                       ? "Memory grows, but no call site accumulates blocks by itself.\n"
                       : "Nothing accumulates.\n");
  }
  text += "Piles up:\n";
  Table growing({Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  for (size_t i = 0; i < std::min<size_t>(lifetimes.growing.size(), 6); ++i) {
    const GrowthFacts& growth = lifetimes.growing[i];
    growing.AddRow({Bytes(growth.bytes_per_iteration) + " each",
                    absl::StrCat("in ", Count(growth.iterations)), Words(growth.site, 36, style),
                    Words(growth.operation, 20, style)});
  }
  return text + growing.Text(2);
}

// Describes how much memory grows in an hour, and at which call sites. Returns an empty text if it
// grows at none, as is usual.
std::string HourSection(const Facts& facts, const TextStyle& style) {
  constexpr size_t kMax = 6;
  const HourFacts& growth = facts.by_hour;
  if (!growth.known || growth.by_site.empty()) return "";
  const auto an_hour = [](int64_t bytes) {
    return Bytes(static_cast<uint64_t>(bytes)) + " an hour";
  };
  std::string text =
      absl::StrCat(an_hour(growth.bytes_per_hour), ", from ", Bytes(growth.from_bytes), " to ",
                   Bytes(growth.to_bytes), " in ", Time(growth.over_ns),
                   growth.is_endless ? ", and it continues\n" : ", and it slows down\n");
  Table sites({Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft});
  for (size_t i = 0; i < std::min(growth.by_site.size(), kMax); ++i) {
    const SiteHourFacts& site = growth.by_site[i];
    sites.AddRow({an_hour(site.bytes_per_hour), Words(site.site, 36, style),
                  Words(site.operation, 20, style), site.category});
  }
  return WrappedLines(text, style.width) + sites.Text(2);
}

std::string CacheSection(const Facts& facts, const TextStyle& style) {
  const CacheFacts& cache = facts.cache;
  std::string text;
  if (facts.churn.pairs > 0) {
    text +=
        absl::StrFormat("%s of a size that had just been freed (%s in all)\n",
                        Counted(facts.churn.pairs, "allocation"), Bytes(facts.churn.pair_bytes));
  }
  if (!cache.known) return WrappedLines(text, style.width);
  text += absl::StrFormat("%s requested from the device (%s), %s returned (%s)\n",
                          Counted(cache.segments_taken, "segment"), Bytes(cache.taken_bytes),
                          Count(cache.segments_given_back), Bytes(cache.given_back_bytes));
  if (cache.counts_steps) {
    text += absl::StrFormat(
        "%s that cached memory could not serve at once, %s for which chunks were moved; ",
        Counted(cache.misses, "allocation"), Count(cache.stitches));
    text += cache.fence_waits == 0
                ? "no wait for unfinished work\n"
                : absl::StrFormat("%s for unfinished work, %s in all\n",
                                  Counted(cache.fence_waits, "wait"), Time(cache.fence_wait_ns));
  }
  if (cache.flush_count == 0) return WrappedLines(text, style.width);
  uint64_t taken_again = 0;
  uint64_t duration_ns = 0;
  for (const FlushFacts& flush : cache.flushes) {
    taken_again += flush.taken_again_bytes;
    duration_ns += flush.duration_ns;
  }
  const bool all = cache.flushes.size() == cache.flush_count;
  const std::string by_program =
      cache.knows_empty_cache ? absl::StrCat(", by empty_cache() ", Count(cache.empty_cache_calls))
                              : "";
  text += absl::StrFormat(
      "the cache was returned %s%s%s: it took %s, and %s was requested from the device again\n",
      Counted(cache.flush_count, "time"), by_program,
      all ? "" : absl::StrCat("; the first ", cache.flushes.size()), Time(duration_ns),
      Bytes(taken_again));
  return WrappedLines(text, style.width);
}

// Describes the bytes of pinned memory beyond the requested bytes.
std::string PinnedRounding(const Facts& facts) {
  if (facts.host.pinned_rounding_bytes == 0) return "";
  const bool has_advice = std::ranges::find(facts.advice, AdviceId::kPinnedRounding,
                                            &AdviceFacts::id) != facts.advice.end();
  return absl::StrCat(", ", Bytes(facts.host.pinned_rounding_bytes), " of it by rounding",
                      has_advice ? " (vramstow help pinned_rounding)" : "");
}

std::string HostSection(const Facts& facts, const TextStyle& style) {
  const HostFacts& host = facts.host;
  std::string text;
  if (host.looks > 0) {
    text += absl::StrFormat(
        "resident memory of the process at most %s (at %s); at least %s free of %s of %s (at %s)\n",
        Bytes(host.highest_resident_bytes), Time(host.highest_resident_time_ns),
        Bytes(host.least_free_bytes), Bytes(host.limit_bytes),
        host.is_of_group ? "its control group" : "the machine", Time(host.least_free_time_ns));
  }
  if (facts.peak.host_bytes > 0) {
    text += absl::StrCat(Bytes(facts.peak.host_bytes), " pinned at the most", PinnedRounding(facts),
                         "\n");
  }
  return WrappedLines(text, style.width);
}

std::string HoleTable(const Facts& facts, const TextStyle& style) {
  const FragmentationFacts& fragmentation = facts.fragmentation;
  if (fragmentation.holes.empty()) return "";
  std::string text = absl::StrFormat("%s at the peak, the largest:\n",
                                     Counted(fragmentation.hole_count, "free range"));
  Table table({Align::kRight, Align::kLeft, Align::kLeft});
  table.AddRow({"free", "before it", "after it"});
  const size_t rows = std::min(fragmentation.holes.size(), kMaxHolesShown);
  for (size_t i = 0; i < rows; ++i) {
    const HoleFacts& hole = fragmentation.holes[i];
    if (hole.before_bytes == 0 && hole.after_bytes == 0) {
      table.AddRow({Bytes(hole.size), "a whole segment is free"});
      continue;
    }
    table.AddRow({Bytes(hole.size), NeighbourText(hole.before, hole.before_bytes, style),
                  NeighbourText(hole.after, hole.after_bytes, style)});
  }
  return text + table.Text(2);
}

}  // namespace vramstow
