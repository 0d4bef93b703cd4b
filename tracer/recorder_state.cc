// Implements the beginning and the end of a trace.
#include "tracer/recorder_state.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/typed_event.h"
#include "tracer/format/crc32c.h"
#include "tracer/host_memory_usage.h"
#include "tracer/thread_barrier.h"
#include "tracer/thread_pointer.h"

namespace vramstow {
namespace {

uint64_t RandomNumber() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  // Early at boot the kernel may have no random numbers yet. The id then depends on the time. It
  // only has to differ from the ids of other traces on the same disk.
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_nsec) * 0x9E3779B97F4A7C15u ^
         static_cast<uint64_t>(now.tv_sec) ^ static_cast<uint64_t>(getpid()) << 32;
}

RecorderError ErrorOf(int error) {
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

}  // namespace

RecorderState* RecorderState::Create(const RecorderConfig& config, RecorderError* error) {
  // The memory is zeroed, and only touched pages use physical memory. The constructor does not
  // touch the large members.
  void* const memory = mmap(nullptr, sizeof(RecorderState), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    *error = RecorderError::kCannotMap;
    return nullptr;
  }
  RecorderState* const state = new (memory) RecorderState;
  *error = state->Open(config);
  if (*error == RecorderError::kOk) return state;
  const int saved_errno = errno;
  state->trace_.status.Unmake();
  munmap(memory, sizeof(RecorderState));
  errno = saved_errno;
  return nullptr;
}

RecorderError RecorderState::Open(const RecorderConfig& config) {
  trace_.thread_slot = config.thread_slot;
  trace_.id = RandomNumber();
  if (!trace_.status.Make()) return RecorderError::kCannotMap;
  trace_.order.Start(config.order == OrderSource::kBest, &last_number_);
  single_.Start(&trace_.order.clock());
  events_.Start(&trace_, &single_, &background_);
  threads_.Start(&trace_, this, config.thread_watch);
  if (!tables_.Start(&trace_)) return RecorderError::kCannotMap;
  stacks_.Start(config.stacks, &trace_, &tables_);
  if (config.ring_bytes != 0) {
    trace_.file.MakeRing(std::max(config.ring_bytes, kLeastRingBytes), config.ring_may_grow);
  }
  ChooseMode(config);
  int error = MakeFile(config, false);
  // If this fails, the file system does not support files without a name, or cannot name them
  // later. The file then gets a temporary name from the start.
  if (error != 0 && error != ENOSPC && error != ENOMEM) error = MakeFile(config, true);
  if (error == 0) StartBackground(config);
  errno = error;
  return ErrorOf(error);
}

void RecorderState::ChooseMode(const RecorderConfig& config) {
  trace_.status.SetNeedsBarrier(!RegisterThreadBarrier());
  void** const slot = trace_.thread_slot();
  const bool finds_slot = kHasThreadPointer && config.slot_is_static && slot != nullptr;
  if (finds_slot) slot_distance_ = reinterpret_cast<uintptr_t>(slot) - ThreadPointer();
  if (!finds_slot || !trace_.order.by_ticks() || trace_.status.needs_barrier()) return;
  const bool has_stacks = stacks_.mode() != StackMode::kOff;
  trace_.status.SetMode(has_stacks ? RecordMode::kFastWithStacks : RecordMode::kFast);
}

// Makes the file with its first page, and gives it its name last. Returns 0, or an errno; after an
// error no file is left behind.
int RecorderState::MakeFile(const RecorderConfig& config, bool has_name) {
  TraceFile& file = trace_.file;
  int error = file.Create({.directory = config.directory,
                           .stem = config.stem,
                           .has_name = has_name,
                           .for_group = config.for_group});
  if (error != 0) return error;
  trace_.first_slot = file.NewSlot(&error);
  if (trace_.first_slot.bytes == nullptr) {
    file.Remove();
    return error;
  }
  WriteFileHeader();
  trace_.chunks.store(0, std::memory_order_relaxed);
  error = tables_.Begin();
  if (error == 0) error = file.Publish(config.directory, config.stem);
  if (error == 0) return 0;
  munmap(trace_.first_slot.bytes, kSlotBytes);
  file.Remove();
  return error;
}

void RecorderState::WriteFileHeader() {
  FileHeader* const to = trace_.header();
  trace_.status.SetHeader(to);
  std::memcpy(to->magic, kFileMagic, sizeof kFileMagic);
  to->major = kFormatMajor;
  to->minor = kFormatMinor;
  to->header_bytes = kFileHeaderBytes;
  to->slot_bytes = kSlotBytes;
  to->process = static_cast<uint32_t>(getpid());
  to->trace_id = trace_.id;
  to->start_unix_ns = trace_.order.clock().start_unix_ns();
  to->start_clock_ns = trace_.order.clock().start_clock_ns();
  // In a file with shared slots this field is written later, when a chunk is overwritten for the
  // first time.
  if (!trace_.file.is_shared() && !trace_.file.ring_may_grow()) {
    to->ring_bytes = trace_.file.ring_bytes();
  }
  to->checksum = Crc32c(to, offsetof(FileHeader, checksum));
}

void RecorderState::StartBackground(const RecorderConfig& config) {
  if (!config.background || !trace_.file.is_shared()) return;
  on_sample_ = config.on_sample;
  background_.Start({config.compress, config.sample_ms, OnSample, this}, &trace_, &threads_);
}

// Records the host's memory, so that the trace shows its state before it runs out.
void RecorderState::OnSample(void* self) {
  RecorderState* const state = static_cast<RecorderState*>(self);
  const HostMemory memory = ReadHostMemory();
  state->RecordWithStack(
      HostMemoryInfo{memory.free, memory.limit, memory.resident, memory.is_of_group}.ToEvent());
  if (state->on_sample_ != nullptr) state->on_sample_();
}

void RecorderState::OnThreadExit(ThreadBuffer* buffer) {
  void** const slot = trace_.thread_slot();
  if (slot == nullptr || *slot != buffer) return;
  *slot = nullptr;
  single_.Forget(buffer);
  threads_.Return(buffer, slot);
}

void RecorderState::Close() {
  if (!trace_.status.Close()) return;
  // After the barrier, every later call of Record sees that the trace is closed, and AwaitQuiet
  // sees each call of Record that began before. If the kernel offers no such barrier, each thread
  // executes its own barrier at each event.
  BarrierOnAllThreads();
  const bool is_alone = background_.Stop();
  const bool all_quiet = threads_.AwaitQuiet() && is_alone;
  int stand_in;  // a thread without a slot may close as well
  const void* self = trace_.Self();
  if (self == nullptr) self = &stand_in;
  if (!threads_.mutex()->Lock(self)) return;
  if (tables_.mutex()->Lock(self)) {
    Seal(all_quiet);
    if (all_quiet) tables_.GiveBack();
    tables_.mutex()->Unlock();
  }
  threads_.mutex()->Unlock();
  if (all_quiet) stacks_.GiveBack(threads_);
}

// Seals the open chunks, which become the end of the file, and sets the file's length.
void RecorderState::Seal(bool all_quiet) {
  TraceFile& file = trace_.file;
  FileHeader* const to = trace_.header();
  to->last_sequence =
      trace_.order.by_ticks() ? threads_.CountRecorded() : trace_.order.last_number();
  const bool shared = file.is_shared();
  const ThreadRegistry::LastSlot last = threads_.Seal(all_quiet);
  tables_.Seal();
  uint64_t length = file.end();
  if (last.end == length) length = last.contents_end;
  if (length == kSlotBytes) length = tables_.front_bytes();
  const uint64_t on_disk = file.LengthOnDisk();
  if (shared && length > on_disk) length = on_disk;
  to->file_bytes = length;
  std::atomic_ref<uint32_t>(to->state).store(static_cast<uint32_t>(TraceState::kClosed),
                                             std::memory_order_release);
  if (!shared) file.WriteFront(trace_.first_slot.bytes, tables_.front_bytes());
  // From here on slots are plain memory. A thread that still stores an event does not change the
  // file.
  bool may_cut = true;
  if (shared) {
    may_cut = threads_.DetachSlots();
    may_cut = TraceFile::Detach(trace_.first_slot.bytes) && may_cut;
  }
  if (may_cut) file.Cut(length);
  // If a thread hangs in a write, it may still use the number of the descriptor. The descriptor is
  // then not closed, so that its number is not reused.
  if (all_quiet) file.Close();
}

void RecorderState::AbandonAfterFork() {
  trace_.status.Abandon();
  void** const slot = trace_.thread_slot();
  if (slot != nullptr) {
    const ThreadBuffer* const buffer = static_cast<ThreadBuffer*>(*slot);
    if (buffer != nullptr && buffer->owner == this) *slot = nullptr;
  }
  // A signal handler that interrupted Record may have called fork. That call of Record then
  // continues in the child, too, and its stores must not reach the parent's file.
  threads_.DetachSlots();
  TraceFile::Detach(trace_.first_slot.bytes);
  trace_.file.AbandonAfterFork();
}

}  // namespace vramstow
