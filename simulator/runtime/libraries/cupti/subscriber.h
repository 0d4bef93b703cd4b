// Calls the one subscriber of CUPTI's callback interface.
//
// Ownership: the client owns its user data. Threads: any; a callback runs on the thread of the call
// that it reports. Errors: none; without a subscriber nothing is called. Units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_SUBSCRIBER_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_SUBSCRIBER_H_

#include "simulator/runtime/libraries/cupti/cupti.h"
#include "simulator/runtime/profiler_place.h"

namespace vramstow::simulator {

// True if a subscriber has enabled this callback.
bool IsSubscribed(CUpti_CallbackDomain domain, CUpti_CallbackId id);
// Calls the subscriber if the callback is still enabled.
void CallSubscriber(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
// Emits the callbacks about contexts and streams, after a call of the driver that has succeeded.
void EmitResources(const ProfiledCall& call);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_SUBSCRIBER_H_
