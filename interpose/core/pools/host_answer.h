// Finds out whether memory of the host can be mapped for a device. The process that started the
// program has tested this and has passed the result in an environment variable
// (base/host_mapping.h). It is not tested in this process, because some drivers have crashed in
// that test.
//
// Ownership: the reason is a part of the environment variable. Threads: any. Errors:
// HostPlace::kUnknown. Units: device numbers.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_HOST_ANSWER_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_HOST_ANSWER_H_

#include "base/host_mapping.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

HostMapping HostMappingOf(const Driver& driver, int device);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_HOST_ANSWER_H_
