// A library that is preloaded into a job: at each call of a wrapped CUDA runtime function it walks
// the stack with our own walk and with libunwind, and compares them frame by frame. At the end it
// writes its findings to the file that VRAMSTOW_JUDGE_REPORT names: the number of stacks, of
// different stacks, of frames and of stacks that differ, the median time of each walk, and the
// first difference.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <vector>

#include "tracer/capture/native_stack.h"
#include "tracer/capture/stack_capture.h"
#include "tracer/capture/unwind_library.h"

namespace vramstow {
namespace {

constexpr size_t kMaxStacks = 40'000;

template <typename T>
T* Zeroed() {
  return static_cast<T*>(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

double Nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double Median(std::vector<double>* numbers) {
  const auto middle = numbers->begin() + static_cast<long>(numbers->size() / 2);
  std::nth_element(numbers->begin(), middle, numbers->end());
  return *middle;
}

class Judge {
 public:
  Judge() {
    const char* const path = getenv("VRAMSTOW_JUDGE_UNWINDER");
    works_ = path != nullptr && UnwindLibrary::Open(path, dlopen, dlsym);
  }
  ~Judge() {
    const char* const path = getenv("VRAMSTOW_JUDGE_REPORT");
    FILE* const file = path == nullptr || stacks_ == 0 ? nullptr : fopen(path, "w");
    if (file == nullptr) return;
    fprintf(file, "stacks %zu\ndifferent %zu\nframes %zu\ndiffering %zu\n", stacks_, hashes_.size(),
            frames_, differing_);
    fprintf(file, "ours_ns %.0f\nlibunwind_ns %.0f\n", Median(&ours_ns_), Median(&libunwind_ns_));
    fprintf(file, "first %s\n", first_);
    fclose(file);
  }

  // Our walk and libunwind's walk begin in this function, so all outer frames must be the same.
  __attribute__((noinline)) void Compare() {
    if (!works_) return;
    thread_local NativeStack* const stack = Zeroed<NativeStack>();
    thread_local uintptr_t theirs[kMaxStackFrames];
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stacks_ == kMaxStacks) return;
    FramePlace here = {};
    VRAMSTOW_HERE(here);
    const double begin = Nanoseconds();
    stack->Walk(rules_, here, 1);
    const double middle = Nanoseconds();
    const size_t quick = UnwindLibrary::Opened()->WalkQuickly(theirs, kMaxStackFrames);
    const double end = Nanoseconds();
    ours_ns_.push_back(middle - begin);
    libunwind_ns_.push_back(end - middle);
    asm volatile("" ::"r"(quick));
    // unw_backtrace caches its results; unw_step examines each frame anew.
    const size_t count = UnwindLibrary::Opened()->Walk(theirs, kMaxStackFrames);
    Note(*stack, theirs, count);
  }

 private:
  // theirs[0] is also in Compare, but at a later address.
  void Note(const NativeStack& stack, const uintptr_t* theirs, size_t count) {
    ++stacks_;
    frames_ += stack.count();
    hashes_.insert(stack.frames()[0].hash);
    size_t i = 1;
    while (i < std::min(count, stack.count()) && stack.frames()[i].place.address == theirs[i]) ++i;
    if (i == count && i == stack.count()) return;
    if (differing_++ != 0) return;
    Dl_info about = {};
    const uintptr_t address =
        i < stack.count() ? stack.frames()[i - 1].place.address : theirs[i - 1];
    dladdr(reinterpret_cast<void*>(address), &about);
    snprintf(first_, sizeof first_, "behind frame %zu of %zu and %zu: %s %s", i - 1, stack.count(),
             count, about.dli_fname == nullptr ? "?" : about.dli_fname,
             about.dli_sname == nullptr ? "?" : about.dli_sname);
  }

  bool works_ = false;
  std::mutex mutex_;
  UnwindTable* rules_ = Zeroed<UnwindTable>();
  std::set<uint64_t> hashes_;
  size_t stacks_ = 0;
  size_t frames_ = 0;
  size_t differing_ = 0;
  std::vector<double> ours_ns_;
  std::vector<double> libunwind_ns_;
  char first_[600] = "none";
};

Judge& TheJudge() {
  static Judge judge;
  return judge;
}

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace vramstow

#define VRAMSTOW_JUDGED extern "C" __attribute__((visibility("default")))

struct dim3_of_cuda {
  unsigned x, y, z;
};
VRAMSTOW_JUDGED int cudaLaunchKernel(const void* function, dim3_of_cuda grid, dim3_of_cuda block,
                                     void** arguments, size_t shared, void* stream) {
  vramstow::TheJudge().Compare();
  static const auto next =
      vramstow::Next<int (*)(const void*, dim3_of_cuda, dim3_of_cuda, void**, size_t, void*)>(
          "cudaLaunchKernel");
  return next(function, grid, block, arguments, shared, stream);
}

// In CUDA 13 nvcc compiles <<<…>>> to this function.
VRAMSTOW_JUDGED int __cudaLaunchKernel(void* kernel, dim3_of_cuda grid, dim3_of_cuda block,
                                       void** arguments, size_t shared, void* stream) {
  vramstow::TheJudge().Compare();
  static const auto next =
      vramstow::Next<int (*)(void*, dim3_of_cuda, dim3_of_cuda, void**, size_t, void*)>(
          "__cudaLaunchKernel");
  return next(kernel, grid, block, arguments, shared, stream);
}

VRAMSTOW_JUDGED int cudaMalloc(void** pointer, size_t size) {
  vramstow::TheJudge().Compare();
  static const auto next = vramstow::Next<int (*)(void**, size_t)>("cudaMalloc");
  return next(pointer, size);
}

VRAMSTOW_JUDGED int cudaMemcpyAsync(void* to, const void* from, size_t size, int kind,
                                    void* stream) {
  vramstow::TheJudge().Compare();
  static const auto next =
      vramstow::Next<int (*)(void*, const void*, size_t, int, void*)>("cudaMemcpyAsync");
  return next(to, from, size, kind, stream);
}
