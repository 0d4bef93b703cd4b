// SharedSegment: the memory that the ranks of a communicator share.
//
// Idea: collectives proceed in rounds, in the same order on every rank. In a round each rank
// writes its part into its own slot and publishes the round's number; each reads what it needs from
// the others' slots and says that it is done, after which the slots may be written again. Sends
// and receives do not involve all ranks and have a byte ring for each ordered pair. There is a
// third way for small facts that are exchanged on the host (Exchange), which a split needs.
//
// Waiting is by futex, with a look every few milliseconds at whether the communicator was aborted
// and whether the ranks that are waited for are still there: a rank that died or left ends the
// wait.
//
// Ownership: the memory is a memfd, gone with the last process that has it. Threads: one thread at
// a time works on rounds; anyone may Abort. Errors: WaitResult. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_SHARED_SEGMENT_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_SHARED_SEGMENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace vramstow::simulator {

enum class WaitResult { kDone, kAborted, kPeerGone, kMismatch };

// What all ranks of a round must agree on.
struct RoundTag {
  uint32_t kind = 0;
  uint32_t type = 0;
  uint64_t count = 0;
  int32_t root = 0;
  int32_t operation = 0;
  bool operator==(const RoundTag&) const = default;
};

struct Fact {
  int64_t values[4];
};

class SharedSegment {
 public:
  // How large the shared memory is for so many ranks.
  static size_t Bytes(int ranks, size_t slot_bytes);
  // By the one who makes the memory, before anyone else sees it.
  static bool Initialize(int fd, int ranks, size_t slot_bytes);

  // Takes `fd`. Null: the memory cannot be mapped or is not what it should be.
  static SharedSegment* Open(int fd, int rank, int ranks);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  size_t slot_bytes() const { return slot_bytes_; }
  // How many bytes of one ring: what a round of sends and receives moves between two ranks.
  size_t ring_bytes() const { return slot_bytes_ / static_cast<size_t>(ranks_) / 64 * 64; }

  // All ranks are there. False: not within `milliseconds`, or aborted.
  WaitResult WaitForAll(int milliseconds);

  // A round: BeginRound, write the own slot, Publish, WaitForSlots, read, EndRound.
  WaitResult BeginRound();
  uint8_t* OwnSlot() { return slot(rank_); }
  void Publish(const RoundTag& tag);
  WaitResult WaitForSlots(const RoundTag& tag);
  const uint8_t* Slot(int rank) const { return slot(rank); }
  void EndRound();

  // Bytes of the pair's ring that were taken; 0 if it is full (or empty).
  size_t Send(int peer, const uint8_t* data, size_t bytes);
  size_t Receive(int peer, uint8_t* data, size_t bytes);
  // Until `ready` says so; it is asked again whenever somebody did something.
  WaitResult Wait(const std::vector<int>& needed, const std::function<bool()>& ready);

  // Everybody's fact, in the order of ranks.
  WaitResult Exchange(const Fact& own, std::vector<Fact>* all);

  // Ends all waits of this rank, now and later. Safe from any thread.
  void Abort();
  bool aborted() const { return aborted_.load(std::memory_order_acquire); }
  // Tells the others that this rank takes no further part.
  void Leave();
  // A rank that is not there any more, though it was needed: its number, or -1.
  int FindGone();

 private:
  struct Header;
  struct Rank;
  struct Ring;

  SharedSegment() = default;
  Rank& rank_state(int rank) const;
  uint8_t* slot(int rank) const;
  Ring& ring(int source, int target) const;
  uint8_t* ring_data(int source, int target) const;
  bool IsGone(int rank) const;
  void WakeAll();

  Header* header_ = nullptr;
  uint8_t* memory_ = nullptr;
  size_t bytes_ = 0;
  size_t slot_bytes_ = 0;
  int rank_ = 0;
  int ranks_ = 0;
  uint64_t round_ = 0;
  uint64_t exchange_ = 0;
  std::vector<int> watches_;  // a pidfd for each rank of another process, or -1
  std::atomic<bool> aborted_{false};
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_SHARED_SEGMENT_H_
