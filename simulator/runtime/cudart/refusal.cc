#include "simulator/runtime/cudart/runtime.h"

namespace vramstow::simulator::cudart {

int RefuseCall();

int RefuseCall() { return Leave(cudaErrorNotSupported); }

}  // namespace vramstow::simulator::cudart
