// AdviceWords: what all advice is worded and weighed with. Internal to advice*.cc.
//
// Ownership: copies. Threads: pure functions. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ADVICE_WORDS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ADVICE_WORDS_H_

#include <string>
#include <vector>

#include "tools/analysis/explain/category_of.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

std::string AdviceText(uint64_t bytes);
std::string AdvicePercent(uint64_t part, uint64_t whole);
// Less is not worth a sentence.
bool IsWorthAdvice(const Facts& facts, uint64_t bytes);
// What the process found free on its cards; 0: not known.
uint64_t CardBytes(const Facts& facts);
// Whether the job left half of its card or more: then nothing has to be saved.
bool HasRoom(const Facts& facts);
// Bytes of a category at the peak.
uint64_t CategoryAtPeak(const Facts& facts, const std::string& name);
// The first few different names, with commas between.
std::string FirstNames(const std::vector<std::string>& names);
// The sites of a phase that hold most at the peak.
std::string SitesOfPhase(const Detail& detail, Phase phase);

// Advice on how the work is done, other than how its memory is served: smaller numbers, smaller
// batches, references that are kept, blocks that could lie elsewhere meanwhile. Added at the end.
void AdviseOnWork(const Detail& detail, const CategoryFinder& categories, const Facts& facts,
                  std::vector<AdviceFacts>* advice);

// What each changes of the requests up to the last one that failed; nothing without a failure.
void FillChanges(const Detail& detail, const CategoryFinder& categories, const Facts& facts,
                 std::vector<AdviceFacts>* advice);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_ADVICE_WORDS_H_
