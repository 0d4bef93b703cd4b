// Unpickle reads an untrusted Python pickle as plain data.
//
// Idea: numbers, texts, bytes, lists, tuples, dicts and sets become a PickleTree. Every opcode by
// which a pickle could name or build a Python object (globals, reduce, persistent ids, extension
// codes, out-of-band buffers, …) is refused; the sentence says what was requested, and at which
// byte. There is no recursion, every length is compared with the remaining bytes before it is used,
// and all memory that grows with the contents is booked against one budget.
//
// If the bytes end early or become invalid, the result contains what was readable before (see
// PickleTree::complete), and lists and dicts that were still open are closed. If nothing was
// readable, an error is returned.
//
// Ownership: the tree has pointers to `bytes`, which must outlive it. Threads: no shared state.
// Errors: kPermissionDenied if the pickle requests an object, kResourceExhausted if the budget is
// spent, kInvalidArgument if the bytes are not a pickle; each with one sentence that names the
// byte. Speed: reads the bytes once, some hundred MB/s. Units: bytes.
//
// Source of the format: Python's documentation of pickletools, PEP 307, PEP 3154, PEP 574.
#ifndef VRAMSTOW_TOOLS_FORMATS_UNPICKLER_H_
#define VRAMSTOW_TOOLS_FORMATS_UNPICKLER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/formats/pickle_value.h"

namespace vramstow {

struct PickleLimits {
  // The largest memory that the tree may use. The default 0 means 64 MiB plus eight times the bytes
  // that are read; a snapshot needs about twice its bytes.
  uint64_t max_memory_bytes = 0;
};

absl::StatusOr<PickleTree> Unpickle(std::string_view bytes, const PickleLimits& limits = {});

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_UNPICKLER_H_
