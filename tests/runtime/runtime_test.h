// Shared by the tests of the runtime. They use only CUDA's public header, and run with the
// simulator's libcudart.so.13 on its libcuda.so.1 (CMakeLists.txt sets the environment).
#ifndef VRAMSTOW_TESTS_RUNTIME_RUNTIME_TEST_H_
#define VRAMSTOW_TESTS_RUNTIME_RUNTIME_TEST_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vramstow {

inline ::testing::AssertionResult Succeeds(cudaError_t error) {
  if (error == cudaSuccess) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << cudaGetErrorName(error) << " (" << cudaGetErrorString(error) << ")";
}

#define ASSERT_CUDA(call) ASSERT_TRUE(::vramstow::Succeeds(call))
#define EXPECT_CUDA(call) EXPECT_TRUE(::vramstow::Succeeds(call))
// Expects that a call fails, and clears the last error, which the call has set.
#define EXPECT_FAILS(call, error)           \
  do {                                      \
    EXPECT_EQ(call, error);                 \
    EXPECT_EQ(cudaGetLastError(), (error)); \
  } while (false)

// A device buffer that is freed at the end of its scope.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes) { EXPECT_CUDA(cudaMalloc(&pointer_, bytes)); }
  ~DeviceBuffer() { EXPECT_CUDA(cudaFree(pointer_)); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  void* get() const { return pointer_; }
  char* at(size_t offset) const { return static_cast<char*>(pointer_) + offset; }

  std::string Read(size_t bytes) const {
    std::string content(bytes, '?');
    EXPECT_CUDA(cudaMemcpy(content.data(), pointer_, bytes, cudaMemcpyDeviceToHost));
    return content;
  }

 private:
  void* pointer_ = nullptr;
};

// Returns bytes that differ from their neighbours: 'a', 'b', and so on.
inline std::string Letters(size_t count) {
  std::string letters(count, '\0');
  for (size_t i = 0; i < count; ++i) {
    letters[i] = static_cast<char>('a' + i % 26);
  }
  return letters;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_RUNTIME_RUNTIME_TEST_H_
