// Unpickle: reads a Python pickle that may come from a stranger, as data and nothing else.
//
// Idea: numbers, texts, bytes, lists, tuples, dicts and sets become a PickleTree. Everything by
// which a pickle could name or build an object of Python (globals, reduce, persistent ids,
// extension codes, out-of-band buffers, …) is refused: the sentence says what was asked for and at
// which byte. There is no recursion, no length is believed before it was compared with what is left
// of the bytes, and all memory that grows with the contents is booked against one budget.
//
// Bytes that end early or turn into nonsense give what was readable before that (see
// PickleTree::complete), provided that it is something: lists and dicts that were still open are
// closed.
//
// Ownership: the tree keeps pointers to `bytes`, which must outlive it. Threads: no shared state.
// Errors: kPermissionDenied where an object was asked for, kResourceExhausted where the budget is
// spent, kInvalidArgument for what is no pickle; each with one sentence that names the byte.
// Speed: one pass, some hundred MB/s. Units: bytes.
// Source of the format: Python's documentation of pickletools, PEP 307, PEP 3154, PEP 574.
#ifndef VRAMSTOW_TOOLS_FORMATS_UNPICKLER_H_
#define VRAMSTOW_TOOLS_FORMATS_UNPICKLER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/formats/pickle_value.h"

namespace vramstow {

struct PickleLimits {
  // What the tree may cost; 0: 64 MiB and eight times the bytes read. A snapshot costs about two
  // times its bytes.
  uint64_t max_memory_bytes = 0;
};

absl::StatusOr<PickleTree> Unpickle(std::string_view bytes, const PickleLimits& limits = {});

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_UNPICKLER_H_
