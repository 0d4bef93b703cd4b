// Estimates how long a copy between device and host takes if the copy was not measured.
//
// The rate is that of pinned copies over PCIe 4 ×16: 24 GiB/s in each direction. Ownership: none.
// Threads: pure functions. Errors: none. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_BASE_LINK_H_
#define VRAMSTOW_TOOLS_BASE_LINK_H_

#include <cstdint>

namespace vramstow {

inline uint64_t LinkNs(uint64_t bytes) {
  constexpr double kBytesPerNs = 24.0 * 1.073741824;
  return static_cast<uint64_t>(static_cast<double>(bytes) / kBytesPerNs);
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_LINK_H_
