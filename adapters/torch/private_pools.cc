#include "adapters/torch/private_pools.h"

#include <algorithm>
#include <utility>

namespace vramstow::torch_adapter {

uint64_t PrivatePools::RouteSlow(cudaStream_t stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // The innermost of nested ones.
  for (auto capture = underway_.rbegin(); capture != underway_.rend(); ++capture) {
    if (capture->filter(stream)) return capture->number;
  }
  return kCommon;
}

bool PrivatePools::Use(MempoolId_t id, bool native, uint64_t* number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [known, inserted] = entries_.try_emplace(id);
  Entry& entry = known->second;
  const bool revived = entry.uses++ == 0;
  if (inserted) {
    if (native) {
      entry.number = kNative;
    } else {
      ForgetEmpty();
      if (unused_.empty()) {
        unused_.push_back(blocks_.size());
        blocks_.push_back(0);
      }
      entry.number = unused_.back();
      unused_.pop_back();
    }
  }
  *number = entry.number;
  return revived && entry.number != kNative;
}

// Numbers of pools that nobody uses and that hold no block are free again.
void PrivatePools::ForgetEmpty() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const uint64_t number = entry->second.number;
    if (entry->second.uses > 0 || (number != kNative && blocks_[number] != 0)) {
      ++entry;
      continue;
    }
    if (number != kNative) unused_.push_back(number);
    entry = entries_.erase(entry);
  }
}

void PrivatePools::Begin(MempoolId_t id, Filter filter) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Capture& capture : underway_) {
    TORCH_CHECK(capture.id != id, "beginAllocateToPool: already recording to mempool_id");
  }
  underway_.push_back({id, entries_.at(id).number, std::move(filter)});
  captures_ = static_cast<int>(underway_.size());
}

void PrivatePools::End(MempoolId_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(underway_.begin(), underway_.end(),
                                  [&](const Capture& capture) { return capture.id == id; });
  TORCH_CHECK(found != underway_.end(), "endAllocatePool: not currently recording to mempool_id");
  underway_.erase(found);
  captures_ = static_cast<int>(underway_.size());
}

bool PrivatePools::Release(MempoolId_t id, uint64_t* number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = entries_.find(id);
  TORCH_INTERNAL_ASSERT(known != entries_.end() && known->second.uses > 0);
  *number = known->second.number;
  return --known->second.uses == 0;
}

uint64_t PrivatePools::NumberOf(MempoolId_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = entries_.find(id);
  return known == entries_.end() ? kCommon : known->second.number;
}

MempoolId_t PrivatePools::IdOf(uint64_t number) {
  if (number == kCommon) return {0, 0};
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [id, entry] : entries_) {
    if (entry.number == number) return id;
  }
  return {0, 0};
}

int PrivatePools::UseCount(MempoolId_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = entries_.find(id);
  return known == entries_.end() ? 0 : known->second.uses;
}

void PrivatePools::SetUseOnOutOfMemory(MempoolId_t id, bool use) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = entries_.find(id);
  if (known != entries_.end()) known->second.use_on_out_of_memory = use;
}

std::vector<uint64_t> PrivatePools::UsedOnOutOfMemory() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<uint64_t> numbers;
  for (const auto& [id, entry] : entries_) {
    if (entry.use_on_out_of_memory && entry.number != kNative) numbers.push_back(entry.number);
  }
  return numbers;
}

bool PrivatePools::NativeOnOutOfMemory() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(entries_.begin(), entries_.end(), [](const auto& each) {
    return each.second.use_on_out_of_memory && each.second.number == kNative;
  });
}

std::vector<std::pair<MempoolId_t, uint64_t>> PrivatePools::All() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::pair<MempoolId_t, uint64_t>> all;
  for (const auto& [id, entry] : entries_) {
    if (entry.number != kNative) all.emplace_back(id, entry.number);
  }
  return all;
}

void PrivatePools::Count(uint64_t number, int64_t change) {
  if (number == kCommon) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (number < blocks_.size()) blocks_[number] += change;
}

}  // namespace vramstow::torch_adapter
