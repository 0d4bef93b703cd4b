#include "tracer/capture/unwind_library.h"

#include <dlfcn.h>
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <atomic>

#include "tracer/capture/native_stack.h"

// libunwind.h renames all functions for the processor. This macro yields the renamed name as a
// text.
#define VRAMSTOW_TEXT_OF(name) #name
#define VRAMSTOW_EXPANDED_TEXT_OF(name) VRAMSTOW_TEXT_OF(name)
#define VRAMSTOW_LOCAL_NAME(function) VRAMSTOW_EXPANDED_TEXT_OF(UNW_OBJ(function))
#define VRAMSTOW_COMMON_NAME(function) VRAMSTOW_EXPANDED_TEXT_OF(UNW_ARCH_OBJ(function))

namespace vramstow {
namespace {

constinit UnwindLibrary g_library;
// The opened library; null until it can be used.
constinit std::atomic<const UnwindLibrary*> g_opened{nullptr};
constinit std::atomic<bool> g_is_tried{false};

#if defined(__x86_64__)
constexpr int kFrameRegister = UNW_X86_64_RBP;
#elif defined(__aarch64__)
constexpr int kFrameRegister = UNW_AARCH64_X29;
#endif

template <typename Function>
bool FindFunction(void* handle, UnwindLibrary::FindFunction find, const char* name,
                  Function* function) {
  *function = reinterpret_cast<Function>(find(handle, name));
  return *function != nullptr;
}

}  // namespace

bool UnwindLibrary::Load(void* handle, FindFunction find) {
#if defined(__x86_64__)
  // libunwind has a function getcontext only on x86-64. On other processors it is a macro that
  // consists of instructions.
  if (!vramstow::FindFunction(handle, find, VRAMSTOW_COMMON_NAME(getcontext), &get_context_))
    return false;
#endif
  space_ = static_cast<void**>(find(handle, VRAMSTOW_LOCAL_NAME(local_addr_space)));
  return space_ != nullptr &&
         vramstow::FindFunction(handle, find, VRAMSTOW_LOCAL_NAME(init_local2), &begin_) &&
         vramstow::FindFunction(handle, find, VRAMSTOW_LOCAL_NAME(step), &step_) &&
         vramstow::FindFunction(handle, find, VRAMSTOW_LOCAL_NAME(get_reg), &get_register_) &&
         vramstow::FindFunction(handle, find, "unw_backtrace", &backtrace_) &&
         vramstow::FindFunction(handle, find, VRAMSTOW_COMMON_NAME(flush_cache), &flush_);
}

bool UnwindLibrary::Open(const char* path, OpenFunction open, FindFunction find) {
  if (g_is_tried.exchange(true, std::memory_order_acq_rel)) return Opened() != nullptr;
  void* const handle = open(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    dlerror();  // clears an error of our own calls
    return false;
  }
  if (!g_library.Load(handle, find)) return false;
  // The first walk makes libunwind do its one-time initialisation now.
  uintptr_t addresses[4];
  if (g_library.Walk(addresses, 4) == 0) return false;
  g_opened.store(&g_library, std::memory_order_release);
  return true;
}

const UnwindLibrary* UnwindLibrary::Opened() { return g_opened.load(std::memory_order_acquire); }

// This is a macro, because it must read the registers of the function in which it is expanded.
#if defined(__x86_64__)
#define VRAMSTOW_GET_CONTEXT(context) get_context_(context)
#else
#define VRAMSTOW_GET_CONTEXT(context) unw_getcontext(context)
#endif

bool UnwindLibrary::StepOver(const FramePlace& frame, FramePlace* caller) const {
  unw_context_t context;
  unw_cursor_t cursor;
  if (VRAMSTOW_GET_CONTEXT(&context) != 0 || begin_(&cursor, &context, 0) != 0) return false;
  uintptr_t stack = 0;
  for (size_t i = 0; i < kMaxStackFrames && stack < frame.stack; ++i) {
    if (step_(&cursor) <= 0 || get_register_(&cursor, UNW_REG_SP, &stack) != 0) return false;
  }
  uintptr_t address = 0;
  if (stack != frame.stack || get_register_(&cursor, UNW_REG_IP, &address) != 0) return false;
  if (address != frame.address || step_(&cursor) <= 0) return false;
  caller->link = 0;
  return get_register_(&cursor, UNW_REG_IP, &caller->address) == 0 &&
         get_register_(&cursor, UNW_REG_SP, &caller->stack) == 0 &&
         get_register_(&cursor, kFrameRegister, &caller->frame) == 0;
}

__attribute__((noinline)) size_t UnwindLibrary::Walk(uintptr_t* addresses, size_t max) const {
  unw_context_t context;
  unw_cursor_t cursor;
  if (VRAMSTOW_GET_CONTEXT(&context) != 0 || begin_(&cursor, &context, 0) != 0) return 0;
  size_t count = 0;
  while (count < max && step_(&cursor) > 0) {
    if (get_register_(&cursor, UNW_REG_IP, &addresses[count]) != 0 || addresses[count] == 0) break;
    ++count;
  }
  return count;
}

size_t UnwindLibrary::WalkQuickly(uintptr_t* addresses, size_t max) const {
  const int count = backtrace_(reinterpret_cast<void**>(addresses), static_cast<int>(max));
  return count < 0 ? 0 : static_cast<size_t>(count);
}

void UnwindLibrary::ForgetCode() const { flush_(*space_, 0, 0); }

}  // namespace vramstow
