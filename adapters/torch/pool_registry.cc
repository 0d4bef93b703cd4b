#include "adapters/torch/pool_registry.h"

#include <algorithm>
#include <utility>

namespace vramstow::torch_adapter {

uint64_t PoolRegistry::RouteSlow(cudaStream_t stream) {
  const MutexLock lock(&mutex_);
  // If captures are nested, the innermost capture determines the pool.
  for (auto capture = underway_.rbegin(); capture != underway_.rend(); ++capture) {
    if (capture->filter(stream)) return capture->number;
  }
  return kCommon;
}

bool PoolRegistry::Use(MempoolId_t id, bool native, uint64_t* number) {
  const MutexLock lock(&mutex_);
  const auto [known, inserted] = entries_.try_emplace(id);
  Entry& entry = known->second;
  const bool revived = entry.uses++ == 0;
  if (inserted) entry.number = native ? kNative : NewNumber();
  *number = entry.number;
  return revived && entry.number != kNative;
}

uint64_t PoolRegistry::NewNumber() {
  ForgetEmpty();
  if (unused_.empty()) {
    unused_.push_back(blocks_.size());
    blocks_.push_back(0);
  }
  const uint64_t number = unused_.back();
  unused_.pop_back();
  return number;
}

// Removes pools without users and blocks, so that their numbers can be reused.
void PoolRegistry::ForgetEmpty() {
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

void PoolRegistry::Begin(MempoolId_t id, Filter filter) {
  const MutexLock lock(&mutex_);
  for (const Capture& capture : underway_) {
    TORCH_CHECK(capture.id != id, "beginAllocateToPool: already recording to mempool_id");
  }
  underway_.push_back({id, entries_.at(id).number, std::move(filter)});
  captures_ = static_cast<int>(underway_.size());
}

void PoolRegistry::End(MempoolId_t id) {
  const MutexLock lock(&mutex_);
  const auto found = std::find_if(underway_.begin(), underway_.end(),
                                  [&](const Capture& capture) { return capture.id == id; });
  TORCH_CHECK(found != underway_.end(), "endAllocatePool: not currently recording to mempool_id");
  underway_.erase(found);
  captures_ = static_cast<int>(underway_.size());
}

bool PoolRegistry::Release(MempoolId_t id, uint64_t* number) {
  const MutexLock lock(&mutex_);
  const auto known = entries_.find(id);
  TORCH_INTERNAL_ASSERT(known != entries_.end() && known->second.uses > 0);
  *number = known->second.number;
  return --known->second.uses == 0;
}

int PoolRegistry::HandToNative(MempoolId_t id, uint64_t* number) {
  const MutexLock lock(&mutex_);
  const auto known = entries_.find(id);
  if (known == entries_.end() || known->second.number == kNative) return 0;
  Entry& entry = known->second;
  if (blocks_[entry.number] != 0) return 0;
  *number = entry.number;
  unused_.push_back(entry.number);
  entry.number = kNative;
  return entry.uses;
}

uint64_t PoolRegistry::NumberOf(MempoolId_t id) {
  const MutexLock lock(&mutex_);
  const auto known = entries_.find(id);
  return known == entries_.end() ? kCommon : known->second.number;
}

MempoolId_t PoolRegistry::IdOf(uint64_t number) {
  if (number == kCommon) return {0, 0};
  const MutexLock lock(&mutex_);
  for (const auto& [id, entry] : entries_) {
    if (entry.number == number) return id;
  }
  return {0, 0};
}

int PoolRegistry::UseCount(MempoolId_t id) {
  const MutexLock lock(&mutex_);
  const auto known = entries_.find(id);
  return known == entries_.end() ? 0 : known->second.uses;
}

void PoolRegistry::SetUseOnOutOfMemory(MempoolId_t id, bool use) {
  const MutexLock lock(&mutex_);
  const auto known = entries_.find(id);
  if (known != entries_.end()) known->second.use_on_out_of_memory = use;
}

std::vector<uint64_t> PoolRegistry::UsedOnOutOfMemory() {
  const MutexLock lock(&mutex_);
  std::vector<uint64_t> numbers;
  for (const auto& [id, entry] : entries_) {
    if (entry.use_on_out_of_memory && entry.number != kNative) numbers.push_back(entry.number);
  }
  return numbers;
}

bool PoolRegistry::NativeOnOutOfMemory() {
  const MutexLock lock(&mutex_);
  return std::any_of(entries_.begin(), entries_.end(), [](const auto& each) {
    return each.second.use_on_out_of_memory && each.second.number == kNative;
  });
}

std::vector<std::pair<MempoolId_t, uint64_t>> PoolRegistry::All() {
  const MutexLock lock(&mutex_);
  std::vector<std::pair<MempoolId_t, uint64_t>> all;
  for (const auto& [id, entry] : entries_) {
    if (entry.number != kNative) all.emplace_back(id, entry.number);
  }
  return all;
}

void PoolRegistry::Count(uint64_t number, int64_t change) {
  if (number == kCommon) return;
  const MutexLock lock(&mutex_);
  if (number < blocks_.size()) blocks_[number] += change;
}

}  // namespace vramstow::torch_adapter
