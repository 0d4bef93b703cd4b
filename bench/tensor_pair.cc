// A library that a Python process loads for tensor_cost.py: it measures an allocation and its free
// through PyTorch's C++ interface, in nanoseconds for a pair.
#include <c10/core/Allocator.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <ctime>

namespace {

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

extern "C" double raw_pair(long count, long bytes) {
  auto* allocator = c10::cuda::CUDACachingAllocator::get();
  const double begin = Now();
  for (long i = 0; i < count; ++i) {
    allocator->raw_delete(allocator->raw_alloc(static_cast<size_t>(bytes)));
  }
  return (Now() - begin) / static_cast<double>(count);
}

extern "C" double data_pair(long count, long bytes) {
  auto* allocator = c10::GetAllocator(c10::DeviceType::CUDA);
  const double begin = Now();
  for (long i = 0; i < count; ++i) {
    const c10::DataPtr data = allocator->allocate(static_cast<size_t>(bytes));
  }
  return (Now() - begin) / static_cast<double>(count);
}
