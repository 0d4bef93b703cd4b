// Loads the driver under test as a program that is not linked to it would: with dlopen and dlsym.
//
// Idea: the contract tests run on any libcuda.so.1. VRAMSTOW_TEST_DRIVER names the driver; if it is
// not set, the simulated driver of this build is used, with the SPEC kTestSpec. A test needs only
// the functions that it calls. The first call of a function that the driver lacks ends the test as
// skipped, and the message names the function. VRAMSTOW_TEST_KEEPS_CONTEXT=1 retains the primary
// context from one test to the next, because a real GPU needs a large part of a second to create
// it.
#ifndef VRAMSTOW_TESTS_SIMULATOR_CONTRACT_DRIVER_H_
#define VRAMSTOW_TESTS_SIMULATOR_CONTRACT_DRIVER_H_

#include <cuda.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "simulator/driver/newer_functions.h"

namespace vramstow::simulator {

inline constexpr char kTestSpec[] = "a100,memory=4GiB,count=2";
inline constexpr size_t kMiB = size_t{1} << 20;
inline constexpr size_t kPage = 2 * kMiB;

// Ends the running test as skipped, because the driver has no such function.
[[noreturn]] void SkipForMissing(const char* name);

// Calls a function of the driver by its name; an object of this class is called like the function.
template <typename Function>
class DriverFunction {
 public:
  void Find(void* library, const char* name);
  bool there() const { return found_ != nullptr; }
  // Returns the driver's function. Ends the test if the driver has none.
  operator Function() const {  // NOLINT(google-explicit-constructor): calls go through it
    if (found_ == nullptr) SkipForMissing(name_);
    return found_;
  }
  void* address() const { return reinterpret_cast<void*>(static_cast<Function>(*this)); }

 private:
  Function found_ = nullptr;
  const char* name_ = "";
};

// One name a line: clang-format would indent a list like this ever deeper.
// clang-format off
#define VRAMSTOW_TEST_FUNCTIONS(X) \
  X(cuInit) \
  X(cuDriverGetVersion) \
  X(cuDeviceGet) \
  X(cuDeviceGetCount) \
  X(cuDeviceGetName) \
  X(cuDeviceGetUuid) \
  X(cuDeviceTotalMem) \
  X(cuDeviceGetAttribute) \
  X(cuDeviceGetPCIBusId) \
  X(cuDeviceGetByPCIBusId) \
  X(cuDevicePrimaryCtxRetain) \
  X(cuDevicePrimaryCtxRelease) \
  X(cuDevicePrimaryCtxGetState) \
  X(cuDevicePrimaryCtxReset) \
  X(cuDevicePrimaryCtxSetFlags) \
  X(cuCtxCreate) \
  X(cuCtxDestroy) \
  X(cuCtxGetCurrent) \
  X(cuCtxSetCurrent) \
  X(cuCtxPushCurrent) \
  X(cuCtxPopCurrent) \
  X(cuCtxGetDevice) \
  X(cuCtxSynchronize) \
  X(cuCtxGetLimit) \
  X(cuCtxSetLimit) \
  X(cuCtxGetStreamPriorityRange) \
  X(cuCtxGetId) \
  X(cuMemAlloc) \
  X(cuMemAllocPitch) \
  X(cuMemFree) \
  X(cuMemGetInfo) \
  X(cuMemGetAddressRange) \
  X(cuMemHostAlloc) \
  X(cuMemAllocHost) \
  X(cuMemFreeHost) \
  X(cuMemHostRegister) \
  X(cuMemHostUnregister) \
  X(cuMemHostGetDevicePointer) \
  X(cuMemHostGetFlags) \
  X(cuMemAllocManaged) \
  X(cuMemcpy) \
  X(cuMemcpyHtoD) \
  X(cuMemcpyDtoH) \
  X(cuMemcpyDtoD) \
  X(cuMemcpyAsync) \
  X(cuMemcpyHtoDAsync) \
  X(cuMemcpyDtoHAsync) \
  X(cuMemcpyDtoDAsync) \
  X(cuMemcpyPeer) \
  X(cuMemcpy2D) \
  X(cuMemcpy3D) \
  X(cuMemsetD8) \
  X(cuMemsetD16) \
  X(cuMemsetD32) \
  X(cuMemsetD8Async) \
  X(cuMemsetD32Async) \
  X(cuMemsetD2D8) \
  X(cuStreamCreate) \
  X(cuStreamCreateWithPriority) \
  X(cuStreamDestroy) \
  X(cuStreamSynchronize) \
  X(cuStreamQuery) \
  X(cuStreamWaitEvent) \
  X(cuStreamGetPriority) \
  X(cuStreamGetFlags) \
  X(cuStreamGetCtx) \
  X(cuStreamAddCallback) \
  X(cuEventCreate) \
  X(cuEventDestroy) \
  X(cuEventRecord) \
  X(cuEventQuery) \
  X(cuEventSynchronize) \
  X(cuEventElapsedTime) \
  X(cuLaunchHostFunc) \
  X(cuLaunchKernel) \
  X(cuModuleLoadData) \
  X(cuModuleUnload) \
  X(cuModuleGetFunction) \
  X(cuModuleGetGlobal) \
  X(cuLibraryLoadData) \
  X(cuLibraryUnload) \
  X(cuLibraryGetKernel) \
  X(cuLibraryEnumerateKernels) \
  X(cuKernelGetFunction) \
  X(cuKernelGetLibrary) \
  X(cuKernelGetName) \
  X(cuKernelGetAttribute) \
  X(cuKernelGetParamInfo) \
  X(cuFuncGetAttribute) \
  X(cuFuncSetAttribute) \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuPointerGetAttribute) \
  X(cuPointerGetAttributes) \
  X(cuMemAddressReserve) \
  X(cuMemAddressFree) \
  X(cuMemCreate) \
  X(cuMemRelease) \
  X(cuMemMap) \
  X(cuMemUnmap) \
  X(cuMemSetAccess) \
  X(cuMemGetAccess) \
  X(cuMemRetainAllocationHandle) \
  X(cuMemGetAllocationGranularity) \
  X(cuMemGetAllocationPropertiesFromHandle) \
  X(cuMemExportToShareableHandle) \
  X(cuMemImportFromShareableHandle) \
  X(cuGetErrorName) \
  X(cuGetErrorString) \
  X(cuGetProcAddress) \
  X(cuGetExportTable) \
  X(cuDeviceCanAccessPeer) \
  X(cuCtxEnablePeerAccess) \
  X(cuCtxDisablePeerAccess) \
  X(cuStreamBeginCapture) \
  X(cuStreamEndCapture) \
  X(cuStreamIsCapturing) \
  X(cuStreamGetCaptureInfo) \
  X(cuThreadExchangeStreamCaptureMode) \
  X(cuGraphCreate) \
  X(cuGraphDestroy) \
  X(cuGraphInstantiate) \
  X(cuGraphLaunch) \
  X(cuGraphExecDestroy) \
  X(cuGraphGetNodes) \
  X(cuGraphGetRootNodes) \
  X(cuGraphGetEdges) \
  X(cuGraphNodeGetType) \
  X(cuGraphAddEmptyNode) \
  X(cuGraphAddMemsetNode) \
  X(cuGraphAddMemcpyNode) \
  X(cuGraphAddHostNode) \
  X(cuGraphAddBatchMemOpNode) \
  X(cuGraphBatchMemOpNodeGetParams) \
  X(cuGraphBatchMemOpNodeSetParams) \
  X(cuGraphExecBatchMemOpNodeSetParams) \
  X(cuGraphAddChildGraphNode) \
  X(cuGraphAddDependencies) \
  X(cuGraphExecUpdate) \
  X(cuGraphClone) \
  X(cuGraphExecMemsetNodeSetParams) \
  X(cuMemAllocAsync) \
  X(cuMemFreeAsync) \
  X(cuMemPoolCreate) \
  X(cuMemGetDefaultMemPool) \
  X(cuMemGetMemPool) \
  X(cuMemSetMemPool) \
  X(cuMemPoolDestroy) \
  X(cuMemPoolTrimTo) \
  X(cuMemPoolGetAttribute) \
  X(cuMemPoolSetAttribute) \
  X(cuDeviceGetDefaultMemPool) \
  X(cuDeviceGetMemPool) \
  X(cuDeviceSetMemPool) \
  X(cuMemAllocFromPoolAsync) \
  X(cuArrayCreate) \
  X(cuArrayDestroy) \
  X(cuArrayGetDescriptor) \
  X(cuCtxRecordEvent) \
  X(cuCtxWaitEvent) \
  X(cuCtxGetFlags) \
  X(cuCtxSetFlags) \
  X(cuCtxGetApiVersion) \
  X(cuIpcGetMemHandle) \
  X(cuIpcOpenMemHandle) \
  X(cuIpcCloseMemHandle) \
  X(cuIpcGetEventHandle) \
  X(cuIpcOpenEventHandle) \
  X(cuMemPoolExportToShareableHandle) \
  X(cuMemPoolImportFromShareableHandle) \
  X(cuMemPoolExportPointer) \
  X(cuMemPoolImportPointer) \
  X(cuMemPoolGetAccess) \
  X(cuMemPoolSetAccess) \
  X(cuPointerSetAttribute) \
  X(cuMemAdvise) \
  X(cuMemPrefetchAsync) \
  X(cuMemRangeGetAttribute) \
  X(cuMemRangeGetAttributes) \
  X(cuStreamWriteValue32) \
  X(cuStreamWriteValue64) \
  X(cuStreamWaitValue32) \
  X(cuStreamWaitValue64) \
  X(cuStreamBatchMemOp) \
  X(cuStreamGetId) \
  X(cuStreamGetAttribute) \
  X(cuStreamSetAttribute) \
  X(cuStreamCopyAttributes) \
  X(cuStreamAttachMemAsync) \
  X(cuStreamUpdateCaptureDependencies) \
  X(cuStreamBeginCaptureToGraph) \
  X(cuEventRecordWithFlags) \
  X(cuMemsetD16Async) \
  X(cuMemsetD2D32) \
  X(cuMemsetD2D8Async) \
  X(cuMemcpyPeerAsync) \
  X(cuMemcpy2DAsync) \
  X(cuMemcpy2DUnaligned) \
  X(cuMemcpy3DAsync) \
  X(cuMemcpyAtoH) \
  X(cuMemcpyHtoA) \
  X(cuMemcpyDtoA) \
  X(cuMemcpyAtoD) \
  X(cuArray3DCreate) \
  X(cuArray3DGetDescriptor) \
  X(cuDeviceGetP2PAttribute) \
  X(cuDeviceGetGraphMemAttribute) \
  X(cuDeviceSetGraphMemAttribute) \
  X(cuDeviceGraphMemTrim) \
  X(cuGraphAddKernelNode) \
  X(cuGraphAddMemAllocNode) \
  X(cuGraphAddMemFreeNode) \
  X(cuGraphAddEventRecordNode) \
  X(cuGraphAddEventWaitNode) \
  X(cuGraphRemoveDependencies) \
  X(cuGraphDestroyNode) \
  X(cuGraphNodeGetDependencies) \
  X(cuGraphNodeGetDependentNodes) \
  X(cuGraphNodeFindInClone) \
  X(cuGraphMemsetNodeGetParams) \
  X(cuGraphMemsetNodeSetParams) \
  X(cuGraphMemcpyNodeGetParams) \
  X(cuGraphHostNodeGetParams) \
  X(cuGraphChildGraphNodeGetGraph) \
  X(cuGraphMemAllocNodeGetParams) \
  X(cuGraphNodeSetEnabled) \
  X(cuGraphNodeGetEnabled) \
  X(cuGraphUpload) \
  X(cuGraphExecHostNodeSetParams) \
  X(cuUserObjectCreate) \
  X(cuUserObjectRelease) \
  X(cuGraphRetainUserObject) \
  X(cuLinkCreate) \
  X(cuLinkAddData) \
  X(cuLinkAddFile) \
  X(cuLinkComplete) \
  X(cuLinkDestroy) \
  X(cuMulticastCreate) \
  X(cuMulticastGetGranularity) \
  X(cuModuleGetFunctionCount) \
  X(cuModuleEnumerateFunctions) \
  X(cuFuncGetName) \
  X(cuFuncGetParamInfo) \
  X(cuGraphDebugDotPrint) \
  X(cuLogsRegisterCallback) \
  X(cuLogsUnregisterCallback) \
  X(cuLogsCurrent) \
  X(cuLogsDumpToFile) \
  X(cuLogsDumpToMemory) \
  X(cuMemcpy3DBatchAsync) \
  X(cuMemcpyBatchAsync) \
  X(cuGraphNodeGetParams) \
  X(cuFuncGetParamCount) \
  X(cuGraphNodeGetContainingGraph) \
  X(cuGraphNodeGetLocalId) \
  X(cuGraphNodeGetToolsId) \
  X(cuGraphGetId) \
  X(cuGraphExecGetId) \
  X(cuMemcpyWithAttributesAsync) \
  X(cuMemcpy3DWithAttributesAsync)
// clang-format on

// The driver's functions, by their names in cuda.h (which renames some to their current form).
struct Driver {
#define VRAMSTOW_TEST_FUNCTION(name) DriverFunction<decltype(&::name)> name;
  VRAMSTOW_TEST_FUNCTIONS(VRAMSTOW_TEST_FUNCTION)
#undef VRAMSTOW_TEST_FUNCTION
  void* library = nullptr;
};

// Returns the functions, which are loaded once; ends the program with a sentence if that fails.
const Driver& GetDriver();

// Holds back the work of a stream until it is released, so that later work of the stream is
// certainly pending, however fast the GPU is. After some seconds it releases the stream without
// being asked, because a driver that waits for the work must not wait forever.
class HeldStream {
 public:
  explicit HeldStream(CUstream stream);
  ~HeldStream() { LetGo(); }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  // Releases the stream and waits until the held work has ended. Returns false if the work had
  // already ended before the call.
  bool LetGo();

 private:
  struct Gate;
  std::shared_ptr<Gate> gate_;
};

// A test with a current primary context of device 0.
class ContractTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  CUdeviceptr Allocate(size_t bytes);
  CUstream NewStream(unsigned flags = CU_STREAM_NON_BLOCKING);
  CUevent NewEvent(unsigned flags = CU_EVENT_DEFAULT);
  std::vector<unsigned char> Read(CUdeviceptr from, size_t bytes);
  size_t FreeBytes();

  const Driver& driver_ = GetDriver();
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::vector<CUdeviceptr> blocks_;  // freed at the end
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
};

}  // namespace vramstow::simulator

// Skips a test, before it does anything, if the driver under test is too old to have the function.
#define NEEDS(function) \
  if (!driver_.function.there()) GTEST_SKIP() << "the driver has no " #function

#define EXPECT_CUDA(result, call) EXPECT_EQ(result, call)
#define ASSERT_OK(call) ASSERT_EQ(CUDA_SUCCESS, call)
#define EXPECT_OK(call) EXPECT_EQ(CUDA_SUCCESS, call)

#endif  // VRAMSTOW_TESTS_SIMULATOR_CONTRACT_DRIVER_H_
