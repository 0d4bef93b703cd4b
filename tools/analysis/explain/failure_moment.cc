#include "tools/analysis/explain/failure_moment.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "tools/analysis/explain/category_of.h"
#include "tools/analysis/facts/library_failure.h"
#include "tools/analysis/facts/named_facts.h"
#include "tools/analysis/facts/operator_name.h"

namespace vramstow {
namespace {

constexpr uint64_t kLargePart = 20;  // 1/20 of the live bytes

std::optional<uint64_t> OfDevice(const Facts& facts, int device, const char* what) {
  return FactNumber<uint64_t>(facts.trace_metadata,
                              "device." + std::to_string(device) + "." + what);
}

// Returns the part of the GPU that PyTorch may use, if that is less than all of it.
std::optional<uint64_t> LimitOf(const Facts& facts, int device) {
  const auto allowed = OfDevice(facts, device, "allowed_bytes");
  const auto total = OfDevice(facts, device, "total_bytes");
  return allowed.has_value() && total.has_value() && *allowed < *total ? allowed : std::nullopt;
}

// True if PyTorch refused the request although the driver had enough memory. Without a known limit,
// the driver must have had much more than enough, because it may need a little for itself. If a
// known limit was reached, the source of the free bytes does not matter, because vramstow's pool
// does not ask the driver how much is free.
bool IsLimited(const Facts& facts, const OutOfMemoryFacts& failure, std::optional<uint64_t> limit) {
  constexpr uint64_t kMuch = uint64_t{64} << 20;
  constexpr uint64_t kSegment = uint64_t{2} << 20;
  if (!failure.has_pool || failure.free_from == FreeKnownFrom::kNothing) return false;
  const bool is_known = limit.has_value();
  const bool is_reached = is_known && failure.reserved_bytes + failure.requested_bytes > *limit;
  if (!is_reached &&
      (failure.pool_movable_bytes.has_value() || failure.free_from != FreeKnownFrom::kMemoryInfo)) {
    return false;
  }
  // A call of the driver's API is refused by the driver itself.
  const uint64_t total = OfDevice(facts, failure.device, "total_bytes").value_or(0);
  if (failure.call.starts_with("cu") || failure.free_bytes > total) return false;
  return failure.free_bytes >= failure.requested_bytes + (is_known ? kSegment : kMuch);
}

// True for allocators that release free segments before they refuse a request.
bool GivesBackFirst(const Facts& facts) {
  return facts.kind == "stow" || facts.kind == "pytorch_snapshot";
}

}  // namespace

FailureMoment::FailureMoment(const Detail& detail, const Facts& facts, const Iterations& passes,
                             const CategoryFinder& categories, const OutOfMemoryFacts& failure)
    : detail_(&detail),
      facts_(&facts),
      passes_(&passes),
      categories_(&categories),
      failure_(&failure),
      holders_(detail, facts, failure) {
  for (const Life& life : detail.lives) {
    if (life.birth >= failure.event) break;
    if (life.pending || life.device != failure.device) continue;
    if (!life.LivesAt(failure.event)) continue;
    live_.push_back(&life);
    live_bytes_ += life.size;
  }
  for (const Life& move : detail.away) {
    if (move.device == failure.device && move.LivesAt(failure.event)) away_bytes_ += move.size;
  }
  holders_.NameAlike(live_);
  is_room_known_ = failure.free_from != FreeKnownFrom::kNothing ||
                   OfDevice(facts, failure.device, "total_bytes").has_value();
  const std::optional<uint64_t> limit = LimitOf(facts, failure.device);
  is_limited_ = IsLimited(facts, failure, limit);
  uint64_t takes = failure.free_bytes;  // the bytes that it may still allocate
  if (is_limited_) {
    uint64_t allowed = limit.value_or(0);
    for (const Life* life : live_) allowed += life->tensor ? 0 : life->size;
    takes = allowed - std::min(allowed, live_bytes_ + failure.pool_free_bytes);
  }
  const auto pool = facts.trace_metadata.find("option.pool");
  const bool is_our_pool = pool != facts.trace_metadata.end() && pool->second == "on";
  is_of_library_ = IsLibraryFailure(failure) && !is_our_pool;
  FindFreeSegments();
  const uint64_t available = AvailableOf(takes);
  const uint64_t requested = failure.requested_bytes;
  lacking_ = available < requested ? requested - available : requested;
  room_ = live_bytes_ + takes + failure.pool_free_bytes;
  pass_ = passes.At(failure.event);
}

void FailureMoment::FindFreeSegments() {
  if (!failure_->has_pool) return;
  std::vector<const Life*> blocks;
  for (const Life* life : live_) {
    if (life->tensor) blocks.push_back(life);
  }
  std::ranges::sort(blocks, {}, &Life::address);
  for (const Life& segment : detail_->segments) {
    // The calls that map memory into an expandable segment do not name a device.
    const bool is_elsewhere = segment.device != failure_->device && segment.device != kNoDevice;
    if (is_elsewhere || !segment.LivesAt(event())) continue;
    // The first block that ends after the segment's begin.
    const auto next = std::ranges::partition_point(
        blocks, [&](const Life* block) { return block->address + block->size <= segment.address; });
    const bool is_free = next == blocks.end() || (*next)->address >= segment.address + segment.size;
    if (is_free) free_segments_.push_back(&segment);
  }
}

uint64_t FailureMoment::AvailableOf(uint64_t takes) {
  const OutOfMemoryFacts& failure = *failure_;
  if (!failure.has_pool || is_of_library_) return takes;
  const uint64_t largest = failure.largest_free_range_bytes.value_or(0);
  if (failure.pool_movable_bytes.has_value()) {
    // A pool that moves chunks would have served the request from this free memory, unless the
    // memory was reserved for private pools.
    is_bound_ = takes + *failure.pool_movable_bytes >= failure.requested_bytes;
    return is_bound_ ? takes : std::max(takes + *failure.pool_movable_bytes, largest);
  }
  // PyTorch's own allocator had a large enough piece of free memory, and could not use it. Small
  // requests are served from separate segments.
  constexpr uint64_t kSmall = 1 << 20;
  is_bound_ = failure.requested_bytes > kSmall && largest >= failure.requested_bytes;
  const uint64_t returnable = takes + BytesOf(free_segments_);
  const bool is_of_pytorch = GivesBackFirst(*facts_) && !failure.call.starts_with("cu");
  is_bound_ |= is_of_pytorch && returnable >= failure.requested_bytes;
  // A free piece of a segment with blocks cannot be joined with the device's free memory, so only
  // the larger of the two counts.
  return is_bound_ ? takes : std::max(returnable, largest);
}

bool FailureMoment::IsWeight(const Life& life) const {
  return categories_->NameOf(life) == "parameters";
}

bool FailureMoment::IsCache(const Life& life) const {
  return categories_->NameOf(life) == "caches";
}

bool FailureMoment::IsLarge(uint64_t bytes) const {
  return bytes > 0 && bytes >= lacking_ / 4 && bytes * kLargePart >= live_bytes_ + requested();
}

bool SameWork(const SiteDetail& a, const SiteDetail& b) {
  return !a.own.empty() && OperatorName(a) == OperatorName(b) &&
         std::ranges::equal(a.own, b.own, {}, &CodeLine::text, &CodeLine::text);
}

bool IsNewWork(const FailureMoment& moment, const std::vector<const Life*>& made, uint64_t begin) {
  std::set<uint32_t> sites;
  for (const Life* life : made) sites.insert(life->site);
  bool has_trained = false;
  for (const Life& life : moment.detail().lives) {
    if (life.birth >= begin) break;
    if (sites.contains(life.site)) return false;
    has_trained |= moment.site_of(life).in_backward && life.tensor;
  }
  return has_trained;
}

bool IsStillFilled(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  constexpr int64_t kMany = 8;
  const auto is_alike = [&](const Life* life) {
    return SameWork(moment.site_of(*life), moment.request_site());
  };
  return std::ranges::count_if(lives, is_alike) >= kMany;
}

uint64_t BytesOf(const std::vector<const Life*>& lives) {
  uint64_t bytes = 0;
  for (const Life* life : lives) bytes += life->size;
  return bytes;
}

bool IsBlank(const SiteDetail& site) {
  const std::string_view name = OperatorName(site);
  // Each of these may have an ending: "zeros_like", "empty_strided".
  constexpr std::string_view kNames[] = {"zeros",     "ones",     "empty",     "full",
                                         "new_zeros", "new_ones", "new_empty", "new_full"};
  return std::ranges::any_of(kNames, [&](std::string_view one) { return name.starts_with(one); });
}

bool IsConcatenation(std::string_view operator_name) {
  constexpr std::string_view kNames[] = {"cat", "concat", "stack", "hstack", "vstack"};
  return std::ranges::find(kNames, operator_name) != std::end(kNames);
}

std::string_view OperatorName(const SiteDetail& site) {
  constexpr std::string_view kOperator = "aten::";
  std::string_view name = site.made_by.empty() ? site.operation : site.made_by;
  if (name.starts_with(kOperator)) name.remove_prefix(kOperator.size());
  return PlainOperator(name);
}

}  // namespace vramstow
