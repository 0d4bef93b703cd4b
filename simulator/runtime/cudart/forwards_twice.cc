// Implements the functions with a per-thread form that forward their arguments to the driver.
// Compiled twice (see api.h).
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

#include <cudart_forwards_twice.inc>
