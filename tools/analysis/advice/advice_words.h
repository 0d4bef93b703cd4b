// AdviceWords: the wording and the thresholds that all advice shares.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ADVICE_WORDS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ADVICE_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

std::string AdviceText(uint64_t bytes);
std::string AdvicePercent(uint64_t part, uint64_t whole);
// True if this many bytes are large enough to be mentioned in advice.
bool IsWorthAdvice(const Facts& facts, uint64_t bytes);
// Returns the bytes that the process found free on its GPUs; 0 if unknown.
uint64_t CardBytes(const Facts& facts);
// True if the job left half of its GPU or more unused, so that nothing has to be saved.
bool HasRoom(const Facts& facts);
// True if the program may train. A trace without call stacks does not show whether a backward pass
// ran, so it counts as training.
bool MayTrain(const Detail& detail);
// True if `text` contains `part`.
bool Mentions(std::string_view text, std::string_view part);
// Returns the first few different names, separated by commas.
std::string FirstNames(const std::vector<std::string>& names);
// Returns the call sites of a phase that hold most at the peak.
std::string SitesOfPhase(const Detail& detail, Phase phase);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ADVICE_WORDS_H_
