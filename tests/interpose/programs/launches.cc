// Launches a number of kernels in each iteration, by several threads, some of them in ranges. The
// first kernel is a function of a module, and the second one is a kernel of a library. The handles
// of all further kernels come from calls that were not observed. A handle of the fake driver is a
// pointer to the kernel's name.
// With `launches wait` the program waits to be killed at the end.
#include <unistd.h>

#include <thread>
#include <vector>

#include "include/vramstow/vramstow.h"
#include "tests/interpose/programs/host.h"

namespace vramstow::host {
namespace {

char g_first[] = "_Z5firstPf";
char g_second[] = "second";
char g_failing[] = "fails";
char g_unseen[] = "unseen";

struct Launcher {
  decltype(&cuLaunchKernel) launch;
  decltype(&cuLaunchKernelEx) launch_ex;
  decltype(&cuGraphLaunch) launch_graph;
  CUfunction first = nullptr;
  CUkernel second = nullptr;

  void First(int count) const {
    for (int i = 0; i < count; ++i) {
      HOST_CHECK(launch(first, 1, 1, 1, 32, 1, 1, 0, reinterpret_cast<CUstream>(0x70), nullptr,
                        nullptr) == CUDA_SUCCESS);
    }
  }
  void Second(int count) const {
    CUlaunchConfig config = {};
    config.hStream = reinterpret_cast<CUstream>(0x80);
    for (int i = 0; i < count; ++i) {
      HOST_CHECK(launch_ex(&config, reinterpret_cast<CUfunction>(second), nullptr, nullptr) ==
                 CUDA_SUCCESS);
    }
  }
};

int Main(bool waits) {
  const Api api = LoadApi();
  Launcher launcher = {
      Look<decltype(&cuLaunchKernel)>(api.driver, "cuLaunchKernel"),
      Look<decltype(&cuLaunchKernelEx)>(api.driver, "cuLaunchKernelEx"),
      Look<decltype(&cuGraphLaunch)>(api.driver, "cuGraphLaunch"),
  };
  auto* get_function = Look<decltype(&cuModuleGetFunction)>(api.driver, "cuModuleGetFunction");
  auto* get_kernel = Look<decltype(&cuLibraryGetKernel)>(api.driver, "cuLibraryGetKernel");
  auto* unload = Look<decltype(&cuLibraryUnload)>(api.driver, "cuLibraryUnload");
  const auto module = reinterpret_cast<CUmodule>(0x90);
  const auto library = reinterpret_cast<CUlibrary>(0xa0);
  HOST_CHECK(api.init(0) == CUDA_SUCCESS);
  CUdeviceptr block = 0;
  HOST_CHECK(api.alloc(&block, 4096) == CUDA_SUCCESS);
  HOST_CHECK(get_function(&launcher.first, module, g_first) == CUDA_SUCCESS);
  launcher.First(5);
  for (unsigned i = 1; i <= 3; ++i) {
    HOST_CHECK(vramstow_iteration(i) == VRAMSTOW_OK);
    HOST_CHECK(vramstow_range_push("forward") == VRAMSTOW_OK);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&launcher] { launcher.First(1000); });
    }
    for (std::thread& thread : threads) thread.join();
    HOST_CHECK(vramstow_range_pop() == VRAMSTOW_OK);
    HOST_CHECK(get_kernel(&launcher.second, library, g_second) == CUDA_SUCCESS);
    launcher.Second(static_cast<int>(i));
    // A launch that the driver refuses is not counted.
    launcher.launch(reinterpret_cast<CUfunction>(g_failing), 0xbad, 1, 1, 1, 1, 1, 0, nullptr,
                    nullptr, nullptr);
    // The library is unloaded, and from here on its handle stands for another kernel. The module
    // stays loaded.
    HOST_CHECK(unload(library) == CUDA_SUCCESS);
    g_second[0] = static_cast<char>('s' + i);
  }
  // When a context ends, its modules end with it, and their handles may stand for other kernels.
  auto* destroy = Look<decltype(&cuCtxDestroy)>(api.driver, "cuCtxDestroy_v2");
  auto* reset = Look<decltype(&cuDevicePrimaryCtxReset)>(api.driver, "cuDevicePrimaryCtxReset_v2");
  HOST_CHECK(vramstow_mark("reset") == VRAMSTOW_OK);
  HOST_CHECK(destroy(reinterpret_cast<CUcontext>(0xb0)) == CUDA_SUCCESS);
  g_first[0] = 'd';
  HOST_CHECK(get_function(&launcher.first, module, g_first) == CUDA_SUCCESS);
  launcher.First(2);
  HOST_CHECK(reset(0) == CUDA_SUCCESS);
  g_first[0] = 'r';
  HOST_CHECK(get_function(&launcher.first, module, g_first) == CUDA_SUCCESS);
  launcher.First(3);
  HOST_CHECK(vramstow_mark("graphs") == VRAMSTOW_OK);
  for (int i = 0; i < 7; ++i) HOST_CHECK(launcher.launch_graph(nullptr, nullptr) == CUDA_SUCCESS);
  HOST_CHECK(launcher.launch(reinterpret_cast<CUfunction>(g_unseen), 1, 1, 1, 1, 1, 1, 0, nullptr,
                             nullptr, nullptr) == CUDA_SUCCESS);
  if (waits) {
    std::puts("ready");
    std::fflush(stdout);
    pause();
  }
  return 0;
}

}  // namespace
}  // namespace vramstow::host

int main(int count, char**) { return vramstow::host::Main(count > 1); }
