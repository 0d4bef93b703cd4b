// Evidence: what advice is made from, other than the causes of a failure: the whole job.
//
// Ownership: refers to a Detail, its categories and Facts, which outlive it. Threads: const calls
// are free. Errors: none; what is not known is 0 or empty. Units: bytes, events counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_EVIDENCE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_EVIDENCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/analysis/explain/category_of.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

class Evidence {
 public:
  // `facts`: with what Explanation fills.
  Evidence(const Detail& detail, const CategoryFinder& categories, const Facts& facts);

  const Detail& detail() const { return detail_; }
  const CategoryFinder& categories() const { return categories_; }
  const Facts& facts() const { return facts_; }
  Phase PhaseOf(const Life& life) const { return detail_.sites[life.site].phase; }

  // Less is not worth a sentence.
  bool IsWorthIt(uint64_t bytes) const;
  // Bytes of a category at the peak.
  uint64_t AtPeak(const std::string& category) const;
  bool IsAtPeak(const Life& life) const {
    return !life.pending && life.LivesAt(detail_.peak_event);
  }
  // A line or a pattern that recurs may fill a list of weights, or be the layers of one iteration.
  bool HasTrueIterations() const;

  // vramstow's pool served this process.
  bool IsOurPool() const { return Says("option.pool", "on"); }
  bool HasExpandableSegments() const { return Says("allocator.expandable_segments", "true"); }

  // Device memory that was live when the last request failed; where none failed, at the peak.
  const std::vector<const Life*>& live() const { return live_; }
  std::vector<const Life*> LiveThat(const std::function<bool(const Life&)>& is_one) const;
  std::vector<const Life*> LiveOf(const std::string& category) const;

 private:
  bool Says(const std::string& name, const std::string& value) const;

  const Detail& detail_;
  const CategoryFinder& categories_;
  const Facts& facts_;
  std::vector<const Life*> live_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_EVIDENCE_H_
