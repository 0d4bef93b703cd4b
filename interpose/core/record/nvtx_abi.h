// Declares the tables and structures of NVTX that tools and clients share. They are those of
// NVIDIA's public headers (nvtx3/nvtxDetail/nvtxTypes.h and nvtxExtTypes.h, nvtx3/nvToolsExtMem.h),
// under vramstow's names.
//
// Idea: a client (each library into which NVTX is compiled) opens the tool that
// NVTX_INJECTION64_PATH names and lets it put functions into the client's tables. nvtx.cc is such a
// tool, nvtx_memory.cc such a client. tests/interpose compares these layouts with the headers.
//
// Ownership: values. Threads: values. Errors: none. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_ABI_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_ABI_H_

#include <cstddef>
#include <cstdint>

namespace vramstow::nvtx {

inline constexpr char kToolVariable[] = "NVTX_INJECTION64_PATH";

// --- Ranges, marks, domains: the tool's function InitializeInjectionNvtx2 ------------------------

inline constexpr uint32_t kCallbacksTable = 1;  // NVTX_ETID_CALLBACKS
enum Module : int { kCore = 1, kCore2 = 5 };
inline constexpr unsigned kDomainCreateA = 12;  // an index into the table of kCore2

using FunctionPlace = void**;
struct ExportedCallbacks {
  size_t size;
  int (*table_of)(int module, FunctionPlace** table, unsigned* count);
};
using ExportTable = const void* (*)(uint32_t table);

// --- Extensions: the tool's function InitializeInjectionNvtxExtension ----------------------------

struct ExtensionSegment {
  size_t id;
  size_t count;
  intptr_t* functions;
};
struct ExtensionModule {
  uint16_t nvtx_version;
  uint16_t size;
  uint16_t module;
  uint16_t compatibility;
  size_t segment_count;
  ExtensionSegment* segments;
  intptr_t (*export_function)(uint32_t number);
  const void* info;
};
// Values of the slot for a function. kFunctionFresh means that the tool was not asked yet; the
// other value means that the tool has no such function.
inline constexpr intptr_t kFunctionFresh = 0;
inline constexpr intptr_t kFunctionDisabled = 1;

// --- The memory extension ------------------------------------------------------------------------

inline constexpr uint16_t kNvtxVersion = 3;
inline constexpr uint16_t kMemoryModule = 1;
inline constexpr uint16_t kMemoryCompatibility = 0x0102;
inline constexpr size_t kMemoryFunctions = 63;
enum MemoryFunction : unsigned {
  kHeapRegister = 0,
  kHeapUnregister = 1,
  kRegionsRegister = 3,
  kRegionsUnregister = 5,
};
inline constexpr uint32_t kSubAllocator = 1;    // the use of a heap
inline constexpr uint32_t kVirtualAddress = 1;  // the kind of memory
inline constexpr uint32_t kByPointer = 1;       // the form of a region's name

struct VirtualRange {
  size_t size;
  const void* address;
};
struct HeapDescription {
  uint16_t compatibility;
  uint16_t size;
  uint32_t reserved;
  uint32_t usage;
  uint32_t type;
  size_t specific_size;
  const void* specific;
  uint32_t category;
  uint32_t message_type;
  const void* message;
};
struct RegionsRegister {
  uint16_t compatibility;
  uint16_t size;
  uint32_t type;
  void* heap;
  size_t count;
  size_t element_size;
  const void* elements;
  void** handles;
};
struct RegionsUnregister {
  uint16_t compatibility;
  uint16_t size;
  uint32_t reference_type;
  size_t count;
  size_t element_size;
  const void* elements;
};

}  // namespace vramstow::nvtx

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_ABI_H_
