#include "interpose/core/record/trace.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/adopted_blocks.h"
#include "base/keep_errno.h"
#include "base/monotonic_clock.h"
#include "base/typed_event.h"
#include "interpose/core/record/facts.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/settings.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {
namespace {

// While an object of this class exists, the thread is not cancelled (pthread_cancel). Otherwise it
// could end in the middle of making the file, for which all other threads wait.
class WithoutCancellation {
 public:
  WithoutCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~WithoutCancellation() {
    int ignored;
    pthread_setcancelstate(before_, &ignored);
  }
  WithoutCancellation(const WithoutCancellation&) = delete;
  WithoutCancellation& operator=(const WithoutCancellation&) = delete;

 private:
  int before_ = 0;
};

void** RecorderSlot() { return &ThisThread()->recorder; }

const char* Why(RecorderError error) {
  switch (error) {
    case RecorderError::kNoSpace:
      return "the disk is full";
    case RecorderError::kCannotMap:
      return "its file cannot be mapped";
    default:
      return std::strerror(errno);
  }
}

// Returns what the user can do. Another folder does not help if a limit of the process was reached.
// `reason` is the errno of the attempt.
const char* RemedyOf(RecorderError error, int reason) {
  if (error == RecorderError::kCannotMap) {
    return "choose another folder with VRAMSTOW_TRACE_DIR, or raise the limit on the process's "
           "memory (ulimit -v)";
  }
  if (error == RecorderError::kCannotCreate) {
    switch (reason) {
      case EMFILE:
        return "raise the limit on open files (ulimit -n)";
      case ENFILE:
        return "raise the system's limit on open files (fs.file-max)";
      case EFBIG:
        return "raise the limit on file sizes (ulimit -f)";
      default:
        break;
    }
  }
  return "choose another folder with VRAMSTOW_TRACE_DIR";
}

StackMode StackModeOf(const Options& options) {
  if (std::strcmp(options.stacks, "all") == 0) return StackMode::kAll;
  return WantsStacks(options) ? StackMode::kSites : StackMode::kOff;
}

uint64_t NowMs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000 +
         static_cast<uint64_t>(time.tv_nsec) / 1'000'000;
}

// True if an event is a reason to make the trace's file. Failed requests and frees of unknown
// memory are no reason.
bool IsWorthAFile(const Event& event) {
  return event.result == 0 && event.kind != EventKind::kFree && event.kind != EventKind::kUnmap &&
         event.kind != EventKind::kUnreserve && event.kind != EventKind::kUnregister &&
         event.kind != EventKind::kCloseImport && event.kind != EventKind::kRefused &&
         event.kind != EventKind::kLaunch;
}

}  // namespace

void Trace::Open() {
  State state = state_.load(std::memory_order_acquire);
  if (state == State::kClosed) OpenAs(&state);
}

void Trace::OpenAs(State* state) {
  const WithoutCancellation guard;
  if (!state_.compare_exchange_strong(*state, State::kOpening, std::memory_order_acq_rel)) return;
  KeepErrno keep_errno;
  const Options& options = process_.options();
  if (!options.trace) {
    state_.store(State::kOff, std::memory_order_release);
    return;
  }
  const RecorderError error = MakeFile(options.trace_dir);
  if (error == RecorderError::kOk) {
    early_marks_.Take(ThisThread(), [this](const EarlyMarks::Entry& early) {
      Mark(early.kind, early.text, early.number);
    });
    return;
  }
  const char* const remedy = RemedyOf(error, errno);
  Log("no trace is written, because no file can be created in '%.300s' (%s): %s.",
      options.trace_dir, Why(error), remedy);
}

int Trace::OpenIn(const char* folder) {
  const WithoutCancellation guard;
  State state = state_.load(std::memory_order_acquire);
  if (state == State::kOpen || state == State::kOpening ||
      !state_.compare_exchange_strong(state, State::kOpening, std::memory_order_acq_rel)) {
    return EBUSY;
  }
  KeepErrno keep_errno;
  ForgetNumbers();
  switch (MakeFile(folder)) {
    case RecorderError::kOk:
      return 0;
    case RecorderError::kNoSpace:
      return ENOSPC;
    default:
      return errno != 0 ? errno : EIO;
  }
}

RecorderError Trace::MakeFile(const char* folder) {
  const Options& options = process_.options();
  char stem[200];
  NameTrace(options.command, stem, sizeof stem);
  TraceSizeSetting size;
  ParseTraceSize(options.trace_size, &size);
  const RecorderError error = recorder_.Open({.directory = folder,
                                              .stem = stem,
                                              .thread_slot = RecorderSlot,
                                              .stacks = StackModeOf(options),
                                              .background = true,
                                              .compress = options.trace_compress,
                                              .sample_ms = 1000,
                                              .on_sample = callbacks_.before_mark,
                                              .ring_bytes = size.bytes,
                                              .ring_may_grow = !size.is_asked,
                                              .slot_is_static = true,
                                              .thread_watch = Shim().watch_thread_exit,
                                              .for_group = options.trace_group});
  opens_slowly_.store(false, std::memory_order_relaxed);
  if (error != RecorderError::kOk) {
    state_.store(State::kOff, std::memory_order_release);
    return error;
  }
  model_clock_.Start();
  state_.store(State::kOpen, std::memory_order_release);
  // The trace is open already, so other threads do not wait while the facts are written.
  DescribeProcess(&recorder_, options);
  // The default depends on the program, so the trace states the outcome.
  if (!WantsStacks(options)) recorder_.Describe("option.stacks", "off");
  DescribeDriver(&recorder_, driver_);
  // If a trace size was set, the newest events can be copied on request.
  wants_copies_.store(size.is_asked, std::memory_order_relaxed);
  if (size.is_asked) callbacks_.ring_opened();
  return error;
}

bool Trace::IsOpenFor(const Event& event) {
  State state = state_.load(std::memory_order_acquire);
  if (state == State::kOpen) return true;
  if (state == State::kClosed && IsWorthAFile(event)) {
    OpenAs(&state);
    state = state_.load(std::memory_order_acquire);
  }
  if (state == State::kOpening) [[unlikely]]
    state = AwaitOpening();
  return state == State::kOpen;
}

// Another thread is making the file. That thread never waits for this one, so this thread can wait
// until the file exists, for at most two seconds. If that was not enough, the file system may hang,
// so that later events do not wait again.
Trace::State Trace::AwaitOpening() {
  constexpr int kMaxWaitMs = 2000;
  if (!opens_slowly_.load(std::memory_order_relaxed)) {
    WaitUpTo(kMaxWaitMs,
             [this] { return state_.load(std::memory_order_acquire) != State::kOpening; });
  }
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::kOpening) opens_slowly_.store(true, std::memory_order_relaxed);
  return state;
}

void Trace::SampleClock(bool at_mark) {
  ModelClockEvent sample;
  ModelWorkEvent work;
  if (!model_clock_.TakeSample(at_mark, &sample, &work)) return;
  recorder_.RecordWithStack(sample.ToEvent());
  recorder_.RecordWithStack(work.ToEvent());
}

uint64_t Trace::Record(const CallSite& site, Event event) {
  KeepErrno keep_errno;
  if (!IsOpenFor(event)) return 0;
  LookAtClock();
  event.call = NumberOfCall(site.hook);
  event.library = NumberOfLibrary(site.return_address);
  event.layer = LayerOf(event);
  const uint64_t sequence = recorder_.Record(event);
  if (event.result == CUDA_ERROR_OUT_OF_MEMORY) [[unlikely]] {
    if (event.layer == Layer::kPool) callbacks_.framework_refused(event.device);
    NoteOutOfMemory();
    // When a framework makes physical memory, it holds a lock that a garbage collection also takes.
    // So the callback is not called for physical memory.
    if (event.memory == MemoryKind::kDevice && observer() != kUnknownName) {
      callbacks_.no_memory(event.device, event.layer == Layer::kPool);
    }
  }
  return sequence;
}

// While an observer records the blocks of a framework's own allocator, memory that this allocator
// gets from the driver counts as reserved by a pool.
Layer Trace::LayerOf(const Event& event) const {
  if (event.library == kUnknownName ||
      event.library != framework_library_.load(std::memory_order_acquire)) [[likely]] {
    return event.layer;
  }
  const bool is_reserved = event.memory == MemoryKind::kDevice ||
                           event.memory == MemoryKind::kPhysical ||
                           event.memory == MemoryKind::kAddressRange;
  return is_reserved ? Layer::kPool : event.layer;
}

uint64_t Trace::RecordWithStack(Hook hook, uint16_t library, Event* event) {
  KeepErrno keep_errno;
  if (!IsOpenFor(*event)) return 0;
  if (model_clock_.is_there()) [[unlikely]] {
    const bool is_move = event->kind == EventKind::kOffload || event->kind == EventKind::kReturn;
    if (is_move) model_clock_.NoteHeld(MoveEvent::Of(*event).gate_ns);
    SampleClock(/*at_mark=*/false);
  }
  event->call = kUnknownName;
  if (hook != kNoHook) {
    event->call = NumberOfCall(hook);
  } else if (event->layer == Layer::kFramework) {
    event->call = NumberOfCall(&tensor_, "tensor");
  }
  event->library = library;
  return recorder_.RecordWithStack(*event);
}

uint64_t Trace::RecordFrameworkSegment(uint16_t library, Event* event) {
  KeepErrno keep_errno;
  if (!IsOpenFor(*event)) return 0;
  LookAtClock();
  event->stack = recorder_.CaptureStackQuietly(event->kind);
  event->call = kUnknownName;
  event->library = library;
  return recorder_.RecordWithStack(*event);
}

uint64_t Trace::RecordAdoptedBlock(uint16_t library, Event* event) {
  KeepErrno keep_errno;
  if (!IsOpenFor(*event)) return 0;
  event->call = NumberOfCall(&adopted_, kAdoptedCall);
  event->library = library;
  return recorder_.RecordWithStack(*event);
}

uint32_t Trace::CaptureStack(EventKind kind) {
  if (state_.load(std::memory_order_acquire) != State::kOpen) return 0;
  KeepErrno keep_errno;
  return recorder_.CaptureStack(kind);
}

// Handles the first event of a block, and a simulated GPU with a virtual clock.
uint64_t Trace::RecordBlockGenerally(BlockEvent* block) {
  const KeepErrno keep_errno;
  block->library = observer();
  if (block->library == kUnknownName || !IsOpenFor(block->ToEvent())) return 0;
  LookAtClock();
  block->call = NumberOfCall(&tensor_, "tensor");
  if (!model_clock_.is_there() && block->call != kUnknownName) {
    block_names_.store(uint32_t{block->library} << 16 | block->call, std::memory_order_relaxed);
  }
  return recorder_.RecordBlock(*block);
}

uint64_t Trace::RecordFrameworkRefusal(uint16_t library, Event* event) {
  const KeepErrno keep_errno;
  if (!IsOpenFor(*event)) return 0;
  LookAtClock();
  event->call = NumberOfCall(&tensor_, "tensor");
  event->library = library;
  return recorder_.RecordQuietly(event);
}

void Trace::FollowFramework(uint16_t framework, uint16_t observer) {
  recorder_.LookAtLibraries();
  framework_library_.store(framework, std::memory_order_release);
  observer_.store(observer, std::memory_order_release);
  block_names_.store(0, std::memory_order_relaxed);
}

uint32_t Trace::NameStack(uint32_t stack, const StackName* names, size_t count) {
  if (stack == 0 || count == 0) return stack;
  KeepErrno keep_errno;
  return recorder_.NameStack(stack, names, count);
}

uint16_t Trace::Library(const void* return_address) {
  if (state_.load(std::memory_order_acquire) != State::kOpen) return kUnknownName;
  KeepErrno keep_errno;
  return NumberOfLibrary(return_address);
}

// Ranges of the process are left out: their end names them by a number, which a text has only in
// a trace.
uint64_t Trace::KeepMark(MarkKind kind, const char* text, uint64_t number) {
  const bool is_of_process = kind != MarkKind::kMoment && number != 0;
  if (is_of_process || !process_.is_active() || !process_.options().trace) return 0;
  return early_marks_.Keep(ThisThread(), kind, text, number) ? 1 : 0;
}

uint64_t Trace::Mark(MarkKind kind, const char* text, uint64_t number) {
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::kClosed) return KeepMark(kind, text, number);
  if (state != State::kOpen) return 0;
  KeepErrno keep_errno;
  callbacks_.before_mark();
  if (model_clock_.is_there()) SampleClock(/*at_mark=*/true);
  const uint64_t annotation = *text == '\0' ? 0 : recorder_.InternAnnotation(text);
  const uint64_t sequence = recorder_.RecordMark(kind, annotation, number);
  return sequence == 0 ? 0 : annotation == 0 ? sequence : annotation;
}

void Trace::EndRange(uint64_t annotation, uint64_t number) {
  if (state_.load(std::memory_order_acquire) != State::kOpen) return;
  KeepErrno keep_errno;
  callbacks_.before_mark();
  if (model_clock_.is_there()) SampleClock(/*at_mark=*/true);
  recorder_.RecordMark(MarkKind::kRangeEnds, annotation, number);
}

void Trace::RecordActivity(const char* text, Event event) {
  if (state_.load(std::memory_order_acquire) != State::kOpen) return;
  KeepErrno keep_errno;
  if (text != nullptr) event.object = recorder_.InternAnnotation(text, TextOf::kVramstow);
  recorder_.RecordWithStack(event);
}

uint64_t Trace::Annotation(const char* text) {
  return is_open() ? recorder_.InternAnnotation(text, TextOf::kVramstow) : 0;
}

void Trace::Describe(const char* key, const char* value) {
  if (state_.load(std::memory_order_acquire) == State::kOpen) recorder_.Describe(key, value);
}

uint16_t Trace::NumberOfCall(Hook hook) {
  return NumberOfCall(&calls_[static_cast<size_t>(hook)], RowOf(hook).name);
}

uint16_t Trace::NumberOfCall(std::atomic<uint16_t>* place, const char* name) {
  uint16_t number = place->load(std::memory_order_relaxed);
  if (number == kUnknownName) {
    number = recorder_.InternCall(name);
    place->store(number, std::memory_order_relaxed);
  }
  return number;
}

uint16_t Trace::NumberOfLibrary(const void* return_address) {
  const CallerObject* caller = callers_.FindCaller(return_address);
  if (caller == nullptr) return kUnknownName;
  std::atomic<uint16_t>& place = libraries_[caller->index];
  uint16_t number = place.load(std::memory_order_relaxed);
  if (number == kUnknownName) {
    number = recorder_.InternLibrary(caller->path, caller->base, caller->build_id);
    place.store(number, std::memory_order_relaxed);
  }
  return number;
}

bool Trace::WantsFreeBytes(int device) {
  if (device < 0 || device >= kMaxDevices) return false;
  if (state_.load(std::memory_order_relaxed) != State::kOpen) return false;
  const uint64_t bit = uint64_t{1} << device;
  if ((described_devices_.load(std::memory_order_relaxed) & bit) != 0) return false;
  return (described_devices_.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
}

void Trace::DescribeFreeBytes(int device, uint64_t bytes) {
  char key[48];
  char value[24];
  std::snprintf(key, sizeof key, "device.%d.free_bytes_at_start", device);
  std::snprintf(value, sizeof value, "%llu", static_cast<unsigned long long>(bytes));
  recorder_.Describe(key, value);
}

bool Trace::WantsSample(int device) {
  constexpr uint64_t kSampleMs = 1000;
  if (device < 0 || device >= kMaxDevices) return false;
  if (state_.load(std::memory_order_relaxed) != State::kOpen) return false;
  const uint64_t now = NowMs();
  std::atomic<uint64_t>& place = sampled_ms_[device];
  uint64_t last = place.load(std::memory_order_relaxed);
  return (last == 0 || now - last >= kSampleMs) &&
         place.compare_exchange_strong(last, now, std::memory_order_relaxed) && last != 0;
}

void Trace::RecordFreeBytes(int device, uint64_t free_bytes, uint64_t total_bytes) {
  KeepErrno keep_errno;
  const DeviceMemoryInfo look = {static_cast<int16_t>(device), free_bytes, total_bytes};
  recorder_.RecordWithStack(look.ToEvent());
}

int Trace::WriteCopy(char* path, size_t size) {
  if (state_.load(std::memory_order_acquire) != State::kOpen) return EBADF;
  KeepErrno keep_errno;
  callbacks_.before_mark();
  return recorder_.WriteCopy("dump", false, path, size);
}

void Trace::NoteOutOfMemory() {
  constexpr uint64_t kPauseMs = 1000;
  if (state_.load(std::memory_order_acquire) != State::kOpen) return;
  // Without --trace-size, most traces contain all events and need no copy. So a copy is made only
  // if old events are about to be replaced by sums.
  if (!wants_copies_.load(std::memory_order_relaxed)) return recorder_.CopyBeforeSums();
  KeepErrno keep_errno;
  // A program that retries again and again must not cause a copy each time.
  const uint64_t now = NowMs();
  uint64_t last = copied_ms_.load(std::memory_order_relaxed);
  if ((last != 0 && now - last < kPauseMs) ||
      !copied_ms_.compare_exchange_strong(last, now, std::memory_order_relaxed)) {
    return;
  }
  callbacks_.before_mark();
  char path[PATH_MAX];
  const int error = recorder_.WriteCopy("oom", true, path, sizeof path);
  if (error == EEXIST) return;  // another thread makes the copy
  if (error != 0) {
    Log("memory ran out, but the newest events could not be copied (%s).", std::strerror(error));
    return;
  }
  if (last == 0) Log("memory ran out: the newest events were copied to %.300s.", path);
}

void Trace::Close() {
  block_names_.store(0, std::memory_order_relaxed);
  if (is_open()) callbacks_.before_mark();
  if (state_.exchange(State::kOff, std::memory_order_acq_rel) == State::kOpen) recorder_.Close();
}

// Resets the numbers, which are valid for one file only.
void Trace::ForgetNumbers() {
  described_devices_.store(0, std::memory_order_relaxed);
  copied_ms_.store(0, std::memory_order_relaxed);
  for (auto& time : sampled_ms_) time.store(0, std::memory_order_relaxed);
  for (auto& number : calls_) number.store(kUnknownName, std::memory_order_relaxed);
  tensor_.store(kUnknownName, std::memory_order_relaxed);
  block_names_.store(0, std::memory_order_relaxed);
  adopted_.store(kUnknownName, std::memory_order_relaxed);
  framework_library_.store(kUnknownName, std::memory_order_relaxed);
  observer_.store(kUnknownName, std::memory_order_relaxed);
  for (auto& number : libraries_) number.store(kUnknownName, std::memory_order_relaxed);
}

void Trace::AbandonAfterFork() {
  recorder_.AbandonAfterFork();
  early_marks_.AbandonAfterFork();
  state_.store(State::kClosed, std::memory_order_relaxed);
  ForgetNumbers();
}

}  // namespace vramstow
