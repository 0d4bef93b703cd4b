#include "tracer/capture/native_stack.h"

#include "tracer/capture/unwind_library.h"

namespace vramstow {

uint64_t UnwindTable::Fill(Entry* entry, uintptr_t address, bool is_exact, CaptureMode mode,
                           uint64_t key) {
  const uint64_t word = FindUnwindRule(is_exact ? address : address - 1, mode).Pack();
  // If a quiet search (one that must not call the dynamic linker) finds no rule, that result is not
  // stored. A later search that may call the dynamic linker can still find a rule.
  if (word == 0 && mode == CaptureMode::kQuiet) return word;
  entry->word.store(word, std::memory_order_relaxed);
  entry->check.store(word ^ key, std::memory_order_relaxed);
  return word;
}

void UnwindTable::Clear() {
  for (Entry& entry : entries_) {
    // Two zeros stand for the rule of address 0, which is never looked up.
    entry.check.store(0, std::memory_order_relaxed);
    entry.word.store(0, std::memory_order_relaxed);
  }
}

namespace {

uintptr_t Plus(uintptr_t address, int32_t offset) {
  return address + static_cast<uintptr_t>(intptr_t{offset});
}

// No code lies below this address.
constexpr uintptr_t kLeastAddress = 4096;

}  // namespace

bool NativeStack::Step(UnwindTable* table, bool is_exact, NativeFrame* frame, FramePlace* caller,
                       bool* caller_is_exact) {
  const FramePlace& place = frame->place;
  frame->return_slot = frame->frame_slot = 0;
  const UnwindRule rule = UnwindRule::Unpack(table->Find(place.address, is_exact, mode_));
  uintptr_t end;
  switch (rule.kind) {
    case UnwindRule::kFromStack:
      end = Plus(place.stack, rule.cfa_offset);
      break;
    case UnwindRule::kFromFrame:
      end = Plus(place.frame, rule.cfa_offset);
      break;
    case UnwindRule::kRealigned:
      // The address of the frame's end was itself read from the stack. The stored walk could not
      // detect that this word changes, so it cannot be reused for such a frame.
      is_unrepeatable_ = true;
      if (!Load(Plus(place.frame, rule.cfa_offset), &end)) return false;
      break;
    case UnwindRule::kSignal:
      *caller_is_exact = true;
      return StepBehindSignal(frame, caller);
    case UnwindRule::kOther:
      *caller_is_exact = false;
      return StepByLibrary(frame, caller);
    case UnwindRule::kOutermost:
      return false;
    default:
      if (mode_ == CaptureMode::kQuiet) is_unrepeatable_ = true;
      return false;
  }
  // A caller's frame lies at a higher address. A function without a frame of its own (arm64) does
  // not move the stack pointer.
  const bool has_link = rule.return_offset == 0 && place.link != 0;
  if (end < place.stack || (end == place.stack && !has_link)) return false;
  frame->end = end;
  *caller = {0, end, place.frame};
  if (rule.kind == UnwindRule::kRealigned) {
    frame->frame_slot = place.frame;
  } else if (rule.frame_offset != 0) {
    frame->frame_slot = Plus(end, rule.frame_offset);
  }
  if (frame->frame_slot != 0 && !Load(frame->frame_slot, &caller->frame)) return false;
  if (has_link) {
    is_unrepeatable_ = true;  // a register cannot be compared later
    caller->address = place.link;
  } else {
    if (!Load(Plus(end, rule.return_offset), &caller->address)) return false;
    frame->return_slot = Plus(end, rule.return_offset);
  }
#if defined(__aarch64__)
  // Removes the pointer-authentication signature, which the processor may have put into the upper
  // bits.
  caller->address &= (uintptr_t{1} << 48) - 1;
#endif
  *caller_is_exact = false;
  return caller->address > kLeastAddress;
}

// Lets libunwind step over a frame. libunwind starts at this function and restores all registers,
// which takes some hundred times as long as a step by a rule.
bool NativeStack::StepByLibrary(NativeFrame* frame, FramePlace* caller) {
  is_unrepeatable_ = true;
  if (mode_ == CaptureMode::kQuiet) return false;
  const UnwindLibrary* const library = UnwindLibrary::Opened();
  if (library == nullptr || !library->StepOver(frame->place, caller)) return false;
  frame->end = caller->stack;
  return caller->stack > frame->place.stack && bounds_.Has(caller->stack) &&
         caller->address > kLeastAddress;
}

// Steps over a signal frame, in which the kernel has stored all registers: struct rt_sigframe of
// its sources, described in signal.h and sys/ucontext.h.
bool NativeStack::StepBehindSignal(NativeFrame* frame, FramePlace* caller) {
  is_unrepeatable_ = true;
  const FramePlace& place = frame->place;
#if defined(__x86_64__)
  // At the instruction that returns from the handler the stack pointer points to the ucontext_t.
  constexpr uintptr_t kGeneral = 40;
  const uintptr_t frame_at = place.stack + kGeneral + 8 * 10;
  const uintptr_t stack_at = place.stack + kGeneral + 8 * 15;
  const uintptr_t address_at = place.stack + kGeneral + 8 * 16;
#else
  // The frame is a siginfo_t (128 bytes), then the ucontext_t, which contains the registers x0 to
  // x30, sp and pc.
  constexpr uintptr_t kGeneral = 128 + 176 + 8;
  const uintptr_t frame_at = place.stack + kGeneral + 8 * 29;
  const uintptr_t stack_at = place.stack + kGeneral + 8 * 31;
  const uintptr_t address_at = place.stack + kGeneral + 8 * 32;
#endif
  caller->link = 0;
  if (!Load(frame_at, &caller->frame) || !Load(stack_at, &caller->stack) ||
      !Load(address_at, &caller->address)) {
    return false;
  }
#if !defined(__x86_64__)
  if (!Load(place.stack + kGeneral + 8 * 30, &caller->link)) return false;
#endif
  frame->end = place.stack;
  // The handler may have run on a separate stack.
  if (!bounds_.Has(caller->stack)) bounds_.Find(caller->stack);
  return caller->address > kLeastAddress;
}

// True if the words that were read for the frames from number `from` on are unchanged. All of these
// words lie above the stack pointer, on this thread's stack.
bool NativeStack::IsStillTrue(size_t from) const {
  uintptr_t changed = 0;
  for (size_t i = from; i + 1 < kMaxStackFrames; ++i) {
    const NativeFrame& frame = frames_[i];
    const FramePlace& caller = frames_[i + 1].place;
    changed |= WordAt(frame.return_slot) ^ caller.address;
    const uintptr_t saved =
        frame.frame_slot != 0 ? frame.frame_slot : reinterpret_cast<uintptr_t>(&frame.place.frame);
    changed |= WordAt(saved) ^ caller.frame;
  }
  return changed == 0;
}

void NativeStack::Walk(UnwindTable* table, const FramePlace& start, uint64_t epoch,
                       CaptureMode mode) {
  mode_ = mode;
  if (epoch != epoch_) is_known_ = false;
  if (!bounds_.Has(start.stack)) {
    bounds_.Find(start.stack);
    is_known_ = false;
  }
  is_unrepeatable_ = is_cut_ = false;
  size_t known = is_known_ ? begin_ : kMaxStackFrames;
  size_t fresh = 0;
  FramePlace place = start;
  bool is_exact = true;
  for (;;) {
    // Skips stored frames below this one; frames of callers lie at higher addresses.
    while (known < kMaxStackFrames && frames_[known].place.stack < place.stack) ++known;
    if (known < kMaxStackFrames && !is_exact) {
      const FramePlace& there = frames_[known].place;
      const bool is_same = there.stack == place.stack && there.address == place.address &&
                           there.frame == place.frame;
      if (is_same && IsStillTrue(known)) return Join(fresh, known, epoch);
    }
    if (fresh == kMaxStackFrames) {
      is_cut_ = true;
      return Join(fresh, kMaxStackFrames, epoch);
    }
    NativeFrame& frame = fresh_[fresh++];
    frame.place = place;
    if (!Step(table, is_exact, &frame, &place, &is_exact)) {
      frame.return_slot = frame.frame_slot = 0;
      frame.end = 0;
      return Join(fresh, kMaxStackFrames, epoch);
    }
  }
}

// Stores the frames of this walk before the older frames that are still valid.
void NativeStack::Join(size_t fresh, size_t known, uint64_t epoch) {
  if (fresh > known) {
    // If there are more frames than fit, the outermost ones are dropped.
    is_cut_ = true;
    known = kMaxStackFrames;
  }
  uint64_t hash = known < kMaxStackFrames ? frames_[known].hash : 0;
  begin_ = known;
  for (size_t i = fresh; i > 0; --i) {
    NativeFrame& to = frames_[--begin_];
    to = fresh_[i - 1];
    to.hash = hash = MixInto(hash, to.place.address);
  }
  epoch_ = epoch;
  is_known_ = !is_unrepeatable_ && !is_cut_;
}

}  // namespace vramstow
