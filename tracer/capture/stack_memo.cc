#include "tracer/capture/stack_memo.h"

namespace vramstow {

// Returns a hash of the words that an entry names and of its key. Four independent hashes are
// computed, because the processor can compute them in parallel. Each is a polynomial in an odd
// 64-bit constant: if one word changes, the hash always changes; if several change, it remains the
// same with a probability of one in 2^64.
uint64_t StackMemo::ValuesOf(const Entry& entry, const Key& key) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15u;
  // The whole key is hashed here, because a set stores only half of each key.
  uint64_t first = entry.uses_register ? key.frame : 1;
  uint64_t second = key.hash;
  uint64_t third = 3;
  uint64_t fourth = 4;
  const auto word = [stack = key.stack](uint16_t at) { return WordAt(stack + uintptr_t{at} * 8); };
  const uint16_t* at = entry.words;
  const uint16_t* const end = at + entry.count;
  for (; end - at >= 4; at += 4) {
    first = first * kFactor + word(at[0]);
    second = second * kFactor + word(at[1]);
    third = third * kFactor + word(at[2]);
    fourth = fourth * kFactor + word(at[3]);
  }
  for (; at != end; ++at) first = first * kFactor + word(*at);
  return MixInto(MixInto(first, second), MixInto(third, fourth));
}

// Called when the entry with index `place` was found. Stores this entry as the successor of the
// entry that was found before. Prefetches the entry's own successor, which will probably be needed
// next.
inline void StackMemo::Follow(size_t place) {
  Entry& before = EntryAt(last_);
  if (before.successor != place) before.successor = static_cast<uint16_t>(place);
  last_ = place;
  const size_t next = EntryAt(place).successor;
  const auto* const entry = reinterpret_cast<const char*>(&EntryAt(next));
  __builtin_prefetch(&sets_[next / kWays], 1);
  __builtin_prefetch(entry, 1);
  __builtin_prefetch(entry + 64);
  __builtin_prefetch(entry + 128);
}

inline bool StackMemo::IsAt(size_t place, const Key& key, const StackBounds& bounds) const {
  if (sets_[place / kWays].keys[place % kWays] != Half(key.hash)) return false;
  const Entry& entry = EntryAt(place);
  const uintptr_t farthest = key.stack + uintptr_t{entry.words[entry.count - 1]} * 8;
  return bounds.Has(key.stack) && bounds.HasWord(farthest) && ValuesOf(entry, key) == entry.values;
}

uint32_t StackMemo::Find(const Key& key, const StackBounds& bounds) {
  const size_t set = SetOf(key.hash);
  // Usually the same stack follows the last stack as it did before, so that one is tried first.
  size_t place = EntryAt(last_).successor;
  if (place / kWays != set || !IsAt(place, key, bounds)) [[unlikely]] {
    const size_t first = sets_[set].next;
    size_t tried = 0;
    do {
      if (tried == kWays) return 0;
      place = set * kWays + (first + tried++) % kWays;
    } while (!IsAt(place, key, bounds));
  }
  sets_[set].next = place % kWays + 1;
  Follow(place);
  Entry& entry = EntryAt(place);
  if (++entry.uses < kUses) [[likely]]
    return entry.number;
  sets_[set].keys[place % kWays] = 0;
  return 0;
}

void StackMemo::Remember(const Key& key, const NativeStack& walk, UnwindTable* rules,
                         uintptr_t marker, uint32_t number) {
  if (!walk.is_repeatable()) return;
  Entry made = {};
  made.number = number;
  const auto add = [&](uintptr_t slot) {
    const uintptr_t distance = slot - key.stack;
    if (distance % 8 != 0 || distance / 8 > UINT16_MAX || made.count == kMaxWords) return false;
    made.words[made.count++] = static_cast<uint16_t>(distance / 8);
    return true;
  };
  uintptr_t frame_slot = 0;  // where the frame pointer was saved last; 0 if nowhere
  const NativeFrame* const frames = walk.frames();
  for (size_t i = 0; i < walk.count(); ++i) {
    const NativeFrame& frame = frames[i];
    const bool runs_python = marker - frame.place.stack < frame.end - frame.place.stack;
    if ((runs_python && frame.end != 0) || frame.return_slot == 0) break;
    const uint64_t rule = rules->Find(frame.place.address, i == 0, CaptureMode::kQuiet);
    if (UnwindRule::Unpack(rule).kind == UnwindRule::kFromFrame) {
      if (frame_slot == 0) {
        made.uses_register = true;
      } else if (!add(frame_slot)) {
        return;
      }
    }
    if (frame.frame_slot != 0) frame_slot = frame.frame_slot;
    if (!add(frame.return_slot)) return;
  }
  if (made.count == 0) return;
  made.values = ValuesOf(made, key);
  Set& set = sets_[SetOf(key.hash)];
  size_t way = 0;
  while (way < kWays && set.keys[way] != 0) ++way;
  if (way == kWays) way = set.next % kWays;
  set.keys[way] = Half(key.hash);
  set.entries[way] = made;
  set.next = way + 1;
}

}  // namespace vramstow
