// Defines the forms of functions in which stream 0 is the calling thread's own default stream.
//
// Each passes its arguments on to the plain form of the function. simulator/generate makes them
// from CUDA's headers.
#include <cuda.h>

#include "simulator/driver/call.h"

extern "C" {

#include <driver_per_thread.inc>

}  // extern "C"
