// The names of the functions that the shim hooks.
//
// Idea: the compiler sorts the table's symbols, so a look-up is a binary search without any
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
};
inline constexpr unsigned kHookCount = sizeof kHookSymbols / sizeof kHookSymbols[0];
inline constexpr unsigned kNotHooked = ~0u;

// The rows of the table in the order of their symbols.
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

// The row of an exported symbol, or kNotHooked. The first three characters are enough to refuse a
// name that does not begin like the driver's ("cu" and a capital).
inline unsigned FindHook(const char* symbol) {
  if (symbol[0] != 'c' || symbol[1] != 'u' || symbol[2] < 'A' || symbol[2] > 'Z') {
    return kNotHooked;
  }
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
