// FlushFinder: finds calls of torch.cuda.empty_cache() among the releases of cached memory, because
// an allocator also releases memory to make room.
//
// Idea: a call stack with empty_cache() shows such a call. Without call stacks, the events before
// and after the releases show it: an allocator makes room after the driver refused a segment, and
// before it requests a segment again. A trace contains refused requests only if vramstow saw the
// calls of the driver.
//
// Ownership: refers to the source, which outlives it. Threads: used by one thread at a time.
// Errors: none.
#ifndef VRAMSTOW_TOOLS_REPLAY_FLUSH_FINDER_H_
#define VRAMSTOW_TOOLS_REPLAY_FLUSH_FINDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/accounts/event_source.h"

namespace vramstow {

// Whose memory the releases of a recording are.
enum class CacheOwner : uint8_t {
  kOwnPool,  // vramstow's pool
  kTraced,   // the framework's allocator, in a trace of vramstow
  kOther,    // the allocator in a recording of another program
};

class FlushFinder {
 public:
  FlushFinder(const EventSource* source, CacheOwner owner) : source_(*source), owner_(owner) {}

  // Takes the event that the source returned last. Returns the device whose cache the application
  // released before this event; no value if it did not.
  std::optional<int16_t> Take(const Event& event);
  // Returns the devices whose cache the application released at the end of the recording.
  std::vector<int16_t> OpenAtEnd() const;
  // The number of calls that were found without a call stack.
  uint64_t guesses() const { return guesses_; }

 private:
  // The state of a device. The first five members describe consecutive releases.
  struct Releases {
    bool open = false;
    bool by_application = false;
    bool has_stack = false;
    bool is_call = false;  // the releases were calls of the driver
    bool for_room = false;
    bool refused = false;  // the driver refused the newest request for a segment
  };

  void Release(Releases* releases);
  void NoteCall(const Event& event, Releases* releases);
  bool FromEmptyCache(uint32_t stack);
  static bool IsApplications(const Releases& releases, CacheOwner owner, bool takes_again);

  const EventSource& source_;
  const CacheOwner owner_;
  std::map<int16_t, Releases> devices_;
  absl::flat_hash_map<uint64_t, int16_t> segments_;  // address or handle → device
  absl::flat_hash_map<uint32_t, bool> known_;        // stack → whether empty_cache() is in it
  uint64_t guesses_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_FLUSH_FINDER_H_
