// Fills cudaDeviceProp from the driver's attributes.
#include <cstring>
#include <type_traits>

#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

// Fills a member from an attribute. If the driver does not know the attribute, the member stays 0;
// any other failure is returned.
template <typename Member>
CUresult Fill(const DriverTable& driver, CUdevice device, CUdevice_attribute attribute,
              Member* member) {
  int value = 0;
  CUresult result = driver.DeviceGetAttribute(&value, attribute, device);
  if (result == CUDA_SUCCESS) {
    // Sizes are positive; a negative value is an id that means "none".
    *member = static_cast<Member>(value);
  }
  return result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED ? CUDA_SUCCESS
                                                                                  : result;
}

CUresult FillAttributes(const DriverTable& driver, CUdevice device, cudaDeviceProp* properties) {
  CUresult result = CUDA_SUCCESS;
#define DEVICE_PROPERTY(member, attribute)                                                 \
  if (result = Fill(driver, device, CU_DEVICE_ATTRIBUTE_##attribute, &properties->member); \
      result != CUDA_SUCCESS) {                                                            \
    return result;                                                                         \
  }
#include "simulator/runtime/cudart/properties.def"
#undef DEVICE_PROPERTY
  return result;
}

cudaError_t GetProperties(const DriverTable& driver, int device, cudaDeviceProp* properties) {
  CUdevice handle = 0;
  if (cudaError_t error = FindDevice(device, &handle); error != cudaSuccess) {
    return error;
  }
  *properties = {};
  CUresult result = driver.DeviceGetName(properties->name, sizeof(properties->name), handle);
  if (result == CUDA_SUCCESS) {
    result = driver.DeviceGetUuid(SameLayout<CUuuid>(&properties->uuid), handle);
  }
  if (result == CUDA_SUCCESS) {
    result = driver.DeviceTotalMem(&properties->totalGlobalMem, handle);
  }
  if (result == CUDA_SUCCESS) {
    result = FillAttributes(driver, handle, properties);
  }
  return FromDriver(result);
}

// Returns how well a device matches the requested properties; members that are 0 were not
// requested.
int Score(const cudaDeviceProp& device, const cudaDeviceProp& wanted) {
  int score = 0;
  score += wanted.name[0] == '\0' || strncmp(device.name, wanted.name, sizeof(wanted.name)) == 0;
  score +=
      device.major > wanted.major || (device.major == wanted.major && device.minor >= wanted.minor);
  score += device.totalGlobalMem >= wanted.totalGlobalMem;
  score += device.multiProcessorCount >= wanted.multiProcessorCount;
  score += device.sharedMemPerBlock >= wanted.sharedMemPerBlock;
  return score;
}

}  // namespace

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return CallWithoutContext([&](const DriverTable& driver) {
    return properties == nullptr ? cudaErrorInvalidValue
                                 : GetProperties(driver, device, properties);
  });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  return CallWithoutContext([&](const DriverTable& driver) {
    if (device == nullptr || wanted == nullptr) {
      return cudaErrorInvalidValue;
    }
    int best_score = -1;
    CUdevice handle = 0;
    for (int i = 0; FindDevice(i, &handle) == cudaSuccess; ++i) {
      cudaDeviceProp properties;
      if (cudaError_t error = GetProperties(driver, i, &properties); error != cudaSuccess) {
        return error;
      }
      if (int score = Score(properties, *wanted); score > best_score) {
        best_score = score;
        *device = i;
      }
    }
    return cudaSuccess;
  });
}
