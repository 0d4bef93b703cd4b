// SharedSegment is the memory that the ranks of a communicator share.
//
// Idea: collectives proceed in rounds, which are pieces of their data, in the same order on every
// rank. In a round each rank writes its part into its own slot and publishes the round's number.
// Then it reads what it needs from the slots of other ranks and marks the round as read. When all
// ranks have done so, the slots may be written again. Sends and receives do not involve all ranks
// and use a byte ring for each ordered pair. Small facts that are exchanged on the host, for a
// split, use Exchange.
//
// A rank waits on a futex, and checks every few milliseconds whether the communicator was aborted
// and whether the ranks that it waits for are still there. If such a rank has died or left, the
// wait ends.
//
// Ownership: the memory is a memfd, freed with the last process that has it. Threads: one thread at
// a time works on rounds; any thread may call Abort. Errors: returns a WaitResult. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_SHARED_SEGMENT_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_SHARED_SEGMENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace vramstow::simulator {

enum class WaitResult { kDone, kAborted, kPeerGone, kMismatch };

// The data on which all ranks of a round must agree.
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
  // Returns the size of the shared memory for this many ranks.
  static size_t Bytes(int ranks, size_t slot_bytes);
  // Initializes new memory. Must be called by its creator before other processes open it.
  static bool Initialize(int fd, int ranks, size_t slot_bytes);

  // Takes ownership of `fd`. Returns null if the memory cannot be mapped or has unexpected
  // contents. `gpu` stands for the GPU of this rank.
  static SharedSegment* Open(int fd, int rank, int ranks, uint64_t gpu);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  size_t slot_bytes() const { return slot_bytes_; }
  // The bytes of one ring. A round (one piece of the data) of sends and receives moves at most this
  // much between two ranks.
  size_t ring_bytes() const { return slot_bytes_ / static_cast<size_t>(ranks_) / 64 * 64; }

  // Waits until all ranks have joined, until `milliseconds` have passed, or until an abort.
  WaitResult WaitForAll(int milliseconds);
  // Returns another rank on the GPU of this rank, or -1. Called when all ranks have joined.
  int FindOnSameGpu() const;

  // For each round (a piece of a collective's data) the caller calls BeginRound, writes this rank's
  // slot, and calls Publish and WaitForSlots. Then it reads the slots and calls EndRound.
  WaitResult BeginRound();
  uint8_t* OwnSlot() { return slot(rank_); }
  void Publish(const RoundTag& tag);
  WaitResult WaitForSlots(const RoundTag& tag);
  const uint8_t* Slot(int rank) const { return slot(rank); }
  void EndRound();

  // Move bytes through the ring of this rank and `peer`, and return how many were moved. Send
  // returns 0 if the ring is full, and Receive if it is empty.
  size_t Send(int peer, const uint8_t* data, size_t bytes);
  size_t Receive(int peer, uint8_t* data, size_t bytes);
  // Waits until `ready` returns true. `ready` is called again whenever any rank has made progress.
  WaitResult Wait(const std::vector<int>& needed, const std::function<bool()>& ready);

  // Exchanges one fact of each rank and returns all, in the order of ranks.
  WaitResult Exchange(const Fact& own, std::vector<Fact>* all);

  // Ends all waits of this rank, now and later. May be called from any thread.
  void Abort();
  bool aborted() const { return aborted_.load(std::memory_order_acquire); }
  // Informs the other ranks that this rank takes no further part.
  void Leave();
  // Returns the number of a rank that has died or left, or -1.
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
