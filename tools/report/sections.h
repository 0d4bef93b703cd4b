// Sections: the parts of the text report, without their titles. A part is empty if there is nothing
// to report.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none. Units: written in the text.
#ifndef VRAMSTOW_TOOLS_REPORT_SECTIONS_H_
#define VRAMSTOW_TOOLS_REPORT_SECTIONS_H_

#include <optional>
#include <string>

#include "tools/analysis/facts/facts.h"
#include "tools/terminal/layout.h"

namespace vramstow {

std::string CollectedInWords(const GarbageFacts& garbage);

// Returns the line below a table that says how many rows were left out. Returns an empty text if
// all rows are shown.
std::string AndMore(uint64_t left_out);

// Returns "13 failed allocations, 12 of them handled inside PyTorch"; empty if no allocation
// failed.
std::string FailuresInWords(const Facts& facts);

// False if the trace does not say which library made a call. This is so in formats other than
// vramstow's own.
bool HasLibraries(const Facts& facts);

std::string PeakSection(const Facts& facts);
std::string LibrarySection(const Facts& facts, const TextStyle& style);
std::string KindSection(const Facts& facts);
std::string CallSection(const Facts& facts);
std::string SizeSection(const Facts& facts, const TextStyle& style);
std::string FragmentationSection(const Facts& facts, const TextStyle& style);
std::string OutOfMemorySection(const FactSet& set, const TextStyle& style);
std::string LiveSection(const Facts& facts, const TextStyle& style);

// Returns "at 1.90 s job.py:30 asked for 128 MiB on device 0; this process had 1.69 GiB, …".
std::string RequestInWords(const OutOfMemoryFacts& failure);

// --- Defined in sections_offload.cc.
// Returns "1.2 GiB to the host, 800 MiB back; submissions waited 30 ms, at most 5 ms at once".
std::string MovedInWords(const OffloadFacts& offload);
// Says of which peaks the peak of several processes is the sum: "the sum of each process's own".
std::string SumOfPeaksInWords(const Facts& total);
// Returns the call sites whose memory was evicted, one on each line, most bytes first.
std::string OffloadedSites(const OffloadFacts& offload);
// For a job that ran only because memory was moved to the host, NeedInWords returns "This job needs
// 6.7 GiB of GPU memory; the GPU has 6.0 GiB", and CarriedInWords the sentence that follows it, "It
// ran because …". If a limit was the reason, they name the limit. Both return an empty text for any
// other job.
std::string NeedInWords(const OffloadFacts& offload);
std::string CarriedInWords(const OffloadFacts& offload);
// Returns "900 MiB of train.py:9 main, …"; empty if the owners are unknown.
std::string MostMovedInWords(const OffloadFacts& offload);
// For a job that ran only because memory was moved to the host, says what these moves cost in an
// iteration. Returns an empty text if the time of an iteration is unknown.
std::string MovesCostInWords(const Facts& facts);
// Describes one of the changes by hand with which the job would need no moves to the host; 0 is the
// best one. Returns an empty text if there are fewer.
std::string HandChangeInWords(const Facts& facts, size_t number);
// Describes the time of an iteration by the simulated GPU's clock, and its traffic over PCIe or
// NVLink; empty if unknown.
std::string StepInWords(const ModelClockFacts& clock);

// --- Defined in sections_ranks.cc.
// Says how much the ranks differ.
std::string RankSentence(const RankComparison& comparison);
std::string RankSection(const RankComparison& comparison, const TextStyle& style);

// --- Defined in sections_explain.cc.
// Returns the first cause of the out-of-memory; null if there was none, or its cause is unknown.
const AdviceFacts* FirstCause(const Facts& facts);
// Returns the advice on a fault of a job that did not run out of memory; null if there is none.
const AdviceFacts* FirstFault(const Facts& facts);
// Returns "In a replay up to the peak, PyTorch's allocator needs 1.2 GiB instead of 1.9 GiB.";
// empty if the advice was not replayed.
std::string ReplayedUpToPeak(const AdviceFacts& advice);
// Returns "Memory piles up: up to 24.0 MiB [growing_memory]".
std::string AdviceTitle(const AdviceFacts& advice);
// Names the object that holds the memory (its owner), and the source line that stored the memory in
// this object.
std::string HolderInWords(const AdviceFacts& advice);
// False if there are no call stacks. Then the call sites are libraries, which have a table of their
// own.
bool KnowsSites(const Facts& facts);
// Explains the first cause of an out-of-memory in five lines. Returns an empty text if memory did
// not run out, or if nothing is known about the cause.
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
// Returns a part of the section on fragmentation.
std::string HoleTable(const Facts& facts, const TextStyle& style);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_SECTIONS_H_
