#include "tracer/capture/stack_memo.h"

namespace vramstow {

// Four rows, which the processor can do side by side.
uint64_t StackMemo::ValuesOf(const Entry& entry, const Key& key) {
  // All of the key, because a set keeps a half of it.
  uint64_t rows[4] = {entry.uses_register ? key.frame : 1, key.hash, 3, 4};
  const uintptr_t stack = key.stack;
  const size_t count = entry.count;
  for (size_t i = 0; i < count; ++i) {
    uint64_t& row = rows[i % 4];
    row = (row ^ WordAt(stack + uintptr_t{entry.words[i]} * 8)) * 0x9E3779B97F4A7C15u;
    row ^= row >> 32;
  }
  return MixInto(MixInto(rows[0], rows[1]), MixInto(rows[2], rows[3]));
}

// `place` was found. Remembers it as what comes after the last one, and has its own successor
// fetched.
inline void StackMemo::Follow(size_t place) {
  Entry& before = sets_[last_ / kWays].entries[last_ % kWays];
  if (before.successor != place) before.successor = static_cast<uint16_t>(place);
  last_ = place;
  const size_t next = sets_[place / kWays].entries[place % kWays].successor;
  const Set& set = sets_[next / kWays];
  const auto* const entry = reinterpret_cast<const char*>(&set.entries[next % kWays]);
  __builtin_prefetch(&set, 1);
  __builtin_prefetch(entry, 1);
  __builtin_prefetch(entry + 64);
}

uint32_t StackMemo::Find(const Key& key, const StackBounds& bounds) {
  Set& set = SetOf(key.hash);
  for (size_t i = 0; i < kWays; ++i) {
    const size_t way = (set.next + i) % kWays;
    if (set.keys[way] != Half(key.hash)) continue;
    Entry& entry = set.entries[way];
    const uintptr_t farthest = key.stack + uintptr_t{entry.words[entry.count - 1]} * 8;
    if (!bounds.Has(key.stack) || !bounds.HasWord(farthest)) return 0;
    if (ValuesOf(entry, key) != entry.values) continue;
    set.next = way + 1;
    Follow(static_cast<size_t>(&set - sets_) * kWays + way);
    if (++entry.uses < kUses) [[likely]]
      return entry.number;
    set.keys[way] = 0;
    return 0;
  }
  return 0;
}

void StackMemo::Remember(const Key& key, const NativeStack& walk, UnwindTable* rules,
                         uintptr_t marker, uint32_t number) {
  if (!walk.is_repeatable()) return;
  Entry made = {};
  made.number = number;
  const auto add = [&](uintptr_t slot) {
    const uintptr_t distance = slot - key.stack;
    if (distance % 8 != 0 || distance / 8 > UINT16_MAX || made.count == kMostWords) return false;
    made.words[made.count++] = static_cast<uint16_t>(distance / 8);
    return true;
  };
  uintptr_t frame_slot = 0;  // where the frame pointer was saved last; 0: it was not
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
  Set& set = SetOf(key.hash);
  size_t way = 0;
  while (way < kWays && set.keys[way] != 0) ++way;
  if (way == kWays) way = set.next % kWays;
  set.keys[way] = Half(key.hash);
  set.entries[way] = made;
  set.next = way + 1;
}

}  // namespace vramstow
