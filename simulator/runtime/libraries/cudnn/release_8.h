// Defines the numbers of cuDNN 8's status codes, for the stand-in of that release.
//
// Idea: of the enumerators that cuDNN 8 and cuDNN 9 share, only the status codes have different
// numbers. The sources are compiled a second time with these names replaced. Where cuDNN 9 has
// several codes for one code of cuDNN 8, all of them get that code.
//
// Ownership, threads, errors, units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_RELEASE_8_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_RELEASE_8_H_

// NOLINTBEGIN(cppcoreguidelines-macro-usage): enumerators cannot be declared anew
#define CUDNN_STATUS_NOT_INITIALIZED static_cast<cudnnStatus_t>(1)
#define CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED static_cast<cudnnStatus_t>(2)
#define CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED static_cast<cudnnStatus_t>(2)
#define CUDNN_STATUS_BAD_PARAM static_cast<cudnnStatus_t>(3)
#define CUDNN_STATUS_BAD_PARAM_NULL_POINTER static_cast<cudnnStatus_t>(3)
#define CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED static_cast<cudnnStatus_t>(3)
#define CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT static_cast<cudnnStatus_t>(3)
#define CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH static_cast<cudnnStatus_t>(3)
#define CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE static_cast<cudnnStatus_t>(3)
#define CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE static_cast<cudnnStatus_t>(3)
#define CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER static_cast<cudnnStatus_t>(8)
#define CUDNN_STATUS_NOT_SUPPORTED static_cast<cudnnStatus_t>(9)
// NOLINTEND(cppcoreguidelines-macro-usage)

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_RELEASE_8_H_
