// The driver functions that the programs of the pool's tests use, all resolved by dlsym.
#ifndef VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_POOL_API_H_
#define VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_POOL_API_H_

#include <dlfcn.h>

#include <type_traits>

#include "tests/interpose/programs/host.h"

namespace vramstow::host {

// The name of the member and of the symbol. They are equal except for the ABI's suffix.
#define POOL_API_FUNCTIONS(function)                                                               \
  function(Init, cuInit) function(PrimaryRetain, cuDevicePrimaryCtxRetain) function(               \
      PrimaryRelease, cuDevicePrimaryCtxRelease_v2) function(PrimaryReset,                         \
                                                             cuDevicePrimaryCtxReset_v2)           \
      function(CtxCreate, cuCtxCreate_v2) function(CtxDestroy, cuCtxDestroy_v2) function(          \
          SetCurrent, cuCtxSetCurrent) function(Synchronize,                                       \
                                                cuCtxSynchronize) function(Alloc, cuMemAlloc_v2)   \
          function(AllocPitch, cuMemAllocPitch_v2) function(Free, cuMemFree_v2) function(          \
              AllocAsync, cuMemAllocAsync) function(FreeAsync,                                     \
                                                    cuMemFreeAsync) function(MemGetInfo,           \
                                                                             cuMemGetInfo_v2)      \
              function(AddressRange, cuMemGetAddressRange_v2) function(                            \
                  Attribute, cuPointerGetAttribute) function(Attributes, cuPointerGetAttributes)   \
                  function(HostAlloc, cuMemHostAlloc) function(Unmap, cuMemUnmap) function(        \
                      AddressFree, cuMemAddressFree) function(Retain, cuMemRetainAllocationHandle) \
                      function(CopyToDevice, cuMemcpyHtoD_v2) function(                            \
                          CopyToHost,                                                              \
                          cuMemcpyDtoH_v2) function(CopyPeer,                                      \
                                                    cuMemcpyPeer) function(CopyDevice,             \
                                                                           cuMemcpyDtoD_v2)        \
                          function(CopyDeviceAsync, cuMemcpyDtoDAsync_v2) function(                \
                              CopyToDeviceAsync,                                                   \
                              cuMemcpyHtoDAsync_v2) function(CopyToHostAsync,                      \
                                                             cuMemcpyDtoHAsync_v2)                 \
                              function(LaunchHostFunc, cuLaunchHostFunc) function(                 \
                                  SetD8, cuMemsetD8_v2) function(SetD8Async, cuMemsetD8Async)      \
                                  function(StreamCreate, cuStreamCreate) function(                 \
                                      StreamDestroy,                                               \
                                      cuStreamDestroy_v2) function(StreamSynchronize,              \
                                                                   cuStreamSynchronize)            \
                                      function(BeginCapture, cuStreamBeginCapture_v2) function(    \
                                          EndCapture, cuStreamEndCapture) function(GraphDestroy,   \
                                                                                   cuGraphDestroy) \
                                          function(EnablePeer, cuCtxEnablePeerAccess) function(    \
                                              EventCreate, cuEventCreate) function(EventRecord,    \
                                                                                   cuEventRecord)  \
                                              function(EventQuery, cuEventQuery) function(         \
                                                  GraphCreate,                                     \
                                                  cuGraphCreate) function(AddMemAlloc,             \
                                                                          cuGraphAddMemAllocNode)  \
                                                  function(AddMemFree, cuGraphAddMemFreeNode)      \
                                                      function(Instantiate,                        \
                                                               cuGraphInstantiateWithFlags)        \
                                                          function(Upload, cuGraphUpload)          \
                                                              function(GraphLaunch, cuGraphLaunch) \
                                                                  function(GraphMemTrim,           \
                                                                           cuDeviceGraphMemTrim)   \
                                                                      function(ModuleLoadData,     \
                                                                               cuModuleLoadData)   \
                                                                          function(SetLimit,       \
                                                                                   cuCtxSetLimit)

struct PoolApi {
  void* driver;
#define POOL_API_MEMBER(member, symbol) decltype(&::symbol) member;
  POOL_API_FUNCTIONS(POOL_API_MEMBER)
#undef POOL_API_MEMBER
};

inline PoolApi LoadPoolApi() {
  PoolApi api;
  api.driver = OpenDriver();
#define POOL_API_LOOK(member, symbol) api.member = Look<decltype(&::symbol)>(api.driver, #symbol);
  POOL_API_FUNCTIONS(POOL_API_LOOK)
#undef POOL_API_LOOK
  // If the simulator's SPEC has primary=private, this function exists. The program then creates its
  // contexts through functions that are not hooked.
  if (void* found = dlsym(api.driver, "vramstowSimulatorPrivateFunction")) {
    auto* const door = reinterpret_cast<void* (*)(const char*)>(found);
    const auto take = [door](auto* member, const char* name) {
      using Function = std::remove_pointer_t<decltype(member)>;
      if (void* function = door(name)) *member = reinterpret_cast<Function>(function);
    };
    take(&api.PrimaryRetain, "cuDevicePrimaryCtxRetain");
    take(&api.PrimaryRelease, "cuDevicePrimaryCtxRelease");
    take(&api.PrimaryReset, "cuDevicePrimaryCtxReset");
  }
  return api;
}

// Initialises the driver and makes a context of device 0 current.
inline PoolApi StartPoolApi() {
  const PoolApi api = LoadPoolApi();
  CUcontext context = nullptr;
  HOST_CHECK(api.Init(0) == CUDA_SUCCESS);
  HOST_CHECK(api.PrimaryRetain(&context, 0) == CUDA_SUCCESS);
  HOST_CHECK(api.SetCurrent(context) == CUDA_SUCCESS);
  return api;
}

}  // namespace vramstow::host

#endif  // VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_POOL_API_H_
