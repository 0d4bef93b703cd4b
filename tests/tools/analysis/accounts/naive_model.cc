#include "tests/tools/analysis/accounts/naive_model.h"

#include <algorithm>

namespace vramstow {

bool NaiveModel::IsLive(const Thing& thing) {
  return thing.memory != MemoryKind::kPhysical || thing.references > 0 || !thing.mapped_at.empty();
}

uint64_t NaiveModel::Allocated() const {
  uint64_t sum = 0;
  for (const Thing& thing : things_) sum += IsDeviceMemory(thing.memory) ? thing.size : 0;
  return sum;
}

uint64_t NaiveModel::Requested() const {
  uint64_t sum = 0;
  for (const Thing& thing : things_) sum += IsDeviceMemory(thing.memory) ? thing.requested : 0;
  return sum;
}

Amount NaiveModel::OfLibrary(const Things& things, uint16_t library) {
  Amount amount;
  for (const Thing& thing : things) {
    if (thing.library != library || !IsDeviceMemory(thing.memory)) continue;
    amount.bytes += thing.size;
    ++amount.blocks;
  }
  return amount;
}

std::vector<uint64_t> NaiveModel::SizesAtPeak() const {
  std::vector<uint64_t> sizes;
  for (const Thing& thing : at_peak_) {
    if (IsDeviceMemory(thing.memory)) sizes.push_back(thing.size);
  }
  std::sort(sizes.rbegin(), sizes.rend());
  return sizes;
}

FreeMemory NaiveModel::Free(uint64_t request) const {
  FreeMemory free;
  const auto is_free = [this](uint64_t from, uint64_t byte, uint64_t end) {
    if (byte < from || byte >= end) return false;
    return std::none_of(mappings_.begin(), mappings_.end(), [byte](const auto& mapping) {
      return byte >= mapping.first && byte < mapping.first + mapping.second;
    });
  };
  for (const auto& [address, size] : ranges_) {
    uint64_t run = 0;
    for (uint64_t byte = address; byte <= address + size; ++byte) {
      if (is_free(address, byte, address + size)) {
        ++run;
        continue;
      }
      free.free_bytes += run;
      free.largest_bytes = std::max(free.largest_bytes, run);
      if (run < request) free.unusable_bytes += run;
      run = 0;
    }
  }
  return free;
}

NaiveModel::Thing* NaiveModel::Find(uint64_t address, MemoryKind memory) {
  for (Thing& thing : things_) {
    const bool physical = thing.memory == MemoryKind::kPhysical;
    if (thing.address != address || physical != (memory == MemoryKind::kPhysical)) continue;
    if (physical && thing.references == 0) continue;
    return &thing;
  }
  return nullptr;
}

void NaiveModel::Add(const Event& event) {
  if (event.result != 0 && event.kind != EventKind::kRefused) return;
  switch (event.kind) {
    case EventKind::kAllocate:
      ++allocations;
      things_.push_back({event.address,
                         event.size,
                         event.requested != 0 ? event.requested : event.size,
                         event.library,
                         event.memory,
                         1,
                         {}});
      break;
    case EventKind::kFree:
      Free(event);
      break;
    case EventKind::kMap:
      mappings_[event.address] = event.size;
      if (Thing* thing = Find(event.object, MemoryKind::kPhysical)) {
        thing->mapped_at.insert(event.address);
      }
      break;
    case EventKind::kUnmap:
      Unmap(event);
      break;
    case EventKind::kReserve:
      ranges_[event.address] = event.size;
      break;
    case EventKind::kUnreserve:
      said_[event.sequence] = {event, {}, {}, ranges_.contains(event.address)};
      ranges_.erase(event.address);
      break;
    case EventKind::kRefused:
      Undo(event);
      break;
    default:
      break;
  }
  LookAtPeak(event.sequence);
}

void NaiveModel::Free(const Event& event) {
  Said said = {event, things_, {}, false};
  ++frees;
  if (Thing* thing = Find(event.address, event.memory)) {
    said.known = true;
    --thing->references;
    if (event.memory != MemoryKind::kPhysical || !IsLive(*thing)) {
      things_.erase(things_.begin() + (thing - things_.data()));
    }
  } else {
    ++unseen;
  }
  said_[event.sequence] = said;
}

void NaiveModel::Unmap(const Event& event) {
  Said said = {event, things_, mappings_, true};
  for (auto mapping = mappings_.begin(); mapping != mappings_.end();) {
    const uint64_t address = mapping->first;
    if (address < event.address || address + mapping->second > event.address + event.size) {
      ++mapping;
      continue;
    }
    for (Thing& thing : things_) thing.mapped_at.erase(address);
    mapping = mappings_.erase(mapping);
  }
  std::erase_if(things_, [](const Thing& thing) { return !IsLive(thing); });
  said_[event.sequence] = said;
}

// Restores the state before a free or an unmapping that the driver refused. In the generated
// histories only allocations happen between the event and its refusal. So the result is the earlier
// state and these allocations.
void NaiveModel::Undo(const Event& event) {
  const Said said = said_[event.object];
  Things since;
  for (const Thing& thing : things_) {
    const bool was_there =
        std::any_of(said.before.begin(), said.before.end(), [&thing](const Thing& other) {
          return other.address == thing.address && other.memory == thing.memory;
        });
    if (!was_there) since.push_back(thing);
  }
  switch (said.event.kind) {
    case EventKind::kFree:
      --frees;
      if (!said.known) --unseen;
      things_ = said.before;
      things_.insert(things_.end(), since.begin(), since.end());
      break;
    case EventKind::kUnmap:
      mappings_ = said.mappings;
      things_ = said.before;
      things_.insert(things_.end(), since.begin(), since.end());
      break;
    case EventKind::kUnreserve:
      if (said.known) ranges_[said.event.address] = said.event.size;
      break;
    default:
      break;
  }
}

void NaiveModel::LookAtPeak(uint64_t sequence) {
  peak_requested = std::max(peak_requested, Requested());
  if (Allocated() <= peak) return;
  peak = Allocated();
  peak_sequence = sequence;
  at_peak_ = things_;
}

}  // namespace vramstow
