// Reads minimalloc's problems: buffers with a size and a span of life, without addresses.
//
// Ownership: a value. Threads: no shared state. Errors: kInvalidArgument, with the line: such a
// file is used as a whole or not at all. Units: `lower`, `upper` are moments, upper exclusive;
// sizes have the file's unit. Source of the format: minimalloc's README: `id,lower,upper,size` and
// optional columns.
#ifndef VRAMSTOW_TOOLS_FORMATS_MINIMALLOC_H_
#define VRAMSTOW_TOOLS_FORMATS_MINIMALLOC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/formats/event_list.h"
#include "tools/formats/input.h"

namespace vramstow {

struct MinimallocBuffer {
  std::string id;
  int64_t lower = 0;
  int64_t upper = 0;  // the first moment at which it is gone
  uint64_t size = 0;
  std::optional<uint64_t> offset;  // of a solved problem
};

absl::StatusOr<std::vector<MinimallocBuffer>> ReadMinimalloc(const Input& input);

// The most that is live at a moment: no packing needs less.
uint64_t MaximumLoad(const std::vector<MinimallocBuffer>& buffers);

// Allocations and frees in order of time, frees first where both happen at once. `address` is the
// offset where the file has one; else the buffers' numbers from 1, because an event needs one.
EventList MinimallocEvents(const std::vector<MinimallocBuffer>& buffers);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_MINIMALLOC_H_
