// FailureMoment: the live memory when a request failed, and how much memory the request lacked. For
// a job that did not fail, it has the live memory at the peak.
// Ownership: refers to a Detail, its categories and Facts, which outlive it. Threads: a plain value
// without synchronisation. Errors: none. Units: bytes; events are counted from 1.
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
  // All arguments belong to the same `Detail`. For a job that did not fail, `failure` stands for
  // its peak and has no request.
  FailureMoment(const Detail& detail, const Facts& facts, const Iterations& passes,
                const CategoryFinder& categories, const OutOfMemoryFacts& failure);

  const Detail& detail() const { return *detail_; }
  const Facts& facts() const { return *facts_; }
  const Iterations& passes() const { return *passes_; }
  const OutOfMemoryFacts& failure() const { return *failure_; }
  // The owners that a census (a reference scan) found, if there was one.
  const Holders& holders() const { return holders_; }
  const SiteDetail& site_of(const Life& life) const { return detail_->sites[life.site]; }

  // True if no request failed: the moment is the peak.
  bool is_peak() const { return failure_->memory == MemoryKind::kNone; }
  // True if the block is a part of a model, according to a census, the program, or its call site.
  bool IsWeight(const Life& life) const;
  // True if the block is a cache of keys and values, judging by its shape and lifetime.
  bool IsCache(const Life& life) const;
  uint64_t event() const { return failure_->event; }
  uint64_t requested() const { return failure_->requested_bytes; }
  const SiteDetail& request_site() const { return detail_->sites[failure_->site_number]; }
  // The bytes that were missing: with so many more free bytes, in the right place, the request
  // would have been served. If a large enough piece was free but could not be used, this is the
  // whole request.
  uint64_t lacking() const { return lacking_; }
  // The bytes of the GPU that this process can have: live memory plus the memory it may still
  // allocate.
  uint64_t room() const { return room_; }
  // False if neither the GPU's size nor its free memory is known. room() then returns the bytes
  // that the process held.
  bool is_room_known() const { return is_room_known_; }
  // The device memory that was live, in order of birth.
  const std::vector<const Life*>& live() const { return live_; }
  uint64_t live_bytes() const { return live_bytes_; }
  // The bytes of live memory that were on the host, or paused, and so not on the GPU.
  uint64_t away_bytes() const { return away_bytes_; }
  // The iteration in which the request failed; negative if it was in none.
  int64_t pass() const { return pass_; }
  // The event at which the iteration of the failed request begins; 0 if there is no such iteration.
  uint64_t pass_begin() const {
    return pass_ < 0 ? 0 : passes_->all()[static_cast<size_t>(pass_)].begin;
  }
  int64_t PassOf(const Life& life) const { return passes_->At(life.birth); }

  // True if this many bytes are a large part of the live memory, so that advice should mention
  // them.
  bool IsLarge(uint64_t bytes) const;
  // True if the pool had enough free memory, but could not use it, because the memory was reserved
  // for private pools (of captured graphs or of a MemPool).
  bool is_bound() const { return is_bound_; }
  // The segments of PyTorch's allocator that contain no blocks. Before PyTorch refuses a request,
  // it releases empty segments of the common pool, so the remaining empty segments belong to
  // private pools.
  const std::vector<const Life*>& free_segments() const { return free_segments_; }
  // True if a library other than PyTorch called the driver. Such a library cannot use the free
  // memory of PyTorch's allocator, but it can use that of vramstow's pool.
  bool is_of_library() const { return is_of_library_; }
  // True if PyTorch refused the request although the driver could have served it, because the
  // program has set a limit.
  bool is_limited() const { return is_limited_; }

 private:
  const Detail* detail_;
  const Facts* facts_;
  const Iterations* passes_;
  const CategoryFinder* categories_;
  const OutOfMemoryFacts* failure_;
  Holders holders_;
  void FindFreeSegments();
  // Returns the largest request that could have been served, of the device's memory that the
  // process may still take and of the pool's free memory. Sets is_bound_ if the pool's free memory
  // would have been enough, but belonged to private pools.
  uint64_t AvailableOf(uint64_t takes);

  std::vector<const Life*> live_;
  std::vector<const Life*> free_segments_;
  uint64_t live_bytes_ = 0;
  uint64_t away_bytes_ = 0;
  uint64_t lacking_ = 0;
  uint64_t room_ = 0;
  int64_t pass_ = -1;
  bool is_room_known_ = true;
  bool is_bound_ = false;
  bool is_limited_ = false;
  bool is_of_library_ = false;
};

// True if both sites have the same operator on the same lines of the program. A request that fails
// may have another path through C++ than a request that is served.
bool SameWork(const SiteDetail& a, const SiteDetail& b);
// True if the program has trained before this event, but no backward pass ever ran for the lines
// that allocated these blocks.
bool IsNewWork(const FailureMoment& moment, const std::vector<const Life*>& made, uint64_t begin);
// True if there are many of these blocks and the failed request was for one more, so that further
// requests of this kind will follow.
bool IsStillFilled(const FailureMoment& moment, const std::vector<const Life*>& lives);
uint64_t BytesOf(const std::vector<const Life*>& lives);
// Returns "cat" for "aten::cat", and "pow" for "aten::pow_Tensor_Scalar".
std::string_view OperatorName(const SiteDetail& site);
// True if the operator makes a tensor without data, or with one number everywhere: "empty",
// "zeros_like".
bool IsBlank(const SiteDetail& site);
// True if the operator makes one tensor of several: "cat", "stack".
bool IsConcatenation(std::string_view operator_name);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_FAILURE_MOMENT_H_
