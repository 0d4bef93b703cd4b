// ModelClockFacts: the time of an iteration by the clock that the simulated GPU computes (option
// clock=model).
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// seconds, bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_MODEL_CLOCK_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_MODEL_CLOCK_FACTS_H_

#include <cstdint>

namespace vramstow {

// The numbers without another note are medians over the complete iterations from the third on.
struct ModelClockFacts {
  uint64_t iterations = 0;  // the number of these; 0 if nothing is known
  double step_seconds = 0;
  double wait_seconds = 0;       // for which work was held up while memory moved
  uint64_t link_read_bytes = 0;  // that work read or wrote in place in host memory
  uint64_t out_bytes = 0;        // that copies brought to the host
  uint64_t in_bytes = 0;         // and to the device
  // The iteration with the median time: [begin, end), as events.
  uint64_t begin_event = 0;
  uint64_t end_event = 0;
  // The time of the computation if all memory were on the GPU; 0 if unknown.
  double work_seconds = 0;
  uint64_t operators = 0;
  double link_seconds = 0;  // the extra time of operators because memory is on the host
  // Means over the same iterations. They differ from the medians if a job does different work in
  // turn, or if only some of its iterations use memory on the host.
  double mean_seconds = 0;
  double mean_wait_seconds = 0;
  uint64_t mean_link_read_bytes = 0;
  uint64_t mean_out_bytes = 0;
  uint64_t mean_in_bytes = 0;

  bool known() const { return iterations != 0; }
  // True if the median does not describe the whole run.
  bool is_uneven() const {
    return mean_seconds > step_seconds * 1.25 || mean_seconds < step_seconds * 0.8;
  }
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_MODEL_CLOCK_FACTS_H_
