// A program that finds the driver by dlopen and dlsym and runs the scenario that its first argument
// names. It prints what the test checks. It exits with 0, or with 99 if an assumption fails.
#include "tests/interpose/programs/host.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace vramstow::host {
namespace {

// Allocates a block of this size and frees it.
void AllocAndFree(const Api& api, size_t bytes) {
  CUdeviceptr block = 0;
  HOST_CHECK(api.alloc(&block, bytes) == CUDA_SUCCESS);
  HOST_CHECK(api.free(block) == CUDA_SUCCESS);
}

int Dlsym() {
  const Api api = LoadApi();
  HOST_CHECK(dlerror() == nullptr);
  HOST_CHECK(api.init(0) == CUDA_SUCCESS);
  AllocAndFree(api, 1000);
  return 0;
}

int Dlvsym() {
  void* driver = OpenDriver();
  HOST_CHECK(dlvsym(driver, "cuInit", "NONE_1") == nullptr && dlerror() != nullptr);
  auto* init = reinterpret_cast<InitFunction>(dlvsym(driver, "cuInit", "DRIVER_1"));
  auto* alloc = reinterpret_cast<AllocFunction>(dlvsym(driver, "cuMemAlloc_v2", "DRIVER_1"));
  HOST_CHECK(init != nullptr && alloc != nullptr);
  HOST_CHECK(init(0) == CUDA_SUCCESS);
  CUdeviceptr block = 0;
  HOST_CHECK(alloc(&block, 1000) == CUDA_SUCCESS);
  return 0;
}

int Global() {
  HOST_CHECK(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") == nullptr);
  const char* error = dlerror();
  HOST_CHECK(error != nullptr && std::strstr(error, "cuMemAlloc_v2") != nullptr);
  HOST_CHECK(dlsym(dlopen(nullptr, RTLD_NOW), "cuMemAlloc_v2") == nullptr);
  OpenDriver(RTLD_NOW | RTLD_GLOBAL);
  HOST_CHECK(Look<InitFunction>(RTLD_DEFAULT, "cuInit")(0) == CUDA_SUCCESS);
  CUdeviceptr block = 0;
  HOST_CHECK(Look<AllocFunction>(RTLD_DEFAULT, "cuMemAlloc_v2")(&block, 1000) == CUDA_SUCCESS);
  void* self = dlopen(nullptr, RTLD_NOW);
  HOST_CHECK(Look<AllocFunction>(self, "cuMemAlloc_v2")(&block, 2000) == CUDA_SUCCESS);
  return 0;
}

int ProcAddress(const std::string& which) {
  void* driver = OpenDriver();
  HOST_CHECK(Look<InitFunction>(driver, "cuInit")(0) == CUDA_SUCCESS);
  void* function = nullptr;
  if (which == "v1") {
    using V1 = CUresult (*)(const char*, void**, int, cuuint64_t);
    auto* ask = Look<V1>(driver, "cuGetProcAddress");
    HOST_CHECK(ask("cuMemAlloc", &function, 12000, 0) == CUDA_SUCCESS);
    HOST_CHECK(ask("cuMemAlloc", nullptr, 12000, 0) == CUDA_ERROR_INVALID_VALUE);
    HOST_CHECK(ask(nullptr, &function, 12000, 0) == CUDA_ERROR_INVALID_VALUE);
    HOST_CHECK(ask("cuMemAlloc", &function, 12000, 0) == CUDA_SUCCESS);
  } else {
    auto* ask = Look<GetProcAddressFunction>(driver, "cuGetProcAddress_v2");
    CUdriverProcAddressQueryResult status;
    HOST_CHECK(ask("", &function, 0, 0, &status) == CUDA_SUCCESS && function == nullptr);
    HOST_CHECK(ask("cuNoSuchFunction", &function, 12000, 0, &status) == CUDA_ERROR_NOT_FOUND);
    HOST_CHECK(ask("cuMemAlloc", &function, 12000, 0, nullptr) == CUDA_SUCCESS);
    void* itself = nullptr;
    HOST_CHECK(ask("cuGetProcAddress", &itself, 12000, 0, &status) == CUDA_SUCCESS);
    HOST_CHECK(itself == reinterpret_cast<void*>(ask));
  }
  CUdeviceptr block = 0;
  HOST_CHECK(reinterpret_cast<AllocFunction>(function)(&block, 1000) == CUDA_SUCCESS);
  return 0;
}

// Looks up the same name for different versions and different kinds of streams.
int Versions() {
  void* driver = OpenDriver();
  HOST_CHECK(Look<InitFunction>(driver, "cuInit")(0) == CUDA_SUCCESS);
  auto* ask = Look<GetProcAddressFunction>(driver, "cuGetProcAddress_v2");
  const auto get = [ask](const char* name, int version, cuuint64_t flags) {
    void* function = nullptr;
    HOST_CHECK(ask(name, &function, version, flags, nullptr) == CUDA_SUCCESS);
    return function;
  };
  // The stream argument is null. So the trace shows the variant of the function: the legacy stream
  // or the thread's default stream.
  using AsyncFunction = CUresult (*)(CUdeviceptr*, size_t, CUstream);
  CUdeviceptr block = 0;
  for (const cuuint64_t flags : {CU_GET_PROC_ADDRESS_DEFAULT, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                                 CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM}) {
    auto* function = reinterpret_cast<AsyncFunction>(get("cuMemAllocAsync", 11020, flags));
    HOST_CHECK(function(&block, 3000, nullptr) == CUDA_SUCCESS);
  }
  // cuMemAlloc of CUDA 2 writes an address of 32 bits.
  struct {
    unsigned int address = 0;
    unsigned int guard = 0x5a5a5a5a;
  } small;
  auto* old_alloc = reinterpret_cast<CUresult (*)(unsigned int*, unsigned int)>(
      get("cuMemAlloc", 2000, CU_GET_PROC_ADDRESS_DEFAULT));
  HOST_CHECK(old_alloc(&small.address, 4000) == CUDA_SUCCESS);
  HOST_CHECK(small.guard == 0x5a5a5a5a);
  // The hook table does not contain this version. The function must not be hooked, and its
  // arguments must be unchanged.
  auto* future = reinterpret_cast<CUresult (*)(int, CUdeviceptr*, size_t)>(
      get("cuMemAlloc", 99000, CU_GET_PROC_ADDRESS_DEFAULT));
  HOST_CHECK(std::strcmp(LibraryOf(reinterpret_cast<void*>(future)), "libcuda.so.1") == 0);
  HOST_CHECK(future(1, nullptr, 2) == CUDA_SUCCESS);
  // A function of another name at the address of a hooked function is not hooked either.
  void* twin = get("cuTwinOfMemAlloc", 12000, CU_GET_PROC_ADDRESS_DEFAULT);
  HOST_CHECK(std::strcmp(LibraryOf(twin), "libcuda.so.1") == 0);
  return 0;
}

// Prints the library of every exported name, and checks that every way to look it up agrees.
int EveryHook() {
  void* driver = OpenDriver(RTLD_NOW | RTLD_GLOBAL);
  auto* ask = Look<GetProcAddressFunction>(driver, "cuGetProcAddress_v2");
#define VRAMSTOW_STREAM_legacy CU_GET_PROC_ADDRESS_LEGACY_STREAM
#define VRAMSTOW_STREAM_ptsz CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, handler, parameters, arguments, what) \
  {                                                                                               \
    void* by_dlsym = dlsym(driver, #symbol);                                                      \
    void* by_dlvsym = dlvsym(driver, #symbol, "DRIVER_1");                                        \
    void* globally = dlsym(RTLD_DEFAULT, #symbol);                                                \
    void* by_address = nullptr;                                                                   \
    HOST_CHECK(ask(#name, &by_address, version, VRAMSTOW_STREAM_##stream, nullptr) ==             \
               CUDA_SUCCESS);                                                                     \
    HOST_CHECK(by_dlsym == by_dlvsym && by_dlsym == globally && by_dlsym == by_address);          \
    std::printf("%s %s\n", #symbol, LibraryOf(by_dlsym));                                         \
  }
#include "interpose/shim/hooks.def"
  return 0;
}

template <typename... Arguments>
CUresult CallWithZeros(CUresult (*function)(Arguments...)) {
  return function(Arguments{}...);
}

// Calls every function with every argument zero or null.
int NullArguments() {
  void* driver = OpenDriver();
  Look<InitFunction>(driver, "cuInit")(0);
  const char* forced = std::getenv("FAKE_RESULT");
  const int expected = forced == nullptr ? 0 : std::atoi(forced);
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, handler, parameters, arguments, what) \
  {                                                                                               \
    using Function = CUresult(*) parameters;                                                      \
    const int result = CallWithZeros(Look<Function>(driver, #symbol));                            \
    const bool is_own =                                                                           \
        std::strcmp(#name, "cuInit") == 0 || std::strcmp(#name, "cuGetProcAddress") == 0;         \
    if (!is_own && result != expected) {                                                          \
      std::fprintf(stderr, "%s gave %d\n", #symbol, result);                                      \
      return 1;                                                                                   \
    }                                                                                             \
  }
#include "interpose/shim/hooks.def"
  return 0;
}

// Does what programs do that set their process title: moves the environment, and writes the title
// over its old memory.
void TakeEnvironmentsPlace() {
  std::vector<char*> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.push_back(*entry);
  auto* moved = new char*[entries.size() + 1]();  // for good
  for (size_t i = 0; i < entries.size(); ++i) {
    moved[i] = strdup(entries[i]);
    std::memset(entries[i], 0, std::strlen(entries[i]));
  }
  environ = moved;
}

// Forks a child that calls CUDA without initialising it, or one that initialises it.
int Fork(bool child_initialises, bool by_clone, bool has_title = false) {
  const Api api = LoadApi();
  HOST_CHECK(api.init(0) == CUDA_SUCCESS);
  AllocAndFree(api, 1000);
  const pid_t child =
      by_clone ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) : fork();
  HOST_CHECK(child >= 0);
  if (child == 0) {
    AllocAndFree(api, 7000);
    if (has_title) TakeEnvironmentsPlace();
    if (child_initialises) {
      HOST_CHECK(LoadApi().init(0) == CUDA_SUCCESS);
      AllocAndFree(api, 8000);
    }
    // The child calls exit(), not _exit(). So it also runs the exit handlers that it has inherited
    // from the parent, and these must do no harm.
    std::exit(0);
  }
  int status = 0;
  HOST_CHECK(waitpid(child, &status, 0) == child);
  HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  AllocAndFree(api, 2000);
  return 0;
}

// Starts a child by vfork that executes another program, which also uses CUDA.
int SpawnByVfork(const char* self) {
  const Api api = LoadApi();
  HOST_CHECK(api.init(0) == CUDA_SUCCESS);
  // The test is about vfork, so the warning does not apply.
  const pid_t child = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  HOST_CHECK(child >= 0);
  if (child == 0) {
    execl(self, self, "dlsym", static_cast<char*>(nullptr));
    _exit(98);
  }
  int status = 0;
  HOST_CHECK(waitpid(child, &status, 0) == child);
  HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  AllocAndFree(api, 2000);
  return 0;
}

// Waits for the child, and checks its exit status.
void ExpectStatus(pid_t child, int expected) {
  int status = 0;
  HOST_CHECK(waitpid(child, &status, 0) == child);
  HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected);
}

// Ends children and itself by _exit(), in a signal handler.
int ExitWithoutHandlers() {
  const Api api = LoadApi();
  HOST_CHECK(api.init(0) == CUDA_SUCCESS);
  const pid_t sharing = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (sharing == 0) _exit(5);
  ExpectStatus(sharing, 5);
  const pid_t forked = fork();
  if (forked == 0) _exit(6);
  ExpectStatus(forked, 6);
  const pid_t active = fork();
  if (active == 0) {
    HOST_CHECK(LoadApi().init(0) == CUDA_SUCCESS);
    AllocAndFree(api, 8000);
    _Exit(7);
  }
  ExpectStatus(active, 7);
  AllocAndFree(api, 2000);
  signal(SIGUSR1, [](int) { _exit(3); });
  raise(SIGUSR1);
  return 98;
}

// Ends by the _exit() of a second shim, after which there is no other library that defines it.
int ExitInAnotherNamespace() {
  Dl_info shim;
  HOST_CHECK(dladdr(dlsym(RTLD_DEFAULT, "vramstow_version"), &shim) != 0);
  void* other = dlmopen(LM_ID_NEWLM, shim.dli_fname, RTLD_NOW);
  HOST_CHECK(other != nullptr);
  reinterpret_cast<void (*)(int)>(dlsym(other, "_exit"))(5);
  return 98;
}

// Executes another program in the same process.
int Exec(const char* self) {
  const Api api = LoadApi();
  HOST_CHECK(api.init(0) == CUDA_SUCCESS);
  AllocAndFree(api, 2000);
  execl(self, self, "dlsym", static_cast<char*>(nullptr));
  return 98;
}

// Many threads look the driver up at once, and use it at once.
int Threads() {
  constexpr int kThreads = 8;
  constexpr int kPairs = 500;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([] {
      const Api api = LoadApi();
      HOST_CHECK(api.init(0) == CUDA_SUCCESS);
      for (int pair = 0; pair < kPairs; ++pair) AllocAndFree(api, 1000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

Api late_api;
CUdeviceptr late_block = 0;

void FreeAtExit() { HOST_CHECK(late_api.free(late_block) == CUDA_SUCCESS); }
struct FreesInDestructor {
  CUdeviceptr block = 0;
  ~FreesInDestructor() {
    if (block != 0) HOST_CHECK(late_api.free(block) == CUDA_SUCCESS);
  }
};
FreesInDestructor frees_in_destructor;
CUdeviceptr destructor_block = 0;
// Runs after all exit handlers; the dynamic linker chooses the order among libraries.
__attribute__((destructor)) void FreeAtTheVeryEnd() {
  if (destructor_block != 0) HOST_CHECK(late_api.free(destructor_block) == CUDA_SUCCESS);
}

int ExitOrder() {
  HOST_CHECK(std::atexit(FreeAtExit) == 0);
  late_api = LoadApi();
  HOST_CHECK(late_api.init(0) == CUDA_SUCCESS);
  HOST_CHECK(late_api.alloc(&late_block, 1000) == CUDA_SUCCESS);
  HOST_CHECK(late_api.alloc(&frees_in_destructor.block, 2000) == CUDA_SUCCESS);
  HOST_CHECK(late_api.alloc(&destructor_block, 3000) == CUDA_SUCCESS);
  return 0;
}

int LookUpOnly() {
  LoadApi();
  return 0;
}

// Makes the calls of a program that never initialises CUDA, or that initialises it by a call which
// is not hooked.
int WithoutInit() {
  const Api api = LoadApi();
  CUdeviceptr block = 0;
  const CUresult result = api.alloc(&block, 1000);
  HOST_CHECK(api.free(block) == result);
  return 0;
}

int Refusals() {
  const Api api = LoadApi();
  HOST_CHECK(api.init(0) == CUDA_SUCCESS);
  HOST_CHECK(api.free(0xbad) == CUDA_ERROR_INVALID_VALUE);
  HOST_CHECK(api.free(0xdead) == CUDA_ERROR_DEINITIALIZED);
  CUdeviceptr block = 0x1234;
  HOST_CHECK(api.alloc(&block, size_t{1} << 30) == CUDA_ERROR_OUT_OF_MEMORY);
  HOST_CHECK(block == 0x1234);
  return 0;
}

int Errno() {
  const Api api = LoadApi();
  errno = E2BIG;
  HOST_CHECK(api.init(0) == CUDA_SUCCESS && errno == E2BIG);
  CUdeviceptr block = 0;
  HOST_CHECK(api.alloc(&block, 1000) == CUDA_SUCCESS && errno == E2BIG);
  // api.free of the fake driver sets errno to EXDEV.
  HOST_CHECK(api.free(block) == CUDA_SUCCESS && errno == EXDEV);
  errno = E2BIG;
  LoadApi();
  HOST_CHECK(errno == E2BIG);
  return 0;
}

int Reentrant() {
  const Api api = LoadApi();
  HOST_CHECK(api.init(0) == CUDA_SUCCESS);
  auto* pitch_alloc = Look<decltype(&::cuMemAllocPitch_v2)>(api.driver, "cuMemAllocPitch_v2");
  CUdeviceptr block = 0;
  size_t pitch = 0;
  HOST_CHECK(pitch_alloc(&block, &pitch, 100, 10, 4) == CUDA_SUCCESS);
  HOST_CHECK(pitch == 512 && block != 0);
  return 0;
}

// Makes one call of each kind that has a field of its own in the trace: contexts, streams,
// captures, virtual memory, arrays.
int Kinds() {
  const Api api = LoadApi();
  HOST_CHECK(api.init(0) == CUDA_SUCCESS);
  CUdeviceptr without_context = 0;
  HOST_CHECK(api.alloc(&without_context, 100) == CUDA_SUCCESS);
  CUcontext context = nullptr;
  const auto retain =
      Look<decltype(&::cuDevicePrimaryCtxRetain)>(api.driver, "cuDevicePrimaryCtxRetain");
  HOST_CHECK(retain(&context, 1) == CUDA_SUCCESS && retain(&context, 1) == CUDA_SUCCESS);
  Look<CUresult (*)(CUcontext)>(api.driver, "cuCtxSetCurrent")(context);
  CUdeviceptr block = 0;
  HOST_CHECK(api.alloc(&block, 200) == CUDA_SUCCESS);
  HOST_CHECK(api.alloc(&block, 300) == CUDA_SUCCESS);

  const auto alloc_async = Look<decltype(&::cuMemAllocAsync)>(api.driver, "cuMemAllocAsync");
  const auto free_async = Look<decltype(&::cuMemFreeAsync)>(api.driver, "cuMemFreeAsync");
  const auto stream = reinterpret_cast<CUstream>(0x1000);
  const auto capturing_stream = reinterpret_cast<CUstream>(0x1001);
  HOST_CHECK(alloc_async(&block, 400, stream) == CUDA_SUCCESS);
  HOST_CHECK(free_async(block, stream) == CUDA_SUCCESS);
  HOST_CHECK(alloc_async(&block, 500, capturing_stream) == CUDA_SUCCESS);
  HOST_CHECK(free_async(block, capturing_stream) == CUDA_SUCCESS);

  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp properties = {};
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = 1;
  CUmemAccessDesc access[2] = {};
  access[0].location = access[1].location = properties.location;
  access[0].location.id = 0;
  void* driver = api.driver;
  HOST_CHECK(Look<decltype(&::cuMemAddressReserve)>(driver, "cuMemAddressReserve")(
                 &range, 1 << 21, 0, 0, 0) == CUDA_SUCCESS);
  HOST_CHECK(Look<decltype(&::cuMemCreate)>(driver, "cuMemCreate")(&handle, 1 << 21, &properties,
                                                                   0) == CUDA_SUCCESS);
  HOST_CHECK(Look<decltype(&::cuMemMap)>(driver, "cuMemMap")(range, 1 << 21, 0, handle, 0) ==
             CUDA_SUCCESS);
  HOST_CHECK(Look<decltype(&::cuMemSetAccess)>(driver, "cuMemSetAccess")(range, 1 << 21, access,
                                                                         2) == CUDA_SUCCESS);
  HOST_CHECK(Look<decltype(&::cuMemUnmap)>(driver, "cuMemUnmap")(range, 1 << 21) == CUDA_SUCCESS);
  HOST_CHECK(Look<decltype(&::cuMemRelease)>(driver, "cuMemRelease")(handle) == CUDA_SUCCESS);
  HOST_CHECK(Look<decltype(&::cuMemAddressFree)>(driver, "cuMemAddressFree")(range, 1 << 21) ==
             CUDA_SUCCESS);

  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR description = {16, 8, CU_AD_FORMAT_FLOAT, 2};
  HOST_CHECK(Look<decltype(&::cuArrayCreate_v2)>(driver, "cuArrayCreate_v2")(
                 &array, &description) == CUDA_SUCCESS);
  HOST_CHECK(Look<decltype(&::cuArrayDestroy)>(driver, "cuArrayDestroy")(array) == CUDA_SUCCESS);
  const auto release =
      Look<decltype(&::cuDevicePrimaryCtxRelease_v2)>(driver, "cuDevicePrimaryCtxRelease_v2");
  HOST_CHECK(release(1) == CUDA_SUCCESS && release(1) == CUDA_SUCCESS);
  HOST_CHECK(Look<decltype(&::cuDevicePrimaryCtxReset_v2)>(
                 driver, "cuDevicePrimaryCtxReset_v2")(1) == CUDA_SUCCESS);
  HOST_CHECK(api.alloc(&block, 600) == CUDA_SUCCESS);
  return 0;
}

// Opens the library that argv names with RTLD_DEEPBIND, or by dlmopen, and lets it allocate.
int OpenAndAllocate(const char* file, bool deepbind) {
  void* library = deepbind ? dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
                           : dlmopen(LM_ID_NEWLM, file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  HOST_CHECK(library != nullptr);
  HOST_CHECK(Look<int (*)()>(library, "AllocateOneBlock")() == 0);
  return 0;
}

// Opens a library that calls the driver itself.
int OpenNormally(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  HOST_CHECK(library != nullptr);
  HOST_CHECK(Look<int (*)()>(library, "AllocateOneBlock")() == 0);
  return 0;
}

// Allocates a thousand blocks, frees every second one, and then ends in the given way.
int Die(const std::string& how) {
  const Api api = LoadApi();
  HOST_CHECK(api.init(0) == CUDA_SUCCESS);
  for (int i = 0; i < 1000; ++i) {
    CUdeviceptr block = 0;
    HOST_CHECK(api.alloc(&block, 4096) == CUDA_SUCCESS);
    if (i % 2 == 1) HOST_CHECK(api.free(block) == CUDA_SUCCESS);
  }
  if (how == "abort") std::abort();
  if (how == "driver") api.free(0xc4a5);
  if (how == "terminate") raise(SIGTERM);
  if (how == "quick-exit") std::_Exit(0);
  return 1;
}

int CountThreadsAndFiles() {
  // The program does not use CUDA. So any thread or file that the preload adds shows here.
  const int threads = std::system("test $(ls /proc/$PPID/task | wc -l) = 1");
  HOST_CHECK(threads == 0);
  return 0;
}

int Run(const std::string& scenario, int argc, char** argv) {
  const char* second = argc > 2 ? argv[2] : "";
  if (scenario == "dlsym") return Dlsym();
  if (scenario == "dlvsym") return Dlvsym();
  if (scenario == "global") return Global();
  if (scenario == "proc-address") return ProcAddress(second);
  if (scenario == "versions") return Versions();
  if (scenario == "every-hook") return EveryHook();
  if (scenario == "null-arguments") return NullArguments();
  if (scenario == "fork-dormant") return Fork(false, false);
  if (scenario == "fork-active") return Fork(true, false);
  if (scenario == "fork-title") return Fork(true, false, true);
  if (scenario == "clone-dormant") return Fork(false, true);
  if (scenario == "exit-without-handlers") return ExitWithoutHandlers();
  if (scenario == "exit-in-another-namespace") return ExitInAnotherNamespace();
  if (scenario == "vfork") return SpawnByVfork(argv[0]);
  if (scenario == "exec") return Exec(argv[0]);
  if (scenario == "threads") return Threads();
  if (scenario == "exit-order") return ExitOrder();
  if (scenario == "look-up-only") return LookUpOnly();
  if (scenario == "without-init") return WithoutInit();
  if (scenario == "refusals") return Refusals();
  if (scenario == "errno") return Errno();
  if (scenario == "reentrant") return Reentrant();
  if (scenario == "kinds") return Kinds();
  if (scenario == "deepbind") return OpenAndAllocate(second, true);
  if (scenario == "dlmopen") return OpenAndAllocate(second, false);
  if (scenario == "library") return OpenNormally(second);
  if (scenario == "die") return Die(second);
  if (scenario == "no-cuda") return CountThreadsAndFiles();
  std::fprintf(stderr, "there is no scenario '%s'\n", scenario.c_str());
  return 2;
}

}  // namespace
}  // namespace vramstow::host

int main(int argc, char** argv) { return argc < 2 ? 2 : vramstow::host::Run(argv[1], argc, argv); }
