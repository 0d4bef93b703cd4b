// FakeDevice: a DriverTable that keeps its state in a few maps; it is at least as strict as a real
// driver.
//
// Idea: it tracks ranges, handles, mappings, streams, events and work, and refuses what a driver
// refuses. It records a violation for everything that DriverTable's preconditions forbid (above
// all, an unmap under running work). It counts every call and can fail the Nth call of any
// function. Time is virtual: it advances when the pool reads the clock or pauses.
//
// Ownership: the test's. Threads: one lock around every call. Errors: as DriverTable; violations()
// must be empty at the end of every test. Units: bytes; nanoseconds.
#ifndef VRAMSTOW_TESTS_ALLOCATOR_FAKE_DEVICE_H_
#define VRAMSTOW_TESTS_ALLOCATOR_FAKE_DEVICE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "allocator/core/driver.h"

namespace vramstow {

class FakeDevice {
 public:
  struct Options {
    uint64_t total_bytes = uint64_t{1} << 30;
    uint64_t granularity = uint64_t{2} << 20;
    bool virtual_memory = true;
    bool host_memory = true;  // host memory can be mapped
    bool copies = true;
    bool context_events = true;
    uint64_t largest_reserve = ~uint64_t{0};
    bool many_mappings = true;     // of one handle
    bool unmaps_runs = true;       // several mappings at once
    bool guards_copies = false;    // unmapping memory of a running copy is a violation
    bool copies_at_start = false;  // copies happen at once, not only when waited for
    uint64_t odd_bytes = 0;        // how far from a multiple of the granularity `allocate` begins
    // If set, a call with a destroyed stream as its argument is a violation, because a real driver
    // need not detect this mistake.
    bool names_end = false;
  };

  explicit FakeDevice(const Options& options);

  const DriverTable* table() const { return &table_; }

  // --- Faults. FailNth makes the Nth call (from 1) of the function `call` fail, or the Nth call of
  // any function if `call` is empty.
  void FailNth(const std::string& call, uint64_t nth, bool forever,
               DriverResult result = kDriverOutOfMemory);
  void FailNothing() { FailNth("", 0, false); }
  uint64_t Calls(const std::string& call) const;
  uint64_t AllCalls() const;

  // --- Work: submitted work touches [address, address + size) until it is finished.
  void Submit(uint64_t stream, uint64_t address, uint64_t size);
  void Finish(uint64_t stream, uint64_t count = ~uint64_t{0});  // the oldest ones
  void FinishAll();
  // Sets a function that runs during a pause, besides advancing the clock. There is none by
  // default.
  void set_on_pause(std::function<void()> on_pause) { on_pause_ = std::move(on_pause); }
  // True if unfinished work of a stream other than `except` touches the memory behind the range,
  // through any address.
  bool Touched(uint64_t address, uint64_t size, uint64_t except) const;
  void DestroyStream(uint64_t stream);
  // Makes the stream belong to another context: `synchronize` does not wait for its work.
  void MakeForeign(uint64_t stream);
  // Destroys the stream. Its work continues under the name `ghost`, and its handle is free for
  // another stream.
  void RenameStream(uint64_t stream, uint64_t ghost);

  void Advance(uint64_t nanoseconds);
  // Sets how much of the device's memory another process uses.
  void SetForeignBytes(uint64_t bytes);

  // --- Contents: one word at an address that is mapped with access. Memory that was never written
  // is 0.
  void Write(uint64_t address, uint64_t word);
  uint64_t Read(uint64_t address) const;
  // True if the byte at this address is in host memory.
  bool OnHost(uint64_t address) const;

  uint64_t created_bytes() const;
  uint64_t host_bytes() const;
  uint64_t pinned_bytes() const;
  uint64_t mapped_bytes() const;
  uint64_t events_alive() const;
  uint64_t ranges() const;
  uint64_t allocations() const;  // of `allocate`
  // True if every byte of the range is mapped with access.
  bool Accessible(uint64_t address, uint64_t size) const;
  // True if the two ranges share physical memory, through any addresses.
  bool Overlap(uint64_t address, uint64_t size, uint64_t other, uint64_t other_size) const;
  // Returns the handle that is mapped at the address, or 0.
  uint64_t HandleAt(uint64_t address) const;
  // Returns how many handles were created so far whose size is more than `size` bytes.
  uint64_t MadeLarger(uint64_t size) const;
  // Returns the size of a handle, or 0 if it does not exist.
  uint64_t SizeOf(uint64_t handle) const;
  std::vector<std::string> violations() const;

 private:
  struct Mapping {
    uint64_t size;
    uint64_t handle;
    bool access;
  };
  struct Piece {
    uint64_t handle;
    uint64_t offset;
    uint64_t size;
  };
  struct Work {
    uint64_t number;
    uint64_t address;
    uint64_t size;
    std::vector<Piece> memory;
  };
  struct Stream {
    uint64_t submitted = 0;
    std::vector<Work> unfinished;
    bool destroyed = false;
    bool is_foreign = false;
  };
  using Reach = std::map<uint64_t, uint64_t>;  // stream: number of its last work

  // True if this call must fail. Sets *result to the call's result in that case.
  bool Fails(const char* call, DriverResult* result);
  void Violate(const std::string& what);
  // Returns the chunks that are mapped in the range.
  std::vector<Piece> MemoryAt(uint64_t address, uint64_t size) const;
  static bool Share(const std::vector<Piece>& some, const std::vector<Piece>& others);
  bool Reached(const Reach& reach) const;
  void FillTable();
  DriverResult MapHandle(uint64_t address, uint64_t size, uint64_t handle);
  DriverResult UnmapRange(uint64_t address, uint64_t size);
  DriverResult SetAccess(uint64_t address, uint64_t size);
  DriverResult Allocate(uint64_t size, uint64_t* address);
  DriverResult FreeAllocation(uint64_t address);
  DriverResult Record(uint64_t event, const uint64_t* stream);
  DriverResult Release(uint64_t handle);
  DriverResult Copy(const DriverCopy& copy);
  // Starts copies that are ordered after all work submitted so far. When the copies have finished,
  // that work has finished, too.
  DriverResult StartOrdered(const DriverCopy* copies, uint32_t count, uint64_t* job);
  // Returns the handle (0 if there is none) and the offset of the bytes that a copy accesses at an
  // address.
  std::pair<uint64_t, uint64_t> ReachedByCopy(uint64_t address, uint64_t size);
  // Returns the mapping that contains the address, or null.
  const std::pair<const uint64_t, Mapping>* MappingAt(uint64_t address) const;

  Options options_;
  DriverTable table_{};
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> calls_;
  uint64_t all_calls_ = 0;
  std::string fail_call_;
  uint64_t fail_nth_ = 0;
  bool fail_forever_ = false;
  DriverResult fail_result_ = kDriverOutOfMemory;
  uint64_t fail_seen_ = 0;
  std::map<uint64_t, uint64_t> ranges_;
  std::map<uint64_t, uint64_t> handles_;                       // handle: size
  std::map<uint64_t, std::map<uint64_t, uint64_t>> contents_;  // handle: offset: word
  std::map<uint64_t, uint64_t> made_;                          // size: how many handles
  std::set<uint64_t> host_handles_;
  uint64_t host_created_ = 0;
  std::map<uint64_t, std::vector<DriverCopy>> jobs_;  // copies in progress
  std::set<uint64_t> ordered_jobs_;                   // copies that come after submitted work
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> pinned_;  // address: size, handle
  std::map<uint64_t, Mapping> mappings_;
  std::multiset<uint64_t> mapped_;              // handles
  std::map<uint64_t, uint64_t> allocations_;    // address: size
  std::multimap<uint64_t, uint64_t> given_up_;  // size: address
  std::map<uint64_t, Reach> events_;
  std::map<uint64_t, Stream> streams_;
  uint64_t next_address_ = uint64_t{0x7} << 44;
  uint64_t next_handle_ = 1;
  uint64_t next_event_ = 1;
  uint64_t created_ = 0;
  uint64_t foreign_ = 0;
  uint64_t now_ = 1'000'000;
  std::function<void()> on_pause_;
  std::vector<std::string> violations_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_ALLOCATOR_FAKE_DEVICE_H_
