// Describes and submits fills of `height` rows of `width` elements.
//
// Ownership: values. Threads: the caller holds the driver's lock. Errors: returns a CUresult before
// anything is queued. Units: bytes for pitch, elements for width.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_FILL_H_
#define VRAMSTOW_SIMULATOR_DRIVER_FILL_H_

#include "simulator/device/sizes.h"
#include "simulator/driver/call.h"

namespace vramstow::simulator {

struct FillBox {
  uint64_t address = 0;
  uint64_t pitch = 0;  // bytes between rows
  uint32_t value = 0;
  int element = 1;  // bytes: 1, 2 or 4
  uint64_t width = 0;
  uint64_t height = 1;

  uint64_t RowBytes() const { return MultiplySizes(width, static_cast<uint64_t>(element)); }
  uint64_t Reach() const {
    if (width == 0 || height == 0) return 0;
    return AddSizes(MultiplySizes(height - 1, pitch), RowBytes());
  }
  // False if rows would lie upon each other.
  bool HasOwnRows() const { return height <= 1 || pitch >= RowBytes(); }
};

CUresult SubmitFill(Call& call, Stream* stream, const FillBox& box, bool asynchronous);
std::shared_ptr<Work> MakeFillWork(State* state, Context* context, const FillBox& box);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_FILL_H_
