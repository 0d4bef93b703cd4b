#include "tracer/capture/native_stack.h"

namespace vramstow {

uint64_t UnwindTable::Fill(Entry* entry, uintptr_t address, bool is_exact, uint64_t key) {
  const uint64_t word = FindUnwindRule(is_exact ? address : address - 1).Pack();
  entry->word.store(word, std::memory_order_relaxed);
  entry->check.store(word ^ key, std::memory_order_relaxed);
  return word;
}

void UnwindTable::Clear() {
  for (Entry& entry : entries_) {
    // Both zero would be the rule for address 0: nobody asks for it.
    entry.check.store(0, std::memory_order_relaxed);
    entry.word.store(0, std::memory_order_relaxed);
  }
}

// The kernel has put all registers on the stack: struct rt_sigframe of its sources, described in
// signal.h and sys/ucontext.h.
bool NativeWalk::LookBehindSignal() {
#if defined(__x86_64__)
  // At the instruction that returns from the handler the stack pointer is at the ucontext_t.
  constexpr uintptr_t kGeneral = 40;
  const uintptr_t frame_at = place_.stack + kGeneral + 8 * 10;
  const uintptr_t stack_at = place_.stack + kGeneral + 8 * 15;
  const uintptr_t address_at = place_.stack + kGeneral + 8 * 16;
#else
  // A siginfo_t (128 bytes), then the ucontext_t; in it the registers x0 to x30, sp and pc.
  constexpr uintptr_t kGeneral = 128 + 176 + 8;
  const uintptr_t frame_at = place_.stack + kGeneral + 8 * 29;
  const uintptr_t stack_at = place_.stack + kGeneral + 8 * 31;
  const uintptr_t address_at = place_.stack + kGeneral + 8 * 32;
#endif
  caller_.link = 0;
  if (!Load(frame_at, &caller_.frame) || !Load(stack_at, &caller_.stack) ||
      !Load(address_at, &caller_.address)) {
    return false;
  }
#if !defined(__x86_64__)
  if (!Load(place_.stack + kGeneral + 8 * 30, &caller_.link)) return false;
#endif
  frame_end_ = place_.stack;
  // The handler may have had a stack of its own.
  if (!bounds_->Has(caller_.stack)) bounds_->Find(caller_.stack);
  caller_is_exact_ = true;
  return caller_.address > 4096;
}

}  // namespace vramstow
