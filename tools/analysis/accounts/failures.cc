#include "tools/analysis/accounts/failures.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/driver_result.h"
#include "base/typed_event.h"
#include "tools/base/library_name.h"

namespace vramstow {
namespace {

bool IsSameRequest(const Event& a, const Event& b) {
  return a.library == b.library && a.memory == b.memory && a.device == b.device &&
         RequestedBytes(a) == RequestedBytes(b);
}

// True for a shared library other than those that give Python direct access to the driver's
// functions.
bool IsLibraryThatRetries(std::string_view path) {
  return path.find(".so") != std::string_view::npos &&
         path.find("_ctypes") == std::string_view::npos &&
         path.find("libffi") == std::string_view::npos;
}

}  // namespace

void Failures::Add(const Event& event) {
  accounts_.CountFailedCall(event.library, event.call, event.memory);
  Counts& counts = accounts_.counts();
  if (event.kind == EventKind::kAllocate) {
    ++counts.failed_allocations;
    if (IsDeviceMemory(event.memory)) accounts_.Request(RequestedBytes(event));
  }
  if (event.result != kOutOfMemoryResult) return;
  if (FailureEndOf(event) == FailureEnd::kDoneWithout) {
    ++counts.handled_failures;
    given_up_ = Describe(event);
    return;
  }
  ++counts.out_of_memory;
  ++accounts_.levels().Device(event.device).out_of_memory;
  if (event.layer == Layer::kDriver) NoteRefused(event);
  Keep(Describe(event));
}

Failures::OutOfMemory Failures::Describe(const Event& event) {
  OutOfMemory failure;
  failure.call = event.call;
  failure.library = event.library;
  failure.site = accounts_.SiteByStack(event);
  failure.facts.site_number = failure.site;
  OutOfMemoryFacts& facts = failure.facts;
  facts.time_ns = accounts_.now_ns();
  facts.event = accounts_.events();
  facts.sequence = event.sequence;
  facts.requested_bytes = RequestedBytes(event);
  facts.device = event.device;
  facts.thread = event.thread;
  facts.memory = event.memory;
  FillDevice(accounts_.levels().Device(event.device), &facts);
  if (space_.pool().any()) {
    FillPool(&failure);
  } else if (space_.addresses().any_ranges()) {
    facts.largest_free_range_bytes = space_.addresses().Free(0).largest_bytes;
  }
  return failure;
}

// If there are too many failures, the newest one replaces the last one in the list, because the
// newest may be the one that ended the job.
void Failures::Keep(OutOfMemory failure) {
  if (out_of_memory_.size() == kMaxOutOfMemory) out_of_memory_.pop_back();
  out_of_memory_.push_back(std::move(failure));
}

void Failures::NoteRefused(const Event& event) {
  Refused& refused = refused_[event.thread];
  const uint32_t site = accounts_.SiteByStack(event);
  if (!IsSameRequest(refused.request, event) || refused.site != site) refused = {event, site, 0};
  ++refused.count;
}

void Failures::Answer(const Event& event) {
  if (given_up_.has_value() && given_up_->facts.thread == event.thread) given_up_.reset();
  const auto refused = refused_.find(event.thread);
  if (refused == refused_.end() || refused->second.request.library != event.library) return;
  const bool is_served = IsSameRequest(refused->second.request, event) &&
                         refused->second.site == accounts_.SiteByStack(event);
  if (is_served) NoteRetried(refused->second);
  refused_.erase(refused);
}

void Failures::NoteRetried(const Refused& refused) {
  const Event& request = refused.request;
  uint64_t rest = refused.count;
  for (auto one = out_of_memory_.rbegin(); one != out_of_memory_.rend() && rest > 0; ++one) {
    if (one->facts.thread != request.thread || one->library != request.library) continue;
    one->is_retried = true;
    --rest;
  }
  for (Retried& known : retried_) {
    if (known.library != request.library || known.device != request.device) continue;
    known.count += refused.count;
    return;
  }
  retried_.push_back({request.library, request.device, refused.count});
}

void Failures::End(const EventSource& source, std::map<std::string, std::string>* trace_metadata) {
  // Only a library may retry a request without the program's knowledge. A program that calls the
  // driver itself sees each refusal.
  const auto is_of_library = [&source](uint16_t library) {
    return IsLibraryThatRetries(source.LibraryPath(library));
  };
  for (const Retried& retried : retried_) {
    if (!is_of_library(retried.library)) continue;
    accounts_.counts().out_of_memory -= retried.count;
    accounts_.counts().handled_failures += retried.count;
    accounts_.levels().Device(retried.device).out_of_memory -= retried.count;
  }
  std::erase_if(out_of_memory_, [&](const OutOfMemory& failure) {
    return failure.is_retried && is_of_library(failure.library);
  });
  // If no algorithm of cuDNN can work in the memory that is left, PyTorch raises a RuntimeError
  // with another message instead of an out-of-memory error.
  const auto uncaught = trace_metadata->find("program.uncaught");
  if (!given_up_.has_value() || uncaught == trace_metadata->end() ||
      uncaught->second != "RuntimeError") {
    return;
  }
  uncaught->second = "OutOfMemoryError";
  --accounts_.counts().handled_failures;
  ++accounts_.counts().out_of_memory;
  ++accounts_.levels().Device(static_cast<int16_t>(given_up_->facts.device)).out_of_memory;
  Keep(std::move(*given_up_));
}

std::map<int, uint64_t> Failures::LastEvents() const {
  std::map<int, uint64_t> last;
  for (const OutOfMemory& failure : out_of_memory_) {
    last[failure.facts.device] = failure.facts.event;
  }
  return last;
}

void Failures::FillDevice(const DeviceLevel& device, OutOfMemoryFacts* facts) {
  facts->allocated_bytes = device.allocated;
  facts->free_from = device.free_from;
  facts->free_known_at_ns = device.free_time_ns;
  if (device.free_from == FreeKnownFrom::kNothing) return;
  // The free bytes are computed from the driver's last answer: plus the bytes released since, minus
  // the bytes reserved since.
  const uint64_t then = device.free + device.reserved_at_free;
  facts->free_bytes = then - std::min(then, device.reserved);
}

// Memory on other devices cannot serve a request on this one.
bool Failures::IsOnlyPool(int16_t device) const {
  const std::vector<DeviceLevel>& devices = accounts_.levels().devices();
  for (size_t i = 0; i < devices.size(); ++i) {
    if (static_cast<int64_t>(i) - 1 != device && devices[i].reserved != 0) return false;
  }
  return true;
}

void Failures::FillFree(const FreeMemory& free, uint64_t holes, OutOfMemoryFacts* facts) const {
  facts->largest_free_range_bytes = free.largest_bytes;
  facts->pool_free_bytes = free.free_bytes;
  if (space_.pool().moves()) facts->pool_movable_bytes = free.movable_bytes;
  facts->pool_free_ranges = holes;
}

uint64_t Failures::HeldByPools(int16_t device, bool is_only_pool) const {
  const Levels& levels = accounts_.levels();
  if (!is_only_pool) {
    const DeviceLevel& level = accounts_.levels().Device(device);
    return level.reserved - std::min(level.reserved, level.outside_pools);
  }
  uint64_t outside = 0;
  for (const DeviceLevel& level : levels.devices()) outside += level.outside_pools;
  return levels.reserved() - std::min(levels.reserved(), outside);
}

void Failures::FillPool(OutOfMemory* failure) const {
  OutOfMemoryFacts& facts = failure->facts;
  const auto device = static_cast<int16_t>(facts.device);
  AddressRange hole;
  facts.has_pool = true;
  facts.pending_bytes = blocks_.PendingBytes(device);
  const bool is_only_pool = IsOnlyPool(device);
  facts.reserved_bytes = HeldByPools(device, is_only_pool);
  if (is_only_pool) {
    const PoolSpace& pool = space_.pool();
    FillFree(pool.Free(0), pool.hole_count(), &facts);
    hole = pool.LargestHole();
  } else {
    const PoolSegments::FreeOnDevice free = segments_.FreeOn(device);
    FillFree(free.holes.Free(0, free.unplaced_bytes), free.holes.count(), &facts);
    hole = free.holes.Largest();
  }
  if (hole.size() == 0) return;
  facts.largest_hole.address = hole.from;
  facts.largest_hole.size = hole.size();
  blocks_.ForEachPooled([&](const LiveBlock& block) {
    if (block.address + block.size == hole.from) {
      facts.largest_hole.before_bytes = block.size;
      failure->before = block.site + 1;
    }
    if (block.address == hole.to) {
      facts.largest_hole.after_bytes = block.size;
      failure->after = block.site + 1;
    }
  });
}

std::vector<OutOfMemoryFacts> Failures::Facts(const EventSource& source,
                                              const std::vector<SiteDetail>& sites) const {
  const auto name = [&sites](uint32_t from_1) {
    return from_1 == 0 ? std::string() : sites[from_1 - 1].site;
  };
  std::vector<OutOfMemoryFacts> all;
  all.reserve(out_of_memory_.size());
  for (const OutOfMemory& failure : out_of_memory_) {
    OutOfMemoryFacts facts = failure.facts;
    facts.call = source.CallName(failure.call);
    facts.library = LibraryName(source.LibraryPath(failure.library));
    facts.largest_hole.before = name(failure.before);
    facts.largest_hole.after = name(failure.after);
    const SiteDetail& site = sites[failure.site];
    if (site.by_stack) {
      facts.site = site.site;
      facts.operation = site.operation;
    }
    all.push_back(std::move(facts));
  }
  return all;
}

}  // namespace vramstow
