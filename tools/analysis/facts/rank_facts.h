// RankComparison: the results of comparing the ranks of a job.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_RANK_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_RANK_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace vramstow {

// One figure over the ranks of a job.
struct RankFigure {
  std::string name;  // its key in the JSON
  uint64_t median = 0;
  uint64_t least = 0;
  int64_t least_rank = 0;
  uint64_t most = 0;
  int64_t most_rank = 0;
};

// A call site that held more at the straggler's peak than at the median rank's.
struct RankSite {
  std::string site;
  std::string operation;
  uint64_t bytes_at_peak = 0;
  uint64_t median_bytes_at_peak = 0;
};

struct RankComparison {
  uint64_t ranks = 0;
  uint64_t attempts = 1;  // of the rank that has most of them
  // Ranks whose recordings lack events, so that their figures are only lower bounds. The others are
  // compared. If there are fewer than two others, there is no straggler, and the figures are those
  // of all ranks.
  std::vector<int64_t> incomplete;
  std::vector<RankFigure> figures;  // the first is the peak of reserved memory
  bool has_straggler = true;        // the following facts are known
  int64_t straggler = 0;            // the rank with the highest of the first figure
  std::string host;
  uint64_t over_median_bytes = 0;
  bool balanced = true;         // it is no more than 5% above the median
  std::vector<RankSite> sites;  // the largest difference first
};

inline constexpr size_t kMaxRankSites = 20;
inline constexpr uint64_t kBalancedPart = 20;  // of the median

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_RANK_FACTS_H_
