// Sections: the parts of the text report, each without its title; empty where there is nothing to
// say.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: written out.
#ifndef VRAMSTOW_TOOLS_REPORT_SECTIONS_H_
#define VRAMSTOW_TOOLS_REPORT_SECTIONS_H_

#include <optional>
#include <string>

#include "tools/analysis/facts/facts.h"
#include "tools/report/layout.h"

namespace vramstow {

std::string CollectedInWords(const GarbageFacts& garbage);

// The line below a table that leaves rows out; empty if it leaves none out.
std::string AndMore(uint64_t left_out);

// How far a process filled the card that it left least room on.
struct Room {
  int device = kNoDevice;
  uint64_t card_bytes = 0;
  uint64_t used_bytes = 0;
  uint64_t left_bytes = 0;
};

// Nothing: the trace does not tell how large a card is.
std::optional<Room> RoomOf(const Facts& facts);
// "139 GiB of the card's 140 GiB were never used", "the GPU was full"; empty: nobody knows.
std::string RoomInWords(const Facts& facts);

// "13 failed allocations, 12 of them handled inside PyTorch"; empty: memory never ran out.
std::string FailuresInWords(const Facts& facts);

// False: nothing tells which library asked, as in other formats than our own.
bool HasLibraries(const Facts& facts);

std::string PeakSection(const Facts& facts);
std::string LibrarySection(const Facts& facts, const TextStyle& style);
std::string KindSection(const Facts& facts);
std::string CallSection(const Facts& facts);
std::string SizeSection(const Facts& facts, const TextStyle& style);
std::string FragmentationSection(const Facts& facts, const TextStyle& style);
std::string OutOfMemorySection(const FactSet& set, const TextStyle& style);
std::string LiveSection(const Facts& facts, const TextStyle& style);

// "at 1.90 s job.py:30 asked for 128 MiB on device 0; this process had 1.69 GiB, …".
std::string RequestInWords(const OutOfMemoryFacts& failure);

// sections_offload.cc
// "1.2 GiB to the host, 800 MiB back; submissions waited 30 ms, at most 5 ms at once".
std::string MovedInWords(const OffloadFacts& offload);
// The holders whose memory went, a line each, the most first.
std::string OffloadedSites(const OffloadFacts& offload);
// Of a job that ran only because memory was moved: "This job needs 6.7 GiB of GPU memory; the GPU
// has 6.0 GiB", and the sentence that follows it: "It ran because …". Empty: it is none.
std::string NeedInWords(const OffloadFacts& offload);
std::string CarriedInWords(const OffloadFacts& offload);
// "900 MiB of train.py:9 main, …"; empty: nobody knows whose it was.
std::string MostMovedInWords(const OffloadFacts& offload);
// Of such a job: what moves cost in an iteration; empty: no clock tells.
std::string MovesCostInWords(const Facts& facts);
// And with which change by hand it would need no moves: the `number`th best, from 0; empty: none is
// known.
std::string HandChangeInWords(const Facts& facts, size_t number);
// What an iteration takes by the simulated card's clock, and what goes over the link in it; empty:
// it is not known.
std::string StepInWords(const ModelClockFacts& clock);

// sections_ranks.cc
// How far the ranks differ.
std::string RankSentence(const RankComparison& comparison);
std::string RankSection(const RankComparison& comparison, const TextStyle& style);

// sections_explain.cc
// Why memory ran out; null: it did not, or nobody knows.
const AdviceFacts* FirstCause(const Facts& facts);
// The advice on a fault of a job whose memory did not run out; null: there is none.
const AdviceFacts* FirstFault(const Facts& facts);
// "In a replay up to the peak, PyTorch's allocator needs 1.2 GiB instead of 1.9 GiB."; empty: the
// advice was not replayed.
std::string ReplayedUpToPeak(const AdviceFacts& advice);
// "Memory piles up: up to 24.0 MiB [growing_memory]".
std::string AdviceTitle(const AdviceFacts& advice);
// Who holds it, and the line that put it there.
std::string HolderInWords(const AdviceFacts& advice);
// False: no call stack tells a site, so that sites are libraries, which have a table of their own.
bool KnowsSites(const Facts& facts);
// The first cause in five lines, where memory ran out; empty: it did not, or nothing is known.
std::string WhySection(const Facts& facts, const TextStyle& style);
std::string AdviceSection(const Facts& facts, const TextStyle& style);
std::string SnapshotSection(const Facts& facts);
std::string SiteSection(const Facts& facts, const TextStyle& style);
std::string ModuleSection(const Facts& facts, const TextStyle& style);
std::string CategorySection(const Facts& facts, const TextStyle& style);
std::string BeforePeakSection(const Facts& facts, const TextStyle& style);
std::string IterationSection(const Facts& facts);
std::string PhaseSection(const Facts& facts);
std::string LifetimeSection(const Facts& facts, const TextStyle& style);
std::string HourSection(const Facts& facts, const TextStyle& style);
std::string CacheSection(const Facts& facts, const TextStyle& style);
std::string HostSection(const Facts& facts, const TextStyle& style);
std::string LaunchSection(const Facts& facts, const TextStyle& style);
// Part of the section on fragmentation.
std::string HoleTable(const Facts& facts, const TextStyle& style);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_SECTIONS_H_
