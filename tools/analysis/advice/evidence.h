// Evidence: the view of the whole job on which advice other than the causes of a failure is based.
//
// Ownership: refers to a Detail, its categories and Facts, which outlive it. Threads: const
// functions may be called at the same time. Errors: none; unknown values are 0 or empty. Units:
// bytes; events are counted from 1.
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
  // `facts` must have the results of Explanation.
  Evidence(const Detail& detail, const CategoryFinder& categories, const Facts& facts);

  const Detail& detail() const { return detail_; }
  const CategoryFinder& categories() const { return categories_; }
  const Facts& facts() const { return facts_; }
  Phase PhaseOf(const Life& life) const { return detail_.sites[life.site].phase; }

  // True if this many bytes are worth a sentence.
  bool IsWorthIt(uint64_t bytes) const;
  // Returns the bytes of a category at the peak.
  uint64_t AtPeak(const std::string& category) const;
  bool IsAtPeak(const Life& life) const {
    return !life.pending && life.LivesAt(detail_.peak_event);
  }
  // True if the iterations are those of the main loop. A recurring line or pattern may also be a
  // loop that fills a list of weights, or the layers within one iteration.
  bool HasTrueIterations() const;

  // True if vramstow's pool served this process.
  bool IsOurPool() const { return Says("option.pool", "on"); }
  bool HasExpandableSegments() const { return Says("allocator.expandable_segments", "true"); }

  // The device memory that was live when the last request failed or, if none failed, at the peak.
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
