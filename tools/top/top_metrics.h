// TopMetrics: the memory of each process of a node, and of all processes together, in the formats
// of Prometheus.
//
// Idea: the metrics of a process have the same names as those that the process itself serves under
// --metrics. Sums are named vramstow_node_…, and there is one for each card's UUID, because each
// process numbers devices differently. A counter never falls: the highest count of each trace stays
// in the sum, also when the trace is gone or cannot be read for a while.
//
// Ownership: copies a few numbers for each process. Threads: used by one thread at a time. Errors:
// none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_TOP_TOP_METRICS_H_
#define VRAMSTOW_TOOLS_TOP_TOP_METRICS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/top/top_view.h"

namespace vramstow {

class TopMetrics {
 public:
  // Updates the metrics with the current state of the processes.
  void Take(const std::vector<TopProcess>& processes);

  // Returns the metrics in OpenMetrics, or in Prometheus's older format.
  std::string Text(bool is_open) const;

 private:
  struct Device {
    std::string labels;  // device="0",pid="7",rank="" or uuid="GPU-…"
    uint64_t allocated = 0;
    uint64_t reserved = 0;
    uint64_t peak_allocated = 0;
    uint64_t peak_reserved = 0;
    uint64_t total = 0;
    uint64_t out_of_memory = 0;
  };
  struct Family;
  using CountByCard = std::map<std::string, uint64_t>;

  void AddFamily(const Family& family, bool is_open, std::string* text) const;

  std::vector<std::string> infos_;             // the labels of each process that runs
  std::vector<Device> devices_;                // of each of them
  std::map<std::string, Device> cards_;        // the sums of each card seen so far, by UUID
  std::map<std::string, CountByCard> counts_;  // the highest out-of-memory, by trace
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TOP_TOP_METRICS_H_
