// The wrappers of functions of other libraries: several for each row of library_hooks.def.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "interpose/core/handlers/collectives.h"
#include "interpose/core/handlers/library_call.h"
#include "interpose/core/handlers/registrations.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/settings.h"

namespace vramstow {
namespace {

enum class Row : uint8_t {
#define VRAMSTOW_LIBRARY_HOOK(symbol, ...) k##symbol,
#include "interpose/shim/library_hooks.def"
  kCount,
};
constexpr size_t kRows = static_cast<size_t>(Row::kCount);

enum class Group : uint8_t { registration, collective };
constexpr Group kGroups[] = {
#define VRAMSTOW_LIBRARY_HOOK(symbol, version, library, group, ...) Group::group,
#include "interpose/shim/library_hooks.def"
};

// The number of wrappers for each row: at most so many copies and versions of a function can be
// wrapped in a process.
constexpr size_t kPlaces = 8;
using Wrappers = std::array<void*, kPlaces>;
constinit std::atomic<void*> real_functions[kRows][kPlaces] = {};

void* RealOf(Row row, size_t place) {
  return real_functions[static_cast<size_t>(row)][place].load(std::memory_order_acquire);
}

#define VRAMSTOW_BEHIND_OTHERS(...) __VA_OPT__(, ) __VA_ARGS__
#define VRAMSTOW_LIBRARY_HOOK(symbol, version, library, group, result, absent, function,           \
                              parameters, arguments, what)                                         \
  template <size_t kPlace>                                                                         \
  result Enter_##symbol parameters {                                                               \
    const LibraryCall<result(*) parameters> call(handler_context, RealOf(Row::k##symbol, kPlace)); \
    if (!call.active()) return call.Forward arguments;                                             \
    return handlers::function(call VRAMSTOW_BEHIND_OTHERS arguments);                              \
  }                                                                                                \
  template <size_t... kPlaceOf>                                                                    \
  Wrappers WrappersOf_##symbol(std::index_sequence<kPlaceOf...>) {                                 \
    return {reinterpret_cast<void*>(Enter_##symbol<kPlaceOf>)...};                                 \
  }
#include "interpose/shim/library_hooks.def"

Wrappers WrappersOf(Row row) {
  constexpr auto kAll = std::make_index_sequence<kPlaces>();
  switch (row) {
#define VRAMSTOW_LIBRARY_HOOK(symbol, ...) \
  case Row::k##symbol:                     \
    return WrappersOf_##symbol(kAll);
#include "interpose/shim/library_hooks.def"
    case Row::kCount:
      break;
  }
  return {};
}

// True if the row is hooked. Collectives are hooked only if memory may move.
bool IsWanted(unsigned row, const Options& options) {
  return kGroups[row] == Group::collective ? WantsOffload(options) : WantsPool(options);
}

}  // namespace

void* ReplaceInLibrary(unsigned row, void* real) {
  Process& process = handler_context.process;
  if (row >= kRows || !process.Start() || !IsWanted(row, process.options())) return real;
  for (size_t place = 0; place < kPlaces; ++place) {
    void* found = nullptr;
    std::atomic<void*>& known = real_functions[row][place];
    if (!known.compare_exchange_strong(found, real, std::memory_order_acq_rel) && found != real) {
      continue;
    }
    return WrappersOf(static_cast<Row>(row))[place];
  }
  static constinit std::atomic<bool> logged{false};
  if (!logged.exchange(true, std::memory_order_relaxed)) {
    Log("the process uses more copies of a library that registers memory than vramstow can follow: "
        "memory of the pool that the last copies register may move, and memory that they use "
        "counts as idle.");
  }
  return real;
}

}  // namespace vramstow
