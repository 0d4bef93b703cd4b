// StepTime: estimates the time of an iteration on a card, with a roofline model of each operator in
// a simulated run.
//
// Idea: an operator takes at least the time of its products at the card's rate, and the time to
// move its bytes from and to memory. A real card reaches a fraction of both rates. Traffic between
// GPUs is hidden behind computing as long as that lasts; copies from and to the host are not. The
// program itself also takes time to launch each operator.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// lines that are no work are ignored. Units: bytes, seconds; nanoseconds since 1970 if a line has a
// time.
#ifndef VRAMSTOW_TOOLS_PLAN_STEP_TIME_H_
#define VRAMSTOW_TOOLS_PLAN_STEP_TIME_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/card_rates.h"

namespace vramstow {

struct WorkItem {
  enum class Kind : uint8_t { kOperator, kCopy, kKernel, kCollective };

  uint64_t time_ns = 0;
  Kind kind = Kind::kOperator;
  std::string name;
  std::string precision;
  uint64_t operations = 0;
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
  uint64_t items = 0;
};

// Parses the lines of a work log (work-log= of the SPEC), in its order.
std::vector<WorkItem> ReadWorkLog(absl::string_view text);

struct StepTime {
  double seconds = 0;      // the whole step
  double products = 0;     // matrix products, convolutions
  double attention = 0;    // fused attention
  double memory = 0;       // operators that memory bounds
  double launches = 0;     // the overhead of each kernel
  double collectives = 0;  // the part of collectives that is not hidden
  double transfers = 0;    // from and to the host
  double program = 0;      // the extra time of the program for launching all of it
  double operations = 0;
  uint64_t tokens = 0;  // 0 if unknown
  uint64_t launched = 0;
  uint64_t unknown_kernels = 0;  // of these, kernels of which only the name is known
};

StepTime EstimateStep(std::span<const WorkItem> items, const CardRates& rates);

// Returns the items whose time is in [begin_ns, end_ns).
std::span<const WorkItem> Within(std::span<const WorkItem> items, uint64_t begin_ns,
                                 uint64_t end_ns);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_STEP_TIME_H_
