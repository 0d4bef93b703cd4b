// Defines the results of the simulated device: the subset of the driver's result codes that it can
// return.
//
// Idea: the numbers are those of the CUDA documentation. So the code in simulator/driver converts
// them with a cast, and the call log prints them unchanged. Ownership, threads, errors: values
// only.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_RESULT_H_
#define VRAMSTOW_SIMULATOR_DEVICE_RESULT_H_

namespace vramstow::simulator {

enum class [[nodiscard]] Result : int{
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kDeinitialized = 4,
    kInvalidDevice = 101,
    kInvalidContext = 201,
    kAlreadyMapped = 208,
    kInvalidHandle = 400,
    kIllegalState = 401,
    kNotFound = 500,
    kNotReady = 600,
    kIllegalAddress = 700,
    kHostMemoryAlreadyRegistered = 712,
    kHostMemoryNotRegistered = 713,
    kNotPermitted = 800,
    kNotSupported = 801,
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_RESULT_H_
