// Calls the functions that nvcc's generated code calls: libraries with kernels are registered,
// used, and unregistered.
#include <cuda_runtime_api.h>

#include "simulator/runtime/cudart/hidden_api.h"
#include "tests/runtime/runtime_test.h"

namespace vramstow {
namespace {

// A fat binary's wrapper, and an image that a simulator accepts without reading it.
struct Wrapper {
  int magic = 0x466243b1;
  int version = 1;
  const void* data = kImage;
  const void* unused = nullptr;
  // An empty fat binary. The simulator reads no image from it, so a kernel of any name exists in
  // it.
  static constexpr char kImage[64] = "\x50\xed\x55\xba\x01\x00\x10\x00\0\0\0\0\0\0\0";
};

class Library {
 public:
  explicit Library(const void* kernel) {
    handle_ = __cudaRegisterFatBinary(&wrapper_);
    __cudaRegisterFunction(handle_, static_cast<const char*>(kernel), nullptr, "AKernel", -1,
                           nullptr, nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterFatBinaryEnd(handle_);
  }
  ~Library() { __cudaUnregisterFatBinary(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

 private:
  Wrapper wrapper_;
  void** handle_ = nullptr;
};

char a_kernel;
char another_kernel;

cudaError_t Launch(const void* kernel) {
  return cudaLaunchKernel(kernel, dim3(1), dim3(1), nullptr, 0, nullptr);
}

TEST(Registration, KernelsAreThereUntilTheirLibraryGoes) {
  EXPECT_FAILS(Launch(&a_kernel), cudaErrorInvalidDeviceFunction);
  {
    Library library(&a_kernel);
    EXPECT_CUDA(Launch(&a_kernel));
  }
  EXPECT_FAILS(Launch(&a_kernel), cudaErrorInvalidDeviceFunction);
}

TEST(Registration, LibraryThatComesBackAtTheSameAddressesIsUsedAnew) {
  for (int i = 0; i < 3; ++i) {
    Library library(&a_kernel);
    EXPECT_CUDA(Launch(&a_kernel));
  }
}

TEST(Registration, LibraryThatComesLaterIsFound) {
  Library first(&a_kernel);
  EXPECT_CUDA(Launch(&a_kernel));
  Library second(&another_kernel);
  EXPECT_CUDA(Launch(&another_kernel));
  EXPECT_CUDA(Launch(&a_kernel));
}

TEST(Registration, BinaryOfNoKnownKindIsAnInvalidImage) {
  int no_wrapper = 0;
  void** handle = __cudaRegisterFatBinary(&no_wrapper);
  __cudaRegisterFunction(handle, &a_kernel, nullptr, "AKernel", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  EXPECT_FAILS(Launch(&a_kernel), cudaErrorInvalidKernelImage);
  __cudaUnregisterFatBinary(handle);
}

TEST(CallConfiguration, IsAStack) {
  ASSERT_EQ(__cudaPushCallConfiguration(dim3(1, 2, 3), dim3(4, 5, 6), 7, nullptr), 0u);
  ASSERT_EQ(__cudaPushCallConfiguration(dim3(8), dim3(9), 10, cudaStreamPerThread), 0u);
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
  EXPECT_EQ(grid.x, 8u);
  EXPECT_EQ(stream, cudaStreamPerThread);
  ASSERT_CUDA(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
  EXPECT_EQ(grid.y, 2u);
  EXPECT_EQ(block.z, 6u);
  EXPECT_EQ(shared_bytes, 7u);
  EXPECT_EQ(stream, nullptr);
  EXPECT_FAILS(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream),
               cudaErrorMissingConfiguration);
}

TEST(CallConfiguration, OfTooManyNestedLaunchesIsRefused) {
  int pushed = 0;
  while (__cudaPushCallConfiguration(dim3(1), dim3(1), 0, nullptr) == 0) {
    ASSERT_LT(++pushed, 1000);
  }
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchMaxDepthExceeded);
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  for (int i = 0; i < pushed; ++i) {
    ASSERT_CUDA(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
  }
}

TEST(Registration, MissingKernelHandleIsAnInvalidFunction) {
  EXPECT_FAILS(__cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr),
               cudaErrorInvalidDeviceFunction);
}

}  // namespace
}  // namespace vramstow
