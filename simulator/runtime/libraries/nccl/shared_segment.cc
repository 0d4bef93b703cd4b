#include "simulator/runtime/libraries/nccl/shared_segment.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>

#include "base/rounding.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kBoardMagic = 0x6272616f'6c63636e;
constexpr size_t kPage = 4096;
// How often a waiting rank checks whether the other ranks are alive.
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr int kYields = 20;

size_t WholePages(size_t bytes) { return RoundUp(bytes, kPage); }

int OpenWatch(int pid) {
  return pid == getpid() ? -1 : static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

}  // namespace

struct SharedSegment::Header {
  uint64_t magic;
  uint64_t slot_bytes;
  int32_t ranks;
  std::atomic<uint32_t> bell;  // counts changes; all ranks wait on it as a futex
};

// The state of one rank. It has cache lines of its own, because only one rank writes it.
struct alignas(128) SharedSegment::Rank {
  std::atomic<int32_t> pid;  // 0 until the rank has joined
  std::atomic<uint32_t> left;
  std::atomic<uint64_t> gpu;  // 0: not known
  std::atomic<uint64_t> published;
  std::atomic<uint64_t> consumed;
  std::atomic<uint64_t> exchanged;
  RoundTag tag;
  Fact facts[2];
};

struct alignas(128) SharedSegment::Ring {
  std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);

namespace {

// Offsets of the parts of the shared memory: header, ranks, heads of rings, slots, bytes of rings.
template <typename Header, typename Rank, typename Ring>
struct Layout {
  size_t ranks, rings, slots, ring_data, end;
  Layout(size_t count, size_t slot_bytes) {
    ranks = WholePages(sizeof(Header));
    rings = WholePages(ranks + count * sizeof(Rank));
    slots = WholePages(rings + count * count * sizeof(Ring));
    ring_data = slots + count * WholePages(slot_bytes);
    end = ring_data + count * WholePages(slot_bytes);
  }
};

}  // namespace

size_t SharedSegment::Bytes(int ranks, size_t slot_bytes) {
  return Layout<Header, Rank, Ring>(static_cast<size_t>(ranks), slot_bytes).end;
}

bool SharedSegment::Initialize(int fd, int ranks, size_t slot_bytes) {
  if (ftruncate(fd, static_cast<off_t>(Bytes(ranks, slot_bytes))) != 0) return false;
  void* memory = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return false;
  auto* header = static_cast<Header*>(memory);
  header->slot_bytes = slot_bytes;
  header->ranks = ranks;
  header->magic = kBoardMagic;
  munmap(memory, kPage);
  return true;
}

SharedSegment* SharedSegment::Open(int fd, int rank, int ranks, uint64_t gpu) {
  struct stat status;
  void* memory = MAP_FAILED;
  if (fstat(fd, &status) == 0 && status.st_size >= static_cast<off_t>(kPage)) {
    memory = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, fd, 0);
  }
  close(fd);
  if (memory == MAP_FAILED) return nullptr;
  auto* board = new SharedSegment;
  board->memory_ = static_cast<uint8_t*>(memory);
  board->bytes_ = static_cast<size_t>(status.st_size);
  board->header_ = static_cast<Header*>(memory);
  board->slot_bytes_ = board->header_->slot_bytes;
  board->rank_ = rank;
  board->ranks_ = ranks;
  board->watches_.assign(static_cast<size_t>(ranks), -1);
  if (board->header_->magic != kBoardMagic || board->header_->ranks != ranks ||
      board->bytes_ < Bytes(ranks, board->slot_bytes_)) {
    delete board;
    return nullptr;
  }
  board->rank_state(rank).gpu.store(gpu);
  board->rank_state(rank).pid.store(getpid());
  board->WakeAll();
  return board;
}

SharedSegment::~SharedSegment() {
  for (int watch : watches_) {
    if (watch >= 0) close(watch);
  }
  munmap(memory_, bytes_);
}

SharedSegment::Rank& SharedSegment::rank_state(int rank) const {
  const Layout<Header, Rank, Ring> layout(static_cast<size_t>(ranks_), slot_bytes_);
  return reinterpret_cast<Rank*>(memory_ + layout.ranks)[rank];
}

uint8_t* SharedSegment::slot(int rank) const {
  const Layout<Header, Rank, Ring> layout(static_cast<size_t>(ranks_), slot_bytes_);
  return memory_ + layout.slots + static_cast<size_t>(rank) * WholePages(slot_bytes_);
}

SharedSegment::Ring& SharedSegment::ring(int source, int target) const {
  const Layout<Header, Rank, Ring> layout(static_cast<size_t>(ranks_), slot_bytes_);
  return reinterpret_cast<Ring*>(memory_ + layout.rings)[source * ranks_ + target];
}

uint8_t* SharedSegment::ring_data(int source, int target) const {
  const Layout<Header, Rank, Ring> layout(static_cast<size_t>(ranks_), slot_bytes_);
  return memory_ + layout.ring_data + static_cast<size_t>(source) * WholePages(slot_bytes_) +
         static_cast<size_t>(target) * ring_bytes();
}

void SharedSegment::WakeAll() {
  header_->bell.fetch_add(1, std::memory_order_acq_rel);
  syscall(SYS_futex, &header_->bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// True if a rank has left or died. A rank that lives in this process cannot die while this process
// lives.
bool SharedSegment::IsGone(int rank) const {
  const Rank& state = rank_state(rank);
  if (state.left.load(std::memory_order_acquire) != 0) return true;
  const int pid = state.pid.load(std::memory_order_acquire);
  if (pid == 0 || pid == getpid()) return false;
  const int watch = watches_[static_cast<size_t>(rank)];
  if (watch < 0) return kill(pid, 0) != 0 && errno == ESRCH;
  pollfd entry = {watch, POLLIN, 0};
  return poll(&entry, 1, 0) == 1;
}

int SharedSegment::FindGone() {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_ && IsGone(rank)) return rank;
  }
  return -1;
}

WaitResult SharedSegment::Wait(const std::vector<int>& needed, const std::function<bool()>& ready) {
  auto look = std::chrono::steady_clock::now() + kLook;
  for (int turn = 0;; ++turn) {
    const uint32_t heard = header_->bell.load(std::memory_order_acquire);
    if (ready()) return WaitResult::kDone;
    if (aborted()) return WaitResult::kAborted;
    if (std::chrono::steady_clock::now() >= look) {
      const bool gone = std::any_of(needed.begin(), needed.end(),
                                    [&](int rank) { return rank != rank_ && IsGone(rank); });
      // The rank may have finished its part and left between the two checks, so `ready` is called
      // again.
      if (gone) return ready() ? WaitResult::kDone : WaitResult::kPeerGone;
      look = std::chrono::steady_clock::now() + kLook;
    }
    if (turn < kYields) {
      sched_yield();
      continue;
    }
    const timespec pause = {0, std::chrono::nanoseconds(kLook).count()};
    syscall(SYS_futex, &header_->bell, FUTEX_WAIT, heard, &pause, nullptr, 0);
  }
}

namespace {

std::vector<int> AllRanks(int ranks) {
  std::vector<int> all(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) all[static_cast<size_t>(rank)] = rank;
  return all;
}

}  // namespace

WaitResult SharedSegment::WaitForAll(int milliseconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  bool late = false;
  const WaitResult result = Wait(AllRanks(ranks_), [&] {
    late = std::chrono::steady_clock::now() > deadline;
    if (late) return true;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank_state(rank).pid.load(std::memory_order_acquire) == 0) return false;
    }
    return true;
  });
  if (result != WaitResult::kDone || late) {
    return late ? WaitResult::kPeerGone : result;
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    watches_[static_cast<size_t>(rank)] = OpenWatch(rank_state(rank).pid.load());
  }
  return WaitResult::kDone;
}

int SharedSegment::FindOnSameGpu() const {
  const uint64_t own = rank_state(rank_).gpu.load();
  for (int rank = 0; own != 0 && rank < ranks_; ++rank) {
    if (rank != rank_ && rank_state(rank).gpu.load() == own) return rank;
  }
  return -1;
}

WaitResult SharedSegment::BeginRound() {
  const uint64_t before = round_++;
  return Wait(AllRanks(ranks_), [&] {
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank_state(rank).consumed.load(std::memory_order_acquire) < before) return false;
    }
    return true;
  });
}

void SharedSegment::Publish(const RoundTag& tag) {
  Rank& own = rank_state(rank_);
  own.tag = tag;
  own.published.store(round_, std::memory_order_release);
  WakeAll();
}

WaitResult SharedSegment::WaitForSlots(const RoundTag& tag) {
  const WaitResult result = Wait(AllRanks(ranks_), [&] {
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank_state(rank).published.load(std::memory_order_acquire) < round_) return false;
    }
    return true;
  });
  if (result != WaitResult::kDone) return result;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!(rank_state(rank).tag == tag)) return WaitResult::kMismatch;
  }
  return WaitResult::kDone;
}

void SharedSegment::EndRound() {
  rank_state(rank_).consumed.store(round_, std::memory_order_release);
  WakeAll();
}

size_t SharedSegment::Send(int peer, const uint8_t* data, size_t bytes) {
  Ring& way = ring(rank_, peer);
  const uint64_t written = way.written.load(std::memory_order_relaxed);
  const size_t used = written - way.read.load(std::memory_order_acquire);
  const size_t capacity = ring_bytes();
  const size_t taken = std::min(bytes, capacity - used);
  const size_t start = written % capacity;
  const size_t first = std::min(taken, capacity - start);
  memcpy(ring_data(rank_, peer) + start, data, first);
  memcpy(ring_data(rank_, peer), data + first, taken - first);
  if (taken > 0) {
    way.written.store(written + taken, std::memory_order_release);
    WakeAll();
  }
  return taken;
}

size_t SharedSegment::Receive(int peer, uint8_t* data, size_t bytes) {
  Ring& way = ring(peer, rank_);
  const uint64_t read = way.read.load(std::memory_order_relaxed);
  const size_t there = way.written.load(std::memory_order_acquire) - read;
  const size_t capacity = ring_bytes();
  const size_t taken = std::min(bytes, there);
  const size_t start = read % capacity;
  const size_t first = std::min(taken, capacity - start);
  memcpy(data, ring_data(peer, rank_) + start, first);
  memcpy(data + first, ring_data(peer, rank_), taken - first);
  if (taken > 0) {
    way.read.store(read + taken, std::memory_order_release);
    WakeAll();
  }
  return taken;
}

// The shared memory has room for the facts of two exchanges. That is enough, because when a rank
// begins exchange n + 2, all ranks have read the facts of exchange n.
WaitResult SharedSegment::Exchange(const Fact& own, std::vector<Fact>* all) {
  const uint64_t number = ++exchange_;
  Rank& mine = rank_state(rank_);
  mine.facts[number % 2] = own;
  mine.exchanged.store(number, std::memory_order_release);
  WakeAll();
  const WaitResult result = Wait(AllRanks(ranks_), [&] {
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank_state(rank).exchanged.load(std::memory_order_acquire) < number) return false;
    }
    return true;
  });
  all->clear();
  for (int rank = 0; rank < ranks_ && result == WaitResult::kDone; ++rank) {
    all->push_back(rank_state(rank).facts[number % 2]);
  }
  return result;
}

void SharedSegment::Abort() {
  aborted_.store(true, std::memory_order_release);
  WakeAll();
}

void SharedSegment::Leave() {
  rank_state(rank_).left.store(1, std::memory_order_release);
  WakeAll();
}

}  // namespace vramstow::simulator
