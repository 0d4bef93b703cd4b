// CardEvidence has what a memory snapshot reveals about the GPU on which it was made.
//
// Idea: a snapshot does not name its GPU. It shows how much memory was reserved, how much was free
// when memory ran out, and the size of cuBLAS's workspace, which depends on the GPU's generation.
//
// Ownership: copies. Threads: no shared state. Errors: one sentence that names the file. Units:
// bytes.
#ifndef VRAMSTOW_TOOLS_INPUTS_CARD_EVIDENCE_H_
#define VRAMSTOW_TOOLS_INPUTS_CARD_EVIDENCE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace vramstow {

struct CardEvidence {
  uint64_t held_bytes = 0;  // the most reserved bytes
  // Bytes that were free, and bytes that were reserved, on the device when memory ran out. Both are
  // 0 if memory never ran out.
  uint64_t free_bytes = 0;
  uint64_t held_then_bytes = 0;
  bool has_workspace = false;        // of cuBLAS
  bool has_large_workspace = false;  // as on compute capability 9.0
};

absl::StatusOr<CardEvidence> ReadCardEvidence(const std::string& snapshot);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_CARD_EVIDENCE_H_
