#include "interpose/core/record/nvtx.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {
namespace {

// NVTX calls our functions without a context argument, so they find the trace here.
constinit std::atomic<Trace*> the_trace{nullptr};

// The names and numbers below are those of NVIDIA's public headers (nvtx3/nvtxDetail/nvtxTypes.h).

using nvtx::ExportedCallbacks;
using nvtx::FunctionPlace;
using nvtx::Module;

enum CoreFunction : unsigned {
  kMarkEx = 1,
  kMarkA = 2,
  kRangeStartEx = 4,
  kRangeStartA = 5,
  kRangeEnd = 7,
  kRangePushEx = 8,
  kRangePushA = 9,
  kRangePop = 11,
};
enum Core2Function : unsigned {
  kDomainMarkEx = 1,
  kDomainRangeStartEx = 2,
  kDomainRangeEnd = 3,
  kDomainRangePushEx = 4,
  kDomainRangePop = 5,
  kDomainRegisterStringA = 10,
};

// Has the layout of nvtxEventAttributes_v2.
struct Attributes {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type;
  int32_t reserved;
  uint64_t payload;
  int32_t message_type;
  const void* message;
};
constexpr int32_t kAsciiMessage = 1;
constexpr int32_t kRegisteredMessage = 3;

// The object that nvtxDomainRegisterString returns. It lives as long as the process. Equal texts
// have the same object; long texts are cut.
enum class TextState : uint32_t { kEmpty, kBeingWritten, kReady };
struct RegisteredText {
  std::atomic<TextState> state{TextState::kEmpty};
  char text[116] = {};
};
// A hash table, in memory that is mapped for the first text. It has more slots than a trace has
// room for texts.
constexpr uint32_t kTextSlots = 65536;
constexpr uint32_t kTextLooks = 256;
constinit std::atomic<RegisteredText*> registered_texts{nullptr};
// The object of all texts that have no room.
constinit RegisteredText further_texts = {TextState::kReady, "(further texts)"};

// Returns the table, or null if there is no memory for it.
RegisteredText* RegisteredTexts() {
  RegisteredText* texts = registered_texts.load(std::memory_order_acquire);
  if (texts != nullptr) return texts;
  constexpr size_t kBytes = kTextSlots * sizeof(RegisteredText);
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const made = static_cast<RegisteredText*>(memory);
  if (registered_texts.compare_exchange_strong(texts, made, std::memory_order_acq_rel)) return made;
  munmap(memory, kBytes);
  return texts;
}

uint32_t FirstSlot(const char* text) {
  uint32_t hash = 0x811C9DC5;
  for (size_t i = 0; i < sizeof RegisteredText::text - 1 && text[i] != '\0'; ++i) {
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x01000193u;
  }
  return hash ^ hash >> 16;
}

// Returns the object of a text, or further_texts if there is no room for another text.
RegisteredText* Register(const char* text) {
  RegisteredText* const texts = RegisteredTexts();
  const uint32_t first = FirstSlot(text);
  for (uint32_t look = 0; texts != nullptr && look < kTextLooks; ++look) {
    RegisteredText& slot = texts[(first + look) % kTextSlots];
    TextState state = slot.state.load(std::memory_order_acquire);
    if (state == TextState::kEmpty &&
        slot.state.compare_exchange_strong(state, TextState::kBeingWritten,
                                           std::memory_order_acquire)) {
      std::strncpy(slot.text, text, sizeof slot.text - 1);
      slot.state.store(TextState::kReady, std::memory_order_release);
      return &slot;
    }
    // If another thread registers the same text now, it has two objects, which does no harm.
    const bool is_same =
        state == TextState::kReady && std::strncmp(slot.text, text, sizeof slot.text - 1) == 0;
    if (is_same) return &slot;
  }
  return &further_texts;
}

const char* TextOf(const Attributes* attributes) {
  if (attributes == nullptr || attributes->size < sizeof(Attributes)) return "(no text)";
  const auto* const text = static_cast<const char*>(attributes->message);
  if (text == nullptr) return "(no text)";
  if (attributes->message_type == kAsciiMessage) return text;
  if (attributes->message_type == kRegisteredMessage) {
    return static_cast<const RegisteredText*>(attributes->message)->text;
  }
  return "(no ASCII text)";
}

uint64_t Emit(MarkKind kind, const char* text, uint64_t number) {
  if (ShimOrNull() == nullptr) return 0;
  return the_trace.load(std::memory_order_acquire)
      ->Mark(kind, text == nullptr ? "(no text)" : text, number);
}

// The result of functions that should return the nesting depth of a thread's ranges. vramstow does
// not count that depth.
constexpr int kDepthIsNotKnown = 0;

void Mark(const char* text) { Emit(MarkKind::kMoment, text, 0); }
void MarkWith(const Attributes* attributes) { Mark(TextOf(attributes)); }
int Push(const char* text) {
  Emit(MarkKind::kRangeBegins, text, 0);
  return kDepthIsNotKnown;
}
int PushWith(const Attributes* attributes) { return Push(TextOf(attributes)); }
int Pop() {
  Emit(MarkKind::kRangeEnds, "", 0);
  return kDepthIsNotKnown;
}

// The identifier of a process-wide range contains the range's number and the number of its text.
constexpr unsigned kAnnotationShift = 32;
uint64_t Start(const char* text) {
  static constinit std::atomic<uint32_t> ranges{0};
  const uint64_t number = ranges.fetch_add(1, std::memory_order_relaxed) % 0xFFFFFFFF + 1;
  return Emit(MarkKind::kRangeBegins, text, number) << kAnnotationShift | number;
}
uint64_t StartWith(const Attributes* attributes) { return Start(TextOf(attributes)); }
void End(uint64_t range) {
  if (ShimOrNull() == nullptr) return;
  the_trace.load(std::memory_order_acquire)
      ->EndRange(range >> kAnnotationShift, static_cast<uint32_t>(range));
}

void DomainMark(void*, const Attributes* attributes) { MarkWith(attributes); }
uint64_t DomainStart(void*, const Attributes* attributes) { return StartWith(attributes); }
void DomainEnd(void*, uint64_t range) { End(range); }
int DomainPush(void*, const Attributes* attributes) { return PushWith(attributes); }
int DomainPop(void*) { return Pop(); }
void* DomainRegisterText(void*, const char* text) {
  if (text == nullptr) return nullptr;
  RegisteredText* const registered = Register(text);
  static constinit std::atomic<bool> is_described{false};
  if (registered == &further_texts && ShimOrNull() != nullptr &&
      !is_described.exchange(true, std::memory_order_relaxed)) {
    the_trace.load(std::memory_order_acquire)->Describe("nvtx.texts_full", "1");
  }
  return registered;
}

struct Replacement {
  unsigned number;
  void* function;
};

template <typename Function>
void* Address(Function* function) {
  return reinterpret_cast<void*>(function);
}

template <size_t kCount>
void Install(const ExportedCallbacks& callbacks, Module module,
             const Replacement (&replacements)[kCount]) {
  FunctionPlace* table = nullptr;
  unsigned count = 0;
  if (callbacks.table_of(module, &table, &count) == 0 || table == nullptr) return;
  for (const Replacement& replacement : replacements) {
    if (replacement.number < count && table[replacement.number] != nullptr) {
      *table[replacement.number] = replacement.function;
    }
  }
}

}  // namespace

bool InstallNvtxTool(nvtx::ExportTable export_table, Trace* trace) {
  if (export_table == nullptr) return false;
  const auto* callbacks =
      static_cast<const ExportedCallbacks*>(export_table(nvtx::kCallbacksTable));
  if (callbacks == nullptr || callbacks->size < sizeof(ExportedCallbacks)) return false;
  the_trace.store(trace, std::memory_order_release);
  const Replacement core[] = {
      {kMarkEx, Address(MarkWith)},        {kMarkA, Address(Mark)},
      {kRangeStartEx, Address(StartWith)}, {kRangeStartA, Address(Start)},
      {kRangeEnd, Address(End)},           {kRangePushEx, Address(PushWith)},
      {kRangePushA, Address(Push)},        {kRangePop, Address(Pop)},
  };
  const Replacement core2[] = {
      {kDomainMarkEx, Address(DomainMark)},  {kDomainRangeStartEx, Address(DomainStart)},
      {kDomainRangeEnd, Address(DomainEnd)}, {kDomainRangePushEx, Address(DomainPush)},
      {kDomainRangePop, Address(DomainPop)}, {kDomainRegisterStringA, Address(DomainRegisterText)},
  };
  Install(*callbacks, nvtx::kCore, core);
  Install(*callbacks, nvtx::kCore2, core2);
  return true;
}

}  // namespace vramstow
