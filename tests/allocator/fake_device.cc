#include "tests/allocator/fake_device.h"

#include <algorithm>

namespace vramstow {
FakeDevice::FakeDevice(const Options& options) : options_(options) { FillTable(); }

void FakeDevice::FailNth(const std::string& call, uint64_t nth, bool forever, DriverResult result) {
  std::lock_guard lock(mutex_);
  fail_call_ = call;
  fail_nth_ = nth;
  fail_forever_ = forever;
  fail_result_ = result;
  fail_seen_ = 0;
}

bool FakeDevice::Fails(const char* call, DriverResult* result) {
  ++calls_[call];
  ++all_calls_;
  if (fail_nth_ == 0 || (!fail_call_.empty() && fail_call_ != call)) return false;
  ++fail_seen_;
  *result = fail_result_;
  return fail_seen_ == fail_nth_ || (fail_forever_ && fail_seen_ > fail_nth_);
}

uint64_t FakeDevice::Calls(const std::string& call) const {
  std::lock_guard lock(mutex_);
  const auto found = calls_.find(call);
  return found == calls_.end() ? 0 : found->second;
}

uint64_t FakeDevice::AllCalls() const {
  std::lock_guard lock(mutex_);
  return all_calls_;
}

void FakeDevice::Violate(const std::string& what) { violations_.push_back(what); }

std::vector<std::string> FakeDevice::violations() const {
  std::lock_guard lock(mutex_);
  return violations_;
}

// --- Work ---------------------------------------------------------------------------------------

void FakeDevice::Submit(uint64_t stream, uint64_t address, uint64_t size) {
  std::lock_guard lock(mutex_);
  Stream& entry = streams_[stream];
  entry.destroyed = false;
  entry.unfinished.push_back({++entry.submitted, address, size, MemoryAt(address, size)});
}

void FakeDevice::Finish(uint64_t stream, uint64_t count) {
  std::lock_guard lock(mutex_);
  std::vector<Work>& work = streams_[stream].unfinished;
  const auto n = static_cast<std::ptrdiff_t>(std::min<uint64_t>(count, work.size()));
  work.erase(work.begin(), work.begin() + n);
}

void FakeDevice::MakeForeign(uint64_t stream) {
  std::lock_guard lock(mutex_);
  streams_[stream].is_foreign = true;
  table_.is_foreign = [](void* self, uint64_t asked) {
    auto* const device = static_cast<FakeDevice*>(self);
    const std::lock_guard guard(device->mutex_);
    const auto found = device->streams_.find(asked);
    return found != device->streams_.end() && found->second.is_foreign;
  };
  table_.finish_others = [](void* self, uint64_t) {
    auto* const device = static_cast<FakeDevice*>(self);
    const std::lock_guard guard(device->mutex_);
    for (const auto& [name, each] : device->streams_) {
      if (each.is_foreign && !each.unfinished.empty()) return kDriverNotReady;
    }
    return kDriverSuccess;
  };
}

void FakeDevice::FinishAll() {
  std::lock_guard lock(mutex_);
  for (auto& [name, stream] : streams_) stream.unfinished.clear();
}

std::vector<FakeDevice::Piece> FakeDevice::MemoryAt(uint64_t address, uint64_t size) const {
  std::vector<Piece> pieces;
  auto at = mappings_.upper_bound(address);
  if (at != mappings_.begin()) --at;
  for (; at != mappings_.end() && at->first < address + size; ++at) {
    const uint64_t from = std::max(address, at->first);
    const uint64_t to = std::min(address + size, at->first + at->second.size);
    if (from < to) pieces.push_back({at->second.handle, from - at->first, to - from});
  }
  return pieces;
}

bool FakeDevice::Share(const std::vector<Piece>& some, const std::vector<Piece>& others) {
  for (const Piece& a : some) {
    for (const Piece& b : others) {
      if (a.handle == b.handle && a.offset < b.offset + b.size && b.offset < a.offset + a.size) {
        return true;
      }
    }
  }
  return false;
}

bool FakeDevice::Touched(uint64_t address, uint64_t size, uint64_t except) const {
  std::lock_guard lock(mutex_);
  const std::vector<Piece> memory = MemoryAt(address, size);
  for (const auto& [name, stream] : streams_) {
    if (name == except) continue;
    for (const Work& work : stream.unfinished) {
      if (Share(memory, work.memory)) return true;
    }
  }
  return false;
}

bool FakeDevice::Overlap(uint64_t address, uint64_t size, uint64_t other,
                         uint64_t other_size) const {
  std::lock_guard lock(mutex_);
  return Share(MemoryAt(address, size), MemoryAt(other, other_size));
}

void FakeDevice::DestroyStream(uint64_t stream) {
  std::lock_guard lock(mutex_);
  streams_[stream].destroyed = true;
}

void FakeDevice::RenameStream(uint64_t stream, uint64_t ghost) {
  std::lock_guard lock(mutex_);
  streams_[ghost] = streams_[stream];
  streams_[stream] = Stream();
  for (auto& [event, reach] : events_) {
    const auto found = reach.find(stream);
    if (found == reach.end()) continue;
    reach[ghost] = found->second;
    reach.erase(stream);
  }
}

bool FakeDevice::Reached(const Reach& reach) const {
  for (const auto& [name, number] : reach) {
    const auto found = streams_.find(name);
    if (found == streams_.end()) continue;
    const std::vector<Work>& work = found->second.unfinished;
    if (!work.empty() && work.front().number <= number) return false;
  }
  return true;
}

void FakeDevice::Advance(uint64_t nanoseconds) {
  std::lock_guard lock(mutex_);
  now_ += nanoseconds;
}

void FakeDevice::SetForeignBytes(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  foreign_ = bytes;
}

// --- Accounts -----------------------------------------------------------------------------------

uint64_t FakeDevice::created_bytes() const {
  std::lock_guard lock(mutex_);
  return created_;
}

uint64_t FakeDevice::mapped_bytes() const {
  std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [address, mapping] : mappings_) bytes += mapping.size;
  return bytes;
}

uint64_t FakeDevice::events_alive() const {
  std::lock_guard lock(mutex_);
  return events_.size();
}

uint64_t FakeDevice::ranges() const {
  std::lock_guard lock(mutex_);
  return ranges_.size();
}

bool FakeDevice::Accessible(uint64_t address, uint64_t size) const {
  std::lock_guard lock(mutex_);
  const uint64_t end = address + size;
  auto at = mappings_.upper_bound(address);
  if (at == mappings_.begin()) return false;
  for (--at; address < end; ++at) {
    if (at == mappings_.end() || at->first > address || !at->second.access) return false;
    if (at->first + at->second.size <= address) return false;
    address = at->first + at->second.size;
  }
  return true;
}

// --- Calls --------------------------------------------------------------------------------------

DriverResult FakeDevice::MapHandle(uint64_t address, uint64_t size, uint64_t handle) {
  const auto found = handles_.find(handle);
  if (found == handles_.end() || found->second != size) {
    Violate("map of no handle, or not of the whole");
    return kDriverInvalidValue;
  }
  const auto range = ranges_.upper_bound(address);
  if (range == ranges_.begin() ||
      std::prev(range)->first + std::prev(range)->second < address + size) {
    Violate("map outside of a reserved range");
    return kDriverInvalidValue;
  }
  const auto next = mappings_.lower_bound(address);
  const bool above = next != mappings_.end() && next->first < address + size;
  const bool below =
      next != mappings_.begin() && std::prev(next)->first + std::prev(next)->second.size > address;
  if (above || below) {
    Violate("map over another mapping");
    return kDriverInvalidValue;
  }
  if (!options_.many_mappings && mapped_.count(handle) != 0) return kDriverInvalidValue;
  mapped_.insert(handle);
  mappings_[address] = {size, handle, false};
  return kDriverSuccess;
}

DriverResult FakeDevice::UnmapRange(uint64_t address, uint64_t size) {
  std::vector<uint64_t> whole;
  uint64_t at = address;
  for (auto found = mappings_.find(at); at < address + size && found != mappings_.end();
       found = mappings_.find(at)) {
    whole.push_back(at);
    at += found->second.size;
  }
  if (whole.empty() || at != address + size) {
    Violate("unmap of something else than whole mappings");
    return kDriverInvalidValue;
  }
  if (whole.size() > 1 && !options_.unmaps_runs) return kDriverInvalidValue;
  for (const auto& [name, stream] : streams_) {
    for (const Work& work : stream.unfinished) {
      if (work.address < address + size && address < work.address + work.size) {
        Violate("unmap under running work");
      }
    }
  }
  for (const auto& [job, copies] : jobs_) {
    for (const DriverCopy& copy : copies) {
      const bool reads = copy.from < address + size && address < copy.from + copy.size;
      const bool writes = copy.to < address + size && address < copy.to + copy.size;
      if (options_.guards_copies && (reads || writes)) Violate("unmap under a copy");
    }
  }
  for (const uint64_t one : whole) {
    mapped_.erase(mapped_.find(mappings_.at(one).handle));
    mappings_.erase(one);
  }
  return kDriverSuccess;
}

DriverResult FakeDevice::SetAccess(uint64_t address, uint64_t size) {
  const uint64_t end = address + size;
  for (auto at = mappings_.find(address); address < end; ++at) {
    if (at == mappings_.end() || at->first != address) {
      Violate("access to what is not mapped");
      return kDriverInvalidValue;
    }
    if (at->second.size > end - address) {
      Violate("access to a part of a mapping");
      return kDriverInvalidValue;
    }
    at->second.access = true;
    address += at->second.size;
  }
  return kDriverSuccess;
}

// Uses an address that was freed before, if there is one, since a real driver may do so, too.
DriverResult FakeDevice::Allocate(uint64_t size, uint64_t* address) {
  if (created_ + foreign_ + size > options_.total_bytes) return kDriverOutOfMemory;
  const auto used = given_up_.find(size);
  if (used != given_up_.end()) {
    *address = used->second;
    given_up_.erase(used);
  } else {
    const uint64_t unit = options_.granularity;
    *address = (next_address_ + unit - 1) / unit * unit + options_.odd_bytes;
    next_address_ = *address + size;
  }
  allocations_[*address] = size;
  handles_[next_handle_] = size;
  mapped_.insert(next_handle_);
  mappings_[*address] = {size, next_handle_++, true};
  created_ += size;
  return kDriverSuccess;
}

DriverResult FakeDevice::FreeAllocation(uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) {
    Violate("free of no allocation");
    return kDriverInvalidValue;
  }
  const uint64_t size = found->second;
  const uint64_t handle = mappings_[address].handle;
  allocations_.erase(found);
  given_up_.emplace(size, address);
  UnmapRange(address, size);
  return Release(handle);
}

uint64_t FakeDevice::allocations() const {
  const std::lock_guard lock(mutex_);
  return allocations_.size();
}

DriverResult FakeDevice::Record(uint64_t event, const uint64_t* stream) {
  const auto found = events_.find(event);
  if (found == events_.end()) {
    Violate("record of no event");
    return kDriverInvalidHandle;
  }
  Reach reach;
  for (const auto& [name, entry] : streams_) {
    if (stream == nullptr || *stream == name) reach[name] = entry.submitted;
    if (stream == nullptr || *stream != name || !entry.destroyed) continue;
    if (options_.names_end) Violate("an event on a stream that was destroyed");
    return kDriverInvalidHandle;
  }
  found->second = reach;
  return kDriverSuccess;
}

DriverResult FakeDevice::Release(uint64_t handle) {
  const auto found = handles_.find(handle);
  if (found == handles_.end()) {
    Violate("release of no handle");
    return kDriverInvalidValue;
  }
  if (mapped_.count(handle) != 0) Violate("release of a mapped handle");
  (host_handles_.erase(handle) != 0 ? host_created_ : created_) -= found->second;
  handles_.erase(found);
  contents_.erase(handle);
  return kDriverSuccess;
}

std::pair<uint64_t, uint64_t> FakeDevice::ReachedByCopy(uint64_t address, uint64_t size) {
  const auto* mapping = MappingAt(address);
  if (mapping != nullptr && mapping->second.access) {
    const uint64_t offset = address - mapping->first;
    if (offset + size <= mapping->second.size) return {mapping->second.handle, offset};
    Violate("copy of more than one chunk");
    return {};
  }
  const auto block = pinned_.upper_bound(address);
  if (block != pinned_.begin()) {
    const auto& [start, about] = *std::prev(block);
    if (address - start + size <= about.first) return {about.second, address - start};
  }
  Violate("copy of what is not accessible");
  return {};
}

DriverResult FakeDevice::StartOrdered(const DriverCopy* copies, uint32_t count, uint64_t* job) {
  const DriverResult result = table_.copy_start(this, copies, count, job);
  if (result == kDriverSuccess) ordered_jobs_.insert(*job);
  return result;
}

DriverResult FakeDevice::Copy(const DriverCopy& copy) {
  const auto to = ReachedByCopy(copy.to, copy.size);
  const auto from = ReachedByCopy(copy.from, copy.size);
  if (to.first == 0 || from.first == 0) return kDriverInvalidValue;
  for (const auto& [name, stream] : streams_) {
    for (const Work& work : stream.unfinished) {
      if (work.address < copy.from + copy.size && copy.from < work.address + work.size) {
        Violate("copy under running work");
      }
    }
  }
  std::map<uint64_t, uint64_t>& target = contents_[to.first];
  target.erase(target.lower_bound(to.second), target.lower_bound(to.second + copy.size));
  const std::map<uint64_t, uint64_t>& source = contents_[from.first];
  const auto end = source.lower_bound(from.second + copy.size);
  for (auto word = source.lower_bound(from.second); word != end; ++word) {
    target[word->first - from.second + to.second] = word->second;
  }
  return kDriverSuccess;
}

const std::pair<const uint64_t, FakeDevice::Mapping>* FakeDevice::MappingAt(
    uint64_t address) const {
  auto at = mappings_.upper_bound(address);
  if (at == mappings_.begin()) return nullptr;
  --at;
  return address - at->first < at->second.size ? &*at : nullptr;
}

uint64_t FakeDevice::HandleAt(uint64_t address) const {
  std::lock_guard lock(mutex_);
  const auto* mapping = MappingAt(address);
  return mapping == nullptr ? 0 : mapping->second.handle;
}

uint64_t FakeDevice::MadeLarger(uint64_t size) const {
  std::lock_guard lock(mutex_);
  uint64_t count = 0;
  for (auto at = made_.upper_bound(size); at != made_.end(); ++at) count += at->second;
  return count;
}

uint64_t FakeDevice::SizeOf(uint64_t handle) const {
  std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  return found == handles_.end() ? 0 : found->second;
}

void FakeDevice::Write(uint64_t address, uint64_t word) {
  std::lock_guard lock(mutex_);
  const auto* mapping = MappingAt(address);
  if (mapping == nullptr || !mapping->second.access) return Violate("a write to no memory");
  contents_[mapping->second.handle][address - mapping->first] = word;
}

uint64_t FakeDevice::Read(uint64_t address) const {
  std::lock_guard lock(mutex_);
  const auto* mapping = MappingAt(address);
  if (mapping == nullptr || !mapping->second.access) return ~uint64_t{0};
  const auto words = contents_.find(mapping->second.handle);
  if (words == contents_.end()) return 0;
  const auto word = words->second.find(address - mapping->first);
  return word == words->second.end() ? 0 : word->second;
}

bool FakeDevice::OnHost(uint64_t address) const {
  std::lock_guard lock(mutex_);
  const auto* mapping = MappingAt(address);
  return mapping != nullptr && host_handles_.count(mapping->second.handle) != 0;
}

uint64_t FakeDevice::host_bytes() const {
  std::lock_guard lock(mutex_);
  return host_created_;
}

uint64_t FakeDevice::pinned_bytes() const {
  std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [address, about] : pinned_) bytes += about.first;
  return bytes;
}

}  // namespace vramstow
