// Amount: a number of bytes in a number of blocks.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_AMOUNT_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_AMOUNT_H_

#include <cstdint>

namespace vramstow {

struct Amount {
  uint64_t bytes = 0;
  uint64_t blocks = 0;
  bool operator==(const Amount&) const = default;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_AMOUNT_H_
