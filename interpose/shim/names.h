// Finds the row of a hooked function by its symbol.
//
// Idea: the compiler sorts the tables' symbols, so a look-up is a binary search without any
// start-up work. Ownership: literals. Threads: constant data. Errors: kNotHooked. Units: rows of
// the table.
#ifndef VRAMSTOW_INTERPOSE_SHIM_NAMES_H_
#define VRAMSTOW_INTERPOSE_SHIM_NAMES_H_

#include "interpose/shim/text.h"

namespace vramstow {

inline constexpr const char* kHookSymbols[] = {
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, handler, parameters, arguments, what) \
#symbol,
#include "interpose/shim/hooks.def"
#define VRAMSTOW_LIBRARY_HOOK(symbol, ...) #symbol,
#include "interpose/shim/library_hooks.def"
};
inline constexpr unsigned kHookCount = sizeof kHookSymbols / sizeof kHookSymbols[0];
inline constexpr unsigned kNotHooked = ~0u;

// The number of rows of library_hooks.def. In the common numbering these rows follow those of
// hooks.def.
inline constexpr unsigned kLibraryHookCount = 0
#define VRAMSTOW_LIBRARY_HOOK(symbol, ...) +1
#include "interpose/shim/library_hooks.def"
    ;
inline constexpr unsigned kFirstLibraryHook = kHookCount - kLibraryHookCount;
inline constexpr const char* kHookLibraries[] = {
#define VRAMSTOW_LIBRARY_HOOK(symbol, version, library, ...) #library,
#include "interpose/shim/library_hooks.def"
};
enum class HookGroup : unsigned char { registration, collective };
inline constexpr HookGroup kHookGroups[] = {
#define VRAMSTOW_LIBRARY_HOOK(symbol, version, library, group, ...) HookGroup::group,
#include "interpose/shim/library_hooks.def"
};

// The numbers of the table's rows, sorted by their symbols.
struct SortedHooks {
  unsigned short rows[kHookCount];
};

constexpr SortedHooks SortHooks() {
  SortedHooks sorted = {};
  for (unsigned row = 0; row < kHookCount; ++row) {
    unsigned place = row;
    for (; place > 0; --place) {
      const unsigned short before = sorted.rows[place - 1];
      if (CompareText(kHookSymbols[before], kHookSymbols[row]) < 0) break;
      sorted.rows[place] = before;
    }
    sorted.rows[place] = static_cast<unsigned short>(row);
  }
  return sorted;
}

inline constexpr SortedHooks kSortedHooks = SortHooks();

// Returns false for most names that are not hooked. It tests only the first characters. A name of
// the driver begins with "cu" and a capital letter, and the names of the other libraries have
// prefixes, too.
inline bool MayBeHooked(const char* symbol) {
  switch (symbol[0]) {
    case 'c':
      return symbol[1] == 'u' && symbol[2] >= 'A' && symbol[2] <= 'Z';
    case 'i':
      return StartsWith(symbol, "ibv_");
    case 'n':
      return StartsWith(symbol, "nccl");
    default:
      return false;
  }
}

// Returns the row of an exported symbol, or kNotHooked.
inline unsigned FindHook(const char* symbol) {
  if (!MayBeHooked(symbol)) return kNotHooked;
  unsigned first = 0;
  unsigned last = kHookCount;
  while (first < last) {
    const unsigned middle = first + (last - first) / 2;
    const unsigned row = kSortedHooks.rows[middle];
    const int order = CompareText(symbol, kHookSymbols[row]);
    if (order == 0) return row;
    if (order < 0) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return kNotHooked;
}

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_SHIM_NAMES_H_
