// CardEvidence: what a memory snapshot tells of the card that it was made on.
//
// Idea: a snapshot does not name its card. It tells how much memory was held, how much was free
// when memory ran out, and how large cuBLAS's workspace is, which depends on the card's generation.
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
  uint64_t held_bytes = 0;  // the most that was reserved
  // Free on the device when memory ran out, and what was reserved then; 0: it never did.
  uint64_t free_bytes = 0;
  uint64_t held_then_bytes = 0;
  bool has_workspace = false;        // of cuBLAS
  bool has_large_workspace = false;  // as compute capability 9.0 has it
};

absl::StatusOr<CardEvidence> ReadCardEvidence(const std::string& snapshot);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_CARD_EVIDENCE_H_
