// AdviceWords: what all advice is worded and weighed with.
//
// Ownership: copies. Threads: pure functions. Errors: none. Units: bytes.
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
// Less is not worth a sentence.
bool IsWorthAdvice(const Facts& facts, uint64_t bytes);
// Bytes that the process found free on its cards; 0: not known.
uint64_t CardBytes(const Facts& facts);
// Whether the job left half of its card or more: then nothing has to be saved.
bool HasRoom(const Facts& facts);
// Whether a part of the text says so.
bool Mentions(std::string_view text, std::string_view part);
// The first few different names, with commas between.
std::string FirstNames(const std::vector<std::string>& names);
// The sites of a phase that hold most at the peak.
std::string SitesOfPhase(const Detail& detail, Phase phase);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ADVICE_WORDS_H_
