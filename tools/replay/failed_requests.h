// FailedRequests: the requests of a program up to the one that failed, unchanged or with the change
// that a piece of advice stands for.
//
// Idea: the analysis has stored the lives of blocks, so the file need not be read again. Only the
// newest part of a long trace is replayed. Blocks that were live where this part begins are
// requested first. If an earlier request failed, the program has survived this failure, so only the
// requests after it are judged; PyTorch released its cache at that failure.
//
// Ownership: refers to a Detail, which outlives it. Threads: const functions may be called at the
// same time. Errors: none. Memory: 16 bytes for each request, up to the allowed number. Units:
// bytes; events are counted from 1.
#ifndef VRAMSTOW_TOOLS_REPLAY_FAILED_REQUESTS_H_
#define VRAMSTOW_TOOLS_REPLAY_FAILED_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"
#include "tools/replay/requests.h"

namespace vramstow {

class FailedRequests {
 public:
  // `survived` is the event of the last failure before this one that the program survived; 0 if
  // there is none.
  FailedRequests(const Detail& detail, const OutOfMemoryFacts& failure, size_t most,
                 uint64_t survived = 0);

  // The number of requests, including the one that failed.
  size_t size() const { return opening_.size() + steps_.size() + 1; }
  bool has_tensors() const { return has_tensors_; }
  // Returns the requests with this change. The last one is the request that failed, as an
  // allocation like any other.
  Requests With(const Change& change) const;

 private:
  enum class StepKind : uint8_t { kFree, kBirth, kFlush };
  struct Step {
    uint64_t event = 0;
    uint32_t life = 0;
    StepKind kind = StepKind::kFree;
  };
  class Writer;

  void FillSteps();
  void LeaveNewest(size_t most);

  const Detail* detail_;
  uint64_t failed_;
  uint64_t survived_;
  uint64_t requested_;
  int device_;
  bool has_tensors_ = false;
  std::vector<uint32_t> opening_;  // lives, by birth
  std::vector<Step> steps_;        // in order
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_FAILED_REQUESTS_H_
