// Finds out whether memory of the host can be mapped for a device. The process that started the
// program has tested this (base/host_mapping.h). It is not tested in this process, because some
// drivers have crashed in that test.
//
// Ownership: the reason lies in the environment. Threads: any. Errors: HostPlace::kUnknown. Units:
// device numbers.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_HOST_ANSWER_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_HOST_ANSWER_H_

#include "base/host_mapping.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

HostMapping HostMappingOf(const Driver& driver, int device);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_HOST_ANSWER_H_
