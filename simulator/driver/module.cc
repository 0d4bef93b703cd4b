#include "simulator/driver/module.h"

#include <string.h>

#include <algorithm>
#include <iterator>

#include "simulator/driver/variable.h"

namespace vramstow::simulator {
namespace {

// All programs and their handles. Guarded by the driver's lock; never destroyed.
struct ModuleTables {
  Handles<Program> programs;
  Handles<Function> functions;
  Handles<Kernel> kernels;  // they are parts of functions
};
ModuleTables& GlobalTables() {
  static ModuleTables* tables = new ModuleTables;
  return *tables;
}

// Sets the architecture versions of the chosen image: its own if it is machine code, or that of the
// GPU if it is PTX that is compiled for the GPU.
void SetVersions(const Card& card, const Image& image, Function* function) {
  const auto own = card.major * 10 + card.minor;
  const auto chosen = static_cast<int>(image.architecture.number);
  function->attributes[CU_FUNC_ATTRIBUTE_PTX_VERSION] = chosen == 0 ? own : chosen;
  function->attributes[CU_FUNC_ATTRIBUTE_BINARY_VERSION] =
      chosen == 0 || !image.is_code ? own : chosen;
}

void SetDefaultAttributes(Function* function) {
  int* attributes = function->attributes;
  attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
  attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] = 32;
  attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = 49152;
  attributes[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = -1;
}

Program* FindProgram(const void* handle) { return GlobalTables().programs.Find(handle); }

CUresult ResultOf(ImageError error) {
  switch (error) {
    case ImageError::kNone:
      return CUDA_SUCCESS;
    case ImageError::kInvalidImage:
      return CUDA_ERROR_INVALID_IMAGE;
    case ImageError::kInvalidPtx:
      return CUDA_ERROR_INVALID_PTX;
    case ImageError::kNoBinary:
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case ImageError::kUnsupportedPtx:
      return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  return CUDA_ERROR_INVALID_IMAGE;
}

}  // namespace

ImageTarget TargetOf(const Machine& machine) {
  const Card& card = machine.card();
  return {static_cast<uint32_t>(card.major * 10 + card.minor), machine.spec().cuda_version};
}

namespace {

// `size` is SIZE_MAX if it is not known.
CUresult Load(Call& call, const void* image, size_t size, bool library, void** handle) {
  if (handle == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto program = std::make_unique<Program>();
  const CUresult result =
      ResultOf(ParseImage(image, size, TargetOf(call.machine()), &program->image));
  if (result != CUDA_SUCCESS) return result;
  program->library = library;
  program->context = library ? nullptr : call.context();
  *handle = GlobalTables().programs.Add(std::move(program));
  return CUDA_SUCCESS;
}

CUresult LoadFile(Call& call, const char* path, bool library, void** handle) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<char> bytes;
  if (!ReadImageFile(path, &bytes)) return CUDA_ERROR_FILE_NOT_FOUND;
  return Load(call, bytes.data(), bytes.size(), library, handle);
}

// Returns the program's function of this name, which is created at its first request.
Function* MakeFunction(Call& call, Program* program, const std::string& name) {
  Function*& found = program->functions[name];
  if (found != nullptr) return found;
  auto made = std::make_unique<Function>();
  made->name = name;
  made->program = program;
  SetDefaultAttributes(made.get());
  SetVersions(call.machine().card(), program->image, made.get());
  const auto known = program->image.kernels.find(name);
  if (known != program->image.kernels.end()) made->SetKnown(known->second);
  found = GlobalTables().functions.Add(std::move(made));
  if (program->library) {
    found->kernel.function = found;
    GlobalTables().kernels.Note(&found->kernel);
  }
  return found;
}

void PutHandle(Function* function, CUfunction* handle) {
  *handle = reinterpret_cast<CUfunction>(function);
}
void PutHandle(Function* function, CUkernel* handle) {
  *handle = reinterpret_cast<CUkernel>(&function->kernel);
}

template <typename Handle>
CUresult GetFunction(Call& call, const void* handle, const char* name, Handle* function) {
  if (function == nullptr || name == nullptr || *name == '\0') return CUDA_ERROR_INVALID_VALUE;
  Program* program = FindProgram(handle);
  if (program == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (program->image.complete && !program->image.kernels.contains(name)) {
    return CUDA_ERROR_NOT_FOUND;
  }
  PutHandle(MakeFunction(call, program, name), function);
  return CUDA_SUCCESS;
}

// Returns how many functions a program has. If the image cannot be read, only the requested
// functions count.
unsigned CountFunctions(Call& call, Program* program) {
  if (program->image.complete) {
    for (const auto& [name, kernel] : program->image.kernels) MakeFunction(call, program, name);
  }
  return static_cast<unsigned>(program->functions.size());
}

template <typename Handle>
CUresult EnumerateFunctions(Call& call, const void* handle, unsigned count, Handle* functions) {
  Program* program = FindProgram(handle);
  if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (program == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CountFunctions(call, program);
  for (const auto& [name, function] : program->functions) {
    if (count-- == 0) break;
    PutHandle(function, functions++);
  }
  return CUDA_SUCCESS;
}

CUresult GetGlobal(Call& call, const void* handle, const char* name, CUdeviceptr* address,
                   size_t* bytes) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Program* program = FindProgram(handle);
  if (program == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (program->image.complete && !program->image.variables.contains(name)) {
    return CUDA_ERROR_NOT_FOUND;
  }
  Global global;
  const CUresult result = FindGlobal(&call.state(), call.context(), program, name, &global);
  if (result != CUDA_SUCCESS) return result;
  if (address != nullptr) *address = global.address;
  if (bytes != nullptr) *bytes = global.bytes;
  return CUDA_SUCCESS;
}

void Unload(State* state, Program* program) {
  for (const auto& [name, function] : program->functions) {
    GlobalTables().kernels.Forget(&function->kernel);
    GlobalTables().functions.Remove(function);
  }
  for (const auto& [key, global] : program->globals) {
    if (Block* block = state->machine->memory.FindExact(global.address)) {
      state->machine->memory.Release(block);
    }
  }
  GlobalTables().programs.Remove(program);
}

CUresult UnloadHandle(Call& call, const void* handle, bool library) {
  Program* program = FindProgram(handle);
  if (program == nullptr || program->library != library) return CUDA_ERROR_INVALID_HANDLE;
  Unload(&call.state(), program);
  return CUDA_SUCCESS;
}

// Sets an attribute if a program may set it and the value is allowed.
CUresult SetAttribute(Call& call, Function* function, int attribute, int value) {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (attribute < CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
      attribute >= CU_FUNC_ATTRIBUTE_MAX) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
      (value < 0 || value > call.machine().card().shared_per_block_optin_bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT &&
      (value < -1 || value > 100)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  function->attributes[attribute] = value;
  return CUDA_SUCCESS;
}

CUresult GetAttribute(int* value, int attribute, const Function* function) {
  if (value == nullptr || attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *value = function->attributes[attribute];
  return CUDA_SUCCESS;
}

CUresult GetName(const char** name, const Function* function) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *name = function->name.c_str();
  return CUDA_SUCCESS;
}

}  // namespace

void Function::SetKnown(const KernelImage& known) {
  parameters = known.parameters;
  parameters_known = known.parameters_known;
  attributes[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES] = static_cast<int>(known.shared_bytes);
  attributes[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES] = static_cast<int>(known.local_bytes);
  attributes[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES] = static_cast<int>(known.const_bytes);
  if (known.registers > 0) {
    attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] = static_cast<int>(known.registers);
  }
  if (known.max_threads > 0) {
    attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = static_cast<int>(known.max_threads);
  }
}

Function* FindFunctionHandle(CUfunction handle) { return GlobalTables().functions.Find(handle); }

Function* FindKernelHandle(CUkernel handle) {
  const Kernel* kernel = GlobalTables().kernels.Find(handle);
  return kernel == nullptr ? nullptr : kernel->function;
}

Function* FindLaunched(CUfunction handle) {
  Function* function = FindFunctionHandle(handle);
  return function != nullptr ? function : FindKernelHandle(reinterpret_cast<CUkernel>(handle));
}

void UnloadModules(State* state, Context* context) {
  std::vector<Program*> mine;
  for (const void* handle : GlobalTables().programs.all()) {
    Program* program = FindProgram(handle);
    if (program->context == context) mine.push_back(program);
    std::erase_if(program->globals, [&](const auto& entry) {
      if (!program->library || entry.first.second != context) return false;
      if (Block* block = state->machine->memory.FindExact(entry.second.address)) {
        state->machine->memory.Release(block);
      }
      return true;
    });
  }
  for (Program* program : mine) Unload(state, program);
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return Serve("cuModuleLoadData", Needs::kContext, [&](Call& call) {
    return Load(call, image, SIZE_MAX, false, reinterpret_cast<void**>(module));
  });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int options,
                            CUjit_option* names, void** values) {
  (void)options, (void)names, (void)values;
  return cuModuleLoadData(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return cuModuleLoadData(module, image);
}

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  return Serve("cuModuleLoad", Needs::kContext, [&](Call& call) {
    return LoadFile(call, path, false, reinterpret_cast<void**>(module));
  });
}

CUresult cuModuleUnload(CUmodule module) {
  return Serve("cuModuleUnload", Needs::kContext,
               [&](Call& call) { return UnloadHandle(call, module, false); });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return Serve("cuModuleGetLoadingMode", Needs::kInit, [&](Call&) {
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const char* wish = getenv("CUDA_MODULE_LOADING");
    *mode = wish != nullptr && strcmp(wish, "EAGER") == 0 ? CU_MODULE_EAGER_LOADING
                                                          : CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return Serve("cuModuleGetFunction", Needs::kContext,
               [&](Call& call) { return GetFunction(call, module, name, function); });
}

CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule module) {
  return Serve("cuModuleGetFunctionCount", Needs::kContext, [&](Call& call) {
    Program* program = FindProgram(module);
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (program == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *count = CountFunctions(call, program);
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count, CUmodule module) {
  return Serve("cuModuleEnumerateFunctions", Needs::kContext,
               [&](Call& call) { return EnumerateFunctions(call, module, count, functions); });
}

CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return Serve("cuModuleGetGlobal", Needs::kContext,
               [&](Call& call) { return GetGlobal(call, module, name, address, bytes); });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* options,
                           void** values, unsigned int option_count,
                           CUlibraryOption* library_options, void** library_values,
                           unsigned int library_option_count) {
  (void)options, (void)values, (void)option_count;
  (void)library_options, (void)library_values, (void)library_option_count;
  return Serve("cuLibraryLoadData", Needs::kInit, [&](Call& call) {
    return Load(call, code, SIZE_MAX, true, reinterpret_cast<void**>(library));
  });
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* options,
                               void** values, unsigned int option_count,
                               CUlibraryOption* library_options, void** library_values,
                               unsigned int library_option_count) {
  (void)options, (void)values, (void)option_count;
  (void)library_options, (void)library_values, (void)library_option_count;
  return Serve("cuLibraryLoadFromFile", Needs::kInit, [&](Call& call) {
    return LoadFile(call, path, true, reinterpret_cast<void**>(library));
  });
}

CUresult cuLibraryUnload(CUlibrary library) {
  return Serve("cuLibraryUnload", Needs::kInit,
               [&](Call& call) { return UnloadHandle(call, library, true); });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return Serve("cuLibraryGetKernel", Needs::kInit,
               [&](Call& call) { return GetFunction(call, library, name, kernel); });
}

CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
  return Serve("cuLibraryGetKernelCount", Needs::kInit, [&](Call& call) {
    Program* program = FindProgram(library);
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (program == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *count = CountFunctions(call, program);
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count, CUlibrary library) {
  return Serve("cuLibraryEnumerateKernels", Needs::kInit,
               [&](Call& call) { return EnumerateFunctions(call, library, count, kernels); });
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return Serve("cuLibraryGetModule", Needs::kContext, [&](Call&) {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (FindProgram(library) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *module = reinterpret_cast<CUmodule>(library);
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                            const char* name) {
  return Serve("cuLibraryGetGlobal", Needs::kContext,
               [&](Call& call) { return GetGlobal(call, library, name, address, bytes); });
}

CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                             const char* name) {
  (void)address, (void)bytes, (void)name;
  return Serve("cuLibraryGetManaged", Needs::kContext, [&](Call&) {
    return FindProgram(library) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_NOT_FOUND;
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return Serve("cuKernelGetFunction", Needs::kContext, [&](Call&) {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* found = FindKernelHandle(kernel);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    PutHandle(found, function);
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  return Serve("cuKernelGetLibrary", Needs::kInit, [&](Call&) {
    const Function* function = FindKernelHandle(kernel);
    if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *library = reinterpret_cast<CUlibrary>(function->program);
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  return Serve("cuFuncGetModule", Needs::kContext, [&](Call&) {
    const Function* function = FindFunctionHandle(handle);
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *module = reinterpret_cast<CUmodule>(function->program);
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  return Serve("cuFuncGetName", Needs::kInit,
               [&](Call&) { return GetName(name, FindFunctionHandle(function)); });
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return Serve("cuKernelGetName", Needs::kInit,
               [&](Call&) { return GetName(name, FindKernelHandle(kernel)); });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return Serve("cuFuncGetAttribute", Needs::kContext,
               [&](Call&) { return GetAttribute(value, attribute, FindFunctionHandle(function)); });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return Serve("cuFuncSetAttribute", Needs::kContext, [&](Call& call) {
    return SetAttribute(call, FindFunctionHandle(function), attribute, value);
  });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device) {
  (void)device;
  return Serve("cuKernelGetAttribute", Needs::kInit,
               [&](Call&) { return GetAttribute(value, attribute, FindKernelHandle(kernel)); });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device) {
  (void)device;
  return Serve("cuKernelSetAttribute", Needs::kInit, [&](Call& call) {
    return SetAttribute(call, FindKernelHandle(kernel), attribute, value);
  });
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
  (void)config;
  return Serve("cuFuncSetCacheConfig", Needs::kContext, [&](Call&) {
    return FindFunctionHandle(function) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
  });
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device) {
  (void)config, (void)device;
  return Serve("cuKernelSetCacheConfig", Needs::kInit, [&](Call&) {
    return FindKernelHandle(kernel) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
  });
}

CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config) {
  (void)config;
  return Serve("cuFuncSetSharedMemConfig", Needs::kContext, [&](Call&) {
    return FindFunctionHandle(function) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
  });
}

CUresult cuFuncLoad(CUfunction function) {
  return Serve("cuFuncLoad", Needs::kContext, [&](Call&) {
    return FindFunctionHandle(function) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
  });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  return Serve("cuFuncIsLoaded", Needs::kContext, [&](Call&) {
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (FindFunctionHandle(function) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
