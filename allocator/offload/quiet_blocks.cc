#include "allocator/offload/quiet_blocks.h"

#include <algorithm>

#include "allocator/core/host_memory.h"

namespace vramstow {
namespace {

// Frameworks and the pool round sizes up to a multiple of this. Nothing uses the bytes between the
// end of a tensor and the end of its block.
constexpr uint64_t kRounding = 512;

bool IsOpen(const QuietBlocks::Entry& entry) {
  return entry.is_idle && !entry.is_back &&
         entry.begun_up_to < entry.range.address + entry.range.bytes;
}

// A policy's function gets a pointer to a constant object, but these functions change the object.
QuietBlocks* Mutable(const void* self) {
  return const_cast<QuietBlocks*>(static_cast<const QuietBlocks*>(self));
}

}  // namespace

void QuietBlocks::Close() {
  if (entries_ != nullptr) FreeHostMemory(entries_, room_ * sizeof(Entry));
  entries_ = nullptr;
  room_ = 0;
  count_ = 0;
}

void QuietBlocks::Set(const QuietRange* ranges, uint64_t count, uint32_t since) {
  count_ = 0;
  idle_count_ = 0;
  since_ = since;
  if (count + kMaxIdle > room_) {
    const uint64_t room = count + kMaxIdle;
    void* memory = AllocateHostMemory(room * sizeof(Entry));
    if (memory == nullptr) return;
    if (entries_ != nullptr) FreeHostMemory(entries_, room_ * sizeof(Entry));
    entries_ = static_cast<Entry*>(memory);
    room_ = room;
  }
  for (uint64_t i = 0; i < count; ++i) entries_[i] = {ranges[i], 0, 0, since, false, false, 0};
  count_ = count;
  std::sort(entries_, entries_ + count_,
            [](const Entry& a, const Entry& b) { return a.range.address < b.range.address; });
  MergeOverlaps();
}

// A caller may name a tensor and its views.
void QuietBlocks::MergeOverlaps() {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < count_; ++i) {
    const QuietRange& range = entries_[i].range;
    QuietRange* const last = kept == 0 ? nullptr : &entries_[kept - 1].range;
    if (last == nullptr || last->address + last->bytes <= range.address) {
      entries_[kept++] = entries_[i];
    } else {
      last->bytes = std::max(last->bytes, range.address + range.bytes - last->address);
    }
  }
  count_ = kept;
}

// Returns the range that begins where the block begins. This range and the next ones must cover the
// block except for its rounding, because several tensors may be parts of one block. Returns null if
// they do not cover it.
QuietBlocks::Entry* QuietBlocks::FindCovering(const PageUse& use) const {
  Entry* const end = entries_ + count_;
  Entry* const found = std::lower_bound(
      entries_, end, use.block_address,
      [](const Entry& entry, uint64_t address) { return entry.range.address < address; });
  if (found == end || found->range.address != use.block_address) return nullptr;
  const uint64_t block_end = use.block_address + use.block_bytes;
  uint64_t covered = use.block_address;
  for (const Entry* at = found; at != end && at->range.address <= covered; ++at) {
    covered = std::max(covered, at->range.address + at->range.bytes);
    if (block_end < covered + kRounding) return found;
  }
  return nullptr;
}

const QuietBlocks::Entry* QuietBlocks::FindKnown(const PageUse& use) const {
  const Entry* entry = FindCovering(use);
  const bool is_known =
      entry != nullptr && entry->block_id == use.block_id && use.touched < entry->since;
  return is_known ? entry : nullptr;
}

uint64_t QuietBlocks::RankAndNote(const void* self, const PageUse& use) {
  QuietBlocks* const blocks = Mutable(self);
  Entry* entry = blocks->FindCovering(use);
  if (entry != nullptr) entry->block_id = use.block_id;
  return entry != nullptr ? kQuiet : 1;
}

uint64_t QuietBlocks::RankKnown(const void* self, const PageUse& use) {
  return static_cast<const QuietBlocks*>(self)->FindKnown(use) != nullptr ? kQuiet : 1;
}

uint64_t QuietBlocks::RankOpen(const void* self, const PageUse& use) {
  const Entry* const entry = static_cast<const QuietBlocks*>(self)->FindKnown(use);
  return entry != nullptr && IsOpen(*entry) ? kQuiet : 1;
}

// --- Idle blocks --------------------------------------------------------------------------------

QuietBlocks::Entry* QuietBlocks::FindIdle(uint64_t address) {
  Entry* const behind =
      std::upper_bound(entries_, entries_ + count_, address,
                       [](uint64_t at, const Entry& entry) { return at < entry.range.address; });
  if (behind == entries_) return nullptr;
  Entry* const found = behind - 1;
  return found->is_idle && address - found->range.address < found->range.bytes ? found : nullptr;
}

const QuietBlocks::Entry* QuietBlocks::IdleBefore(uint64_t birth) const {
  const Entry* found = nullptr;
  for (uint64_t i = 0; i < count_; ++i) {
    const Entry& entry = entries_[i];
    if (!entry.is_idle || entry.birth >= birth) continue;
    if (found == nullptr || found->birth < entry.birth) found = &entry;
  }
  return found;
}

QuietBlocks::Entry* QuietBlocks::FirstOpen() {
  Entry* first = nullptr;
  for (uint64_t i = 0; i < count_; ++i) {
    Entry& entry = entries_[i];
    if (IsOpen(entry) && (first == nullptr || entry.birth < first->birth)) first = &entry;
  }
  return first;
}

uint64_t QuietBlocks::OpenBytes() const {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < count_; ++i) {
    const Entry& entry = entries_[i];
    if (IsOpen(entry)) bytes += entry.range.address + entry.range.bytes - entry.begun_up_to;
  }
  return bytes;
}

bool QuietBlocks::MayBeIdle(const PageUse& use) const {
  if (use.block_bytes < kLeastIdleBytes || use.born < since_) return false;
  if (use.touched >= touched_before_ || use.exposed >= since_) return false;
  const Entry* entry = FindCovering(use);
  return entry == nullptr || entry->block_id != use.block_id;
}

uint64_t QuietBlocks::RankAndConsider(const void* self, const PageUse& use) {
  QuietBlocks* const blocks = Mutable(self);
  if (blocks->MayBeIdle(use)) {
    const uint64_t birth = uint64_t{use.born} << 32 | (use.block_id & 0xFFFFFFFFU);
    blocks->Consider({{use.block_address, use.block_bytes}, use.block_id, birth});
  }
  return 1;
}

void QuietBlocks::Consider(const Candidate& candidate) {
  uint64_t place = candidate_count_;
  while (place > 0 && candidates_[place - 1].birth > candidate.birth) --place;
  if (place == kMaxCandidates) return;
  candidate_count_ = std::min(candidate_count_ + 1, kMaxCandidates);
  std::copy_backward(candidates_ + place, candidates_ + candidate_count_ - 1,
                     candidates_ + candidate_count_);
  candidates_[place] = candidate;
}

// Adds an idle block. An older range that overlaps it belonged to a freed block and is dropped.
void QuietBlocks::Add(const Candidate& candidate, uint32_t since) {
  const QuietRange& range = candidate.range;
  Entry* const end = std::remove_if(entries_, entries_ + count_, [&](const Entry& entry) {
    return entry.range.address < range.address + range.bytes &&
           range.address < entry.range.address + entry.range.bytes;
  });
  count_ = static_cast<uint64_t>(end - entries_);
  if (count_ == room_) return;
  Entry* const place = std::lower_bound(
      entries_, end, range.address,
      [](const Entry& entry, uint64_t address) { return entry.range.address < address; });
  std::copy_backward(place, end, end + 1);
  *place = {range, candidate.block_id, candidate.birth, since, true, false, range.address};
  ++count_;
  ++idle_count_;
}

}  // namespace vramstow
