// A trace begins and ends.
#include "tracer/recorder_state.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "tracer/format/crc32c.h"
#include "tracer/system_calls.h"
#include "tracer/thread_pointer.h"

namespace vramstow {
namespace {

// How long Close waits for threads that are recording. One that takes longer was interrupted, or
// the disk hangs; its chunk is complete up to its last event anyway.
constexpr int kCloseRounds = 1000;
constexpr long kCloseRoundNs = 100'000;

uint64_t RandomNumber() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  // Early at boot. The number only has to tell this trace from others on the same disk.
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_nsec) * 0x9E3779B97F4A7C15u ^
         static_cast<uint64_t>(now.tv_sec) ^ static_cast<uint64_t>(getpid()) << 32;
}

// What threads need for Barrier to be cheap (membarrier(2)). False where the kernel has it not, or
// a sandbox forbids it.
bool RegisterBarriers() {
  return CurrentSystemCalls().barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

// A page that is zero in a child after fork. An older kernel does not offer that; then
// AbandonAfterFork alone has to do it.
void* WipedOnFork(size_t size) {
  void* const page =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  madvise(page, size, MADV_WIPEONFORK);
  return page;
}

}  // namespace

// Where that failed, threads have barriers of their own, and here is the other one.
bool RecorderState::BarrierOnAllThreads() {
  return CurrentSystemCalls().barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

RecorderState* RecorderState::Create(const RecorderConfig& config, RecorderError* error) {
  // Zeroed, and only what is touched becomes memory. The constructor leaves the large parts alone.
  void* const memory = mmap(nullptr, sizeof(RecorderState), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    *error = RecorderError::kCannotMap;
    return nullptr;
  }
  RecorderState* const state = new (memory) RecorderState;
  *error = state->OpenFile(config);
  if (*error == RecorderError::kOk) return state;
  const int saved_errno = errno;
  if (state->condition_ != nullptr) munmap(state->condition_, sizeof *state->condition_);
  munmap(memory, sizeof(RecorderState));
  errno = saved_errno;
  return nullptr;
}

RecorderError RecorderState::OpenFile(const RecorderConfig& config) {
  thread_slot_ = config.thread_slot;
  void* const page = WipedOnFork(sizeof *condition_);
  if (page == nullptr) return RecorderError::kCannotMap;
  condition_ = new (page) std::atomic<uint32_t>(kRecording);
  trace_id_ = RandomNumber();
  clock_.Start(config.order == OrderSource::kBest);
  by_ticks_ = clock_.counter_is_trusted();
  annotations_ =
      static_cast<NumberTable<65536>*>(mmap(nullptr, sizeof *annotations_, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (annotations_ == MAP_FAILED) return RecorderError::kCannotMap;
  PrepareStacks(config.stacks);
  if (config.ring_bytes != 0) {
    file_.MakeRing(std::max(config.ring_bytes, kLeastRingBytes) / kSlotBytes * kSlotBytes);
  }
  needs_barrier_ = !RegisterBarriers();
  const bool finds_slot = kHasThreadPointer && config.slot_is_static && thread_slot_() != nullptr;
  if (finds_slot) slot_distance_ = reinterpret_cast<uintptr_t>(thread_slot_()) - ThreadPointer();
  const bool is_short =
      finds_slot && by_ticks_ && stack_mode_ == StackMode::kOff && !needs_barrier_;
  way_.store(is_short ? Way::kShort : Way::kAny, std::memory_order_relaxed);
  int error = MakeFile(config, false);
  // A file system without unnamed files, or one on which they cannot be named later.
  if (error != 0 && error != ENOSPC && error != ENOMEM) error = MakeFile(config, true);
  if (error == 0) StartBackground(config);
  errno = error;
  switch (error) {
    case 0:
      return RecorderError::kOk;
    case ENOSPC:
      return RecorderError::kNoSpace;
    case ENOMEM:
      return RecorderError::kCannotMap;
    default:
      return RecorderError::kCannotCreate;
  }
}

// The file with its first page, and its name last. 0, or an errno and nothing is left behind.
int RecorderState::MakeFile(const RecorderConfig& config, bool has_name) {
  int error = file_.Create(config.directory, config.stem, has_name);
  if (error != 0) return error;
  first_slot_ = file_.NewSlot(&error);
  if (first_slot_.bytes == nullptr) {
    file_.Remove();
    return error;
  }
  WriteFileHeader();
  tables_.SetPlace({&file_, first_slot_.bytes + kFileHeaderBytes, kFileHeaderBytes,
                    kSlotBytes - kFileHeaderBytes, trace_id_});
  chunks_.store(0, std::memory_order_relaxed);
  BeginTables();
  if (!file_.is_shared()) {
    error = file_.WriteFront(first_slot_.bytes, kFileHeaderBytes + tables_.used_bytes());
  }
  if (error == 0) error = file_.Publish(config.directory, config.stem);
  if (error == 0) return 0;
  munmap(first_slot_.bytes, kSlotBytes);
  file_.Remove();
  return error;
}

void RecorderState::WriteFileHeader() {
  FileHeader* const to = header();
  std::memcpy(to->magic, kFileMagic, sizeof kFileMagic);
  to->major = kFormatMajor;
  to->minor = kFormatMinor;
  to->header_bytes = kFileHeaderBytes;
  to->slot_bytes = kSlotBytes;
  to->process = static_cast<uint32_t>(getpid());
  to->trace_id = trace_id_;
  to->start_unix_ns = clock_.start_unix_ns();
  to->start_clock_ns = clock_.start_clock_ns();
  to->ring_bytes = file_.ring_bytes();
  to->checksum = Crc32c(to, offsetof(FileHeader, checksum));
}

bool RecorderState::AwaitQuietBuffers() {
  for (int round = 0; round < kCloseRounds; ++round) {
    bool quiet = true;
    const uint32_t count = buffer_count_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < count && quiet; ++i) {
      quiet = !buffers_[i]->busy.load(std::memory_order_seq_cst);
    }
    if (quiet) return true;
    const timespec pause = {0, kCloseRoundNs};
    nanosleep(&pause, nullptr);
  }
  return false;
}

void RecorderState::Close() {
  uint32_t before = condition();
  while (before != kForked &&
         !condition_->compare_exchange_weak(before, kClosed, std::memory_order_seq_cst)) {
  }
  if (before == kForked) return;
  // Every Record from here on sees kClosed; every earlier one is seen by AwaitQuietBuffers.
  BarrierOnAllThreads();
  const bool is_alone = StopBackground();
  const bool all_quiet = AwaitQuietBuffers() && is_alone;
  const void* const self = Self();
  int stand_in;  // a thread without a slot may close as well
  if (!lock_.Lock(self != nullptr ? self : &stand_in)) return;
  header()->last_sequence = by_ticks_ ? CountRecorded() : sequence_.load();
  SealAll(all_quiet);
  lock_.Unlock();
}

// How many events are in the buffers' chunks, those included that were appended.
uint64_t RecorderState::CountRecorded() const {
  uint64_t events = 0;
  const uint32_t count = buffer_count_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    const ThreadBuffer& buffer = *buffers_[i];
    events += buffer.chunk.has_chunk() ? buffer.encoder.last_sequence() : buffer.recorded;
  }
  return events;
}

// The chunks that are begun become the end of the file, and the file gets its length.
void RecorderState::SealAll(bool all_quiet) {
  const bool shared = file_.is_shared();
  uint64_t end_of_last_slot = 0;
  uint64_t end_of_its_contents = 0;
  const auto note_end = [&](const TraceFile::Slot& slot, uint32_t used_bytes) {
    if (slot.offset + kSlotBytes <= end_of_last_slot) return;
    end_of_last_slot = slot.offset + kSlotBytes;
    end_of_its_contents = slot.offset + used_bytes;
  };
  const uint32_t count = buffer_count_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    ThreadBuffer* const buffer = buffers_[i];
    ChunkWriter& chunk = buffer->chunk;
    const bool quiet = !buffer->busy.load(std::memory_order_acquire);
    const unsigned other = buffer->current ^ 1;
    if (shared) {
      // A slot in use by a thread that hangs is left as it is.
      note_end(buffer->slots[buffer->current], !quiet              ? kSlotBytes
                                               : chunk.has_chunk() ? chunk.used_bytes()
                                                                   : 0);
      const bool is_handed = buffer->is_handed[other].load(std::memory_order_acquire);
      if (is_handed && all_quiet) SealChunkInPlace(buffer->slots[other].bytes);
      if (buffer->slots[other].bytes != nullptr) {
        // A thread that hangs may be about to hand it over.
        note_end(buffer->slots[other], is_handed || !quiet ? kSlotBytes : 0);
      }
    }
    if (!quiet || !chunk.has_chunk()) continue;
    if (shared) {
      chunk.SealInPlace();
    } else {
      chunk.Append();
    }
  }
  tables_.SealInPlace();
  FileHeader* const to = header();
  uint64_t length = file_.end();
  if (end_of_last_slot == length) length = end_of_its_contents;
  if (length == kSlotBytes) length = kFileHeaderBytes + tables_.used_bytes();
  const uint64_t on_disk = file_.LengthOnDisk();
  if (shared && length > on_disk) length = on_disk;
  to->file_bytes = length;
  std::atomic_ref<uint32_t>(to->state).store(static_cast<uint32_t>(TraceState::kClosed),
                                             std::memory_order_release);
  if (!shared) file_.WriteFront(first_slot_.bytes, kFileHeaderBytes + tables_.used_bytes());
  // Whoever still stores something, at any time later, stores it into plain memory.
  bool may_cut = true;
  for (uint32_t i = 0; shared && i < count; ++i) {
    for (const TraceFile::Slot& slot : buffers_[i]->slots) {
      if (slot.bytes != nullptr) may_cut = TraceFile::Detach(slot.bytes) && may_cut;
    }
  }
  if (shared) may_cut = TraceFile::Detach(first_slot_.bytes) && may_cut;
  if (may_cut) file_.Cut(length);
  // A thread that hangs in a write has the descriptor's number in its hands: it must stay ours.
  if (all_quiet) file_.Close();
}

void RecorderState::AbandonAfterFork() {
  condition_->store(kForked, std::memory_order_relaxed);
  void** const slot = thread_slot_();
  if (slot != nullptr) {
    const ThreadBuffer* const buffer = static_cast<ThreadBuffer*>(*slot);
    if (buffer != nullptr && buffer->owner == this) *slot = nullptr;
  }
  // If fork was called by a signal handler that interrupted Record, that Record goes on in the
  // child, too: what it still stores must not reach the parent's file.
  const uint32_t count = buffer_count_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    for (const TraceFile::Slot& mapped : buffers_[i]->slots) {
      if (mapped.bytes != nullptr) TraceFile::Detach(mapped.bytes);
    }
  }
  TraceFile::Detach(first_slot_.bytes);
  file_.Close();
}

}  // namespace vramstow
