// Units of size that several tests use.
#ifndef VRAMSTOW_TESTS_TOOLS_UNITS_H_
#define VRAMSTOW_TESTS_TOOLS_UNITS_H_

#include <cstdint>

namespace vramstow {

inline constexpr uint64_t kMega = 1 << 20;

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_TOOLS_UNITS_H_
