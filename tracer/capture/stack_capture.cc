#include "tracer/capture/stack_capture.h"

namespace vramstow {

uint64_t StackCapture::Capture(StackScratch* scratch, const FramePlace& here) {
  size_t segment_count = 0;
  if (python_.state() == PythonRuntime::State::kUsable) {
    segment_count =
        python_.Collect(scratch->python, kMaxStackFrames, scratch->segments, kMaxPythonSegments);
  }
  scratch->count = Merge(scratch, here, segment_count);
  uint64_t hash = generation_.load(std::memory_order_relaxed) + scratch->count;
  for (size_t i = 0; i < scratch->count; ++i) {
    const StackFrame& frame = scratch->frames[i];
    hash = MixInto(hash, frame.fingerprint + frame.instruction);
  }
  return hash | 1;
}

size_t StackCapture::Merge(StackScratch* scratch, const FramePlace& here, size_t segment_count) {
  StackFrame* out = scratch->frames;
  StackFrame* const end = scratch->frames + kMaxStackFrames;
  size_t segment = 0;
  size_t python = 0;  // frames that were taken
  const auto take_segment = [&] {
    const size_t until = scratch->segments[segment++].end;
    while (python < until && out < end) *out++ = scratch->python[python++];
  };
  NativeWalk walk(&rules_, &scratch->bounds, here);
  uintptr_t begin = here.stack;
  bool has_caller = true;
  while (has_caller && out < end) {
    const uintptr_t address = walk.address();
    has_caller = walk.Look();
    const uintptr_t frame_bytes = has_caller ? walk.frame_end() - begin : 0;
    if (segment < segment_count && scratch->segments[segment].marker - begin < frame_bytes) {
      take_segment();
    } else {
      *out++ = {address, address, 0, StackFrame::kNative};
    }
    if (!has_caller) break;
    walk.Step();
    begin = walk.stack();
  }
  // Nothing is known about the code that called this: what it was called by, still is.
  while (segment < segment_count && out < end) take_segment();
  scratch->is_cut = has_caller || segment < segment_count;
  return static_cast<size_t>(out - scratch->frames);
}

bool StackCapture::Refresh() {
  const LibraryCounts now = CountLibraries();
  const bool is_new = now.loaded != libraries_.loaded;
  const bool is_less = now.unloaded != libraries_.unloaded;
  libraries_ = now;
  bool changed = false;
  if (is_less) {
    rules_.Clear();
    changed = true;
  }
  if (is_new) python_.Find();
  if (python_.state() == PythonRuntime::State::kUnchecked) {
    python_.Check();
    changed = changed || python_.state() == PythonRuntime::State::kUsable;
  }
  // An odd number: the hash that begins with it differs in all bits.
  if (changed) generation_.fetch_add(0x9E3779B97F4A7C15u, std::memory_order_relaxed);
  return changed;
}

}  // namespace vramstow
