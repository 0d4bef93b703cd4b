// The results of driver functions with which Event::result is compared.
#ifndef VRAMSTOW_BASE_DRIVER_RESULT_H_
#define VRAMSTOW_BASE_DRIVER_RESULT_H_

#include <cstdint>

namespace vramstow {

inline constexpr int32_t kOutOfMemoryResult = 2;  // CUDA_ERROR_OUT_OF_MEMORY

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_DRIVER_RESULT_H_
