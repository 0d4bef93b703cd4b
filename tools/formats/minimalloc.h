// Reads minimalloc's problems: buffers with a size and a lifetime, without addresses.
//
// Ownership: a value. Threads: no shared state. Errors: kInvalidArgument, with the line, for the
// whole file if any line is wrong. Units: `lower` and `upper` are moments, `upper` is exclusive;
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
  int64_t upper = 0;  // the first moment at which it is free
  uint64_t size = 0;
  std::optional<uint64_t> offset;  // only in a solved problem
};

absl::StatusOr<std::vector<MinimallocBuffer>> ReadMinimalloc(const Input& input);

// Returns the largest sum of the sizes that are live at one moment. No packing needs less memory.
uint64_t MaximumLoad(const std::vector<MinimallocBuffer>& buffers);

// Returns allocations and frees in order of time; at the same moment, frees come first. `address`
// is the offset if the file has offsets. Otherwise it is the buffer's number, counted from 1,
// because an event needs an address.
EventList MinimallocEvents(const std::vector<MinimallocBuffer>& buffers);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_MINIMALLOC_H_
