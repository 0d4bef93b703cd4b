#include "tracer/capture/stack_memo.h"

namespace vramstow {

// Searches the set of the key for it. Returns the index of the entry, or kEntries if the stack is
// unknown. Stores a found entry as the successor of the one that was found before.
__attribute__((noinline)) size_t StackMemo::Search(Key key) {
  const size_t first = SetOf(key.hash) * kWays;
  for (size_t place = first; place < first + kWays; ++place) {
    if (!IsSame(entries_[place], key)) continue;
    entries_[last_].successor = static_cast<uint16_t>(place);
    return place;
  }
  return kEntries;
}

// Removes an entry that was used often. Returns 0, as for an unknown stack.
__attribute__((noinline)) uint32_t StackMemo::Expire(Entry* entry) {
  entry->key = 0;
  return 0;
}

void StackMemo::Remember(const Key& key, const NativeStack& walk, UnwindTable* rules,
                         uintptr_t marker, uint32_t number) {
  if (!walk.is_repeatable() || key.end != walk.bounds().end) return;
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
  while (made.count % kGroup != 0) {
    made.words[made.count] = made.words[made.count - 1];
    ++made.count;
  }
  made.key = key.hash;
  made.values = ValuesOf(made, key);
  Store(made);
}

// Stores an entry in an empty place of its set, or in place of the oldest one.
void StackMemo::Store(const Entry& made) {
  const size_t set = SetOf(made.key);
  size_t way = 0;
  while (way < kWays && entries_[set * kWays + way].key != 0) ++way;
  if (way == kWays) way = next_way_[set] % kWays;
  next_way_[set] = static_cast<uint8_t>(way + 1);
  Entry& entry = entries_[set * kWays + way];
  // The place may have been another entry's, whose successor is as good a guess as any.
  const uint16_t successor = entry.successor;
  entry = made;
  entry.successor = successor;
}

}  // namespace vramstow
