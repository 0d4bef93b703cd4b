#include "interpose/core/pools/host_answer.h"

#include <cstdlib>

#include "interpose/core/runtime/driver.h"

namespace vramstow {

HostMapping HostMappingOf(const Driver& driver, int device) {
  const char* const text = std::getenv(kHostMappingVariable);
  CUuuid uuid;
  char name[kDeviceUuidBytes] = "";
  if (driver.cuDeviceGetUuid_v2() != nullptr &&
      driver.cuDeviceGetUuid_v2()(&uuid, device) == CUDA_SUCCESS) {
    static_assert(sizeof uuid.bytes == 16);
    WriteDeviceUuid(uuid.bytes, name);
  }
  return ReadHostMapping(FindHostAnswer(text, name));
}

}  // namespace vramstow
