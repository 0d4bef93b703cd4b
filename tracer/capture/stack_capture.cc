#include "tracer/capture/stack_capture.h"

#include "tracer/capture/unwind_library.h"

namespace vramstow {
namespace {

// Hashes Python frames by four independent hashes, which the processor can compute in parallel.
uint64_t HashOf(const StackFrame* frames, size_t count) {
  uint64_t rows[4] = {1, 2, 3, 4};
  for (size_t i = 0; i < count; ++i) {
    uint64_t& row = rows[i % 4];
    row = (row ^ (frames[i].fingerprint + frames[i].instruction)) * 0x9E3779B97F4A7C15u;
  }
  return MixInto(MixInto(rows[0], rows[1]), MixInto(rows[2], rows[3]));
}

}  // namespace

// Called unless addresses are trusted already.
__attribute__((noinline)) bool FrameTrust::Reconsider(uint64_t gone) {
  if (gone == 0) return false;  // nothing is counted
  if (gone != gone_) {
    gone_ = gone;
    pause_ = pause_ == 0 ? kFirstRest : rest_ == 0 && pause_ < kLongestRest ? pause_ * 2 : pause_;
    rest_ = pause_;
  }
  if (rest_ == 0) {
    trusted_inverse_ = ~gone;
    return true;
  }
  --rest_;
  return false;
}

uint64_t StackCapture::Capture(StackScratch* scratch, const FramePlace& here, CaptureMode mode) {
  const uint64_t generation = generation_.load(std::memory_order_relaxed);
  scratch->segment_count = 0;
  scratch->python_count = 0;
  uint64_t hash = generation;
  if (python_.state() == PythonRuntime::State::kUsable) {
    const size_t segments =
        python_.Collect(scratch->python, kMaxStackFrames, scratch->segments, kMaxPythonSegments);
    scratch->segment_count = segments;
    if (segments != 0) {
      scratch->python_count = scratch->segments[segments - 1].end;
      hash = MixInto(hash, HashOf(scratch->python, scratch->python_count) + segments);
    }
  }
  scratch->native.Walk(&rules_, here, generation, mode);
  return MixInto(hash, scratch->native.frames()[0].hash + scratch->native.count()) | 1;
}

void StackCapture::Remember(StackScratch* scratch, const StackMemo::Key& key, uint32_t number) {
  const uintptr_t marker = scratch->segment_count != 0 ? scratch->segments[0].marker : 0;
  scratch->memo.Remember(key, scratch->native, &rules_, marker, number);
}

void StackCapture::Merge(StackScratch* scratch) {
  StackFrame* out = scratch->frames;
  StackFrame* const end = scratch->frames + kMaxStackFrames;
  size_t segment = 0;
  size_t python = 0;  // frames that were taken
  const auto take_segment = [&] {
    const size_t until = scratch->segments[segment++].end;
    while (python < until && out < end) *out++ = scratch->python[python++];
  };
  const NativeFrame* const native = scratch->native.frames();
  const size_t native_count = scratch->native.count();
  size_t taken = 0;
  for (; taken < native_count && out < end; ++taken) {
    const NativeFrame& frame = native[taken];
    const uintptr_t begin = frame.place.stack;
    const uintptr_t bytes = frame.end == 0 ? 0 : frame.end - begin;
    if (segment < scratch->segment_count && scratch->segments[segment].marker - begin < bytes) {
      take_segment();
    } else {
      *out++ = {frame.place.address, frame.place.address, 0, StackFrame::kNative};
    }
  }
  // The native walk may have ended at unknown code. The Python frames further out are still added.
  while (segment < scratch->segment_count && out < end) take_segment();
  scratch->is_cut = scratch->native.is_cut() || taken < native_count ||
                    segment < scratch->segment_count || python < scratch->python_count;
  scratch->count = static_cast<size_t>(out - scratch->frames);
}

void StackCapture::Forget() {
  rules_.Clear();
  BeginGeneration();
}

// Begins a new generation of hashes, in which every stack has another hash. All hashes begin with
// the generation. An odd constant is added to it, so that every bit of the hashes is likely to
// change.
void StackCapture::BeginGeneration() {
  generation_.fetch_add(0x9E3779B97F4A7C15u, std::memory_order_relaxed);
}

bool StackCapture::Refresh() {
  if (is_refreshing_.exchange(true, std::memory_order_acquire)) return false;
  const LibraryCounts now = CountLibraries();
  const bool is_new = now.loaded != libraries_.loaded;
  const bool is_less = now.unloaded != libraries_.unloaded;
  libraries_ = now;
  bool changed = false;
  if (is_less) {
    rules_.Clear();
    if (const UnwindLibrary* const library = UnwindLibrary::Opened()) library->ForgetCode();
    changed = true;
  }
  if (is_new) {
    python_.Find();
    FindRegisteredCode();
  }
  if (python_.state() == PythonRuntime::State::kUnchecked) {
    python_.Check();
    changed = changed || python_.state() == PythonRuntime::State::kUsable;
  }
  if (changed) BeginGeneration();
  is_refreshing_.store(false, std::memory_order_release);
  return changed;
}

}  // namespace vramstow
