// FailureMoment: what was live when a request failed, and what the request lacked; or, of a job
// that lived, what was live at its peak.
//
// Ownership: refers to a Detail, its categories and Facts, which outlive it. Threads: a value.
// Errors: none. Units: bytes, events counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_FAILURE_MOMENT_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_FAILURE_MOMENT_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/analysis/explain/holders.h"
#include "tools/analysis/explain/iterations.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

class CategoryFinder;

class FailureMoment {
 public:
  // `passes`, `categories`: of the same detail. `failure`: of a job that lived its peak, at which
  // nothing was asked for.
  FailureMoment(const Detail& detail, const Facts& facts, const Iterations& passes,
                const CategoryFinder& categories, const OutOfMemoryFacts& failure);

  const Detail& detail() const { return *detail_; }
  const Facts& facts() const { return *facts_; }
  const Iterations& passes() const { return *passes_; }
  const OutOfMemoryFacts& failure() const { return *failure_; }
  // As a census found them, if there was one.
  const Holders& holders() const { return holders_; }
  const SiteDetail& site_of(const Life& life) const { return detail_->sites[life.site]; }

  // No request failed: it is the peak of a job that lived.
  bool is_peak() const { return failure_->memory == MemoryKind::kNone; }
  // A part of a model, as a census, the program or the place where it was made tells.
  bool IsWeight(const Life& life) const;
  uint64_t event() const { return failure_->event; }
  uint64_t requested() const { return failure_->requested_bytes; }
  const SiteDetail& request_site() const { return detail_->sites[failure_->site_number]; }
  // Bytes that would have had to be free besides. Where enough was free, and not in one piece: all
  // of it.
  uint64_t lacking() const { return lacking_; }
  // Bytes that this process can have of the card: live, plus those that it may still take.
  uint64_t room() const { return room_; }
  // False: neither the card's size nor what was free is known, so that room() is what was held.
  bool is_room_known() const { return is_room_known_; }
  // Device memory that was live, by birth.
  const std::vector<const Life*>& live() const { return live_; }
  uint64_t live_bytes() const { return live_bytes_; }
  // The pass in which it failed; negative: in none.
  int64_t pass() const { return pass_; }
  // The event with which that begins; 0: none.
  uint64_t pass_begin() const {
    return pass_ < 0 ? 0 : passes_->all()[static_cast<size_t>(pass_)].begin;
  }
  int64_t PassOf(const Life& life) const { return passes_->At(life.birth); }

  // Whether it is worth a sentence beside what was live.
  bool IsLarge(uint64_t bytes) const;
  // The pool had enough free memory, and could not use it: it belongs to private pools, of captured
  // graphs or of MemPool.
  bool is_bound() const { return is_bound_; }
  // Segments of PyTorch's allocator in which nothing lies. Before it refuses a request of its own
  // it gives back those of the common pool: what is left then belongs to private pools.
  const std::vector<const Life*>& free_segments() const { return free_segments_; }
  // Another library than PyTorch asked the driver, and cannot have what PyTorch's allocator keeps
  // free. Where vramstow's pool serves the process, it serves the library, too.
  bool is_of_library() const { return is_of_library_; }
  // PyTorch refused although the driver could have served it: the program limits itself.
  bool is_limited() const { return is_limited_; }

 private:
  const Detail* detail_;
  const Facts* facts_;
  const Iterations* passes_;
  const CategoryFinder* categories_;
  const OutOfMemoryFacts* failure_;
  Holders holders_;
  void FindFreeSegments();
  // How much the request could have had of what the pool kept free; notes if that was bound.
  uint64_t FromPool(uint64_t takes);

  std::vector<const Life*> live_;
  std::vector<const Life*> free_segments_;
  uint64_t live_bytes_ = 0;
  uint64_t lacking_ = 0;
  uint64_t room_ = 0;
  int64_t pass_ = -1;
  bool is_room_known_ = true;
  bool is_bound_ = false;
  bool is_limited_ = false;
  bool is_of_library_ = false;
};

// The same operator on the same lines of the program. A request that fails may come another way
// through C++ than one that is served.
bool SameWork(const SiteDetail& a, const SiteDetail& b);
// Whether the program has trained before this event, and never through the lines that made these.
bool IsNewWork(const FailureMoment& moment, const std::vector<const Life*>& made, uint64_t begin);
// Whether the request that failed was for one more of these, of which there are many: the rest is
// still to come.
bool IsStillFilled(const FailureMoment& moment, const std::vector<const Life*>& lives);
uint64_t BytesOf(const std::vector<const Life*>& lives);
// "aten::cat" is "cat", and "aten::pow_Tensor_Scalar" is "pow".
std::string_view OperatorName(const SiteDetail& site);
// Whether the operator makes one tensor of several: "cat", "stack".
bool IsConcatenation(std::string_view operator_name);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_FAILURE_MOMENT_H_
