#include "simulator/driver/attributes.h"

namespace vramstow::simulator {
namespace {

struct Constant {
  int attribute;
  int value;
};

// Attributes that are the same on every GPU of compute capability 7.0 to 9.0 (CUDA C++ Programming
// Guide, technical specifications per compute capability, and deviceQuery outputs). They are listed
// by number, because the headers of this build may not have the newest names.
constexpr Constant kConstants[] = {
    {1, 1024},                                       // threads per block
    {2, 1024},                                       // block x, y, z
    {3, 1024},        {4, 64},     {5, 2147483647},  // grid x, y, z
    {6, 65535},       {7, 65535},  {8, 49152},       // shared memory per block
    {9, 65536},                                      // constant memory
    {10, 32},                                        // warp
    {11, 2147483647},                                // pitch
    {12, 65536},                                     // registers per block
    {14, 512},                                       // texture alignment
    {15, 1},                                         // overlap
    {17, 0},                                         // time limit
    {18, 0},                                         // integrated
    {19, 1},                                         // maps host memory
    {20, 0},                                         // compute mode
    {21, 131072},                                    // textures
    {22, 131072},     {23, 65536}, {24, 16384},     {25, 16384},  {26, 16384},
    {27, 32768},      {28, 32768}, {29, 2048},      {30, 512},  // surface alignment
    {31, 1},                                                    // concurrent kernels
    {34, 0},                                                    // PCI device
    {35, 0},                                                    // TCC
    {41, 1},                                                    // unified addressing
    {42, 32768},      {43, 2048},  {44, 1},         {45, 32768},  {46, 32768},
    {47, 8192},       {48, 8192},  {49, 32768},     {50, 0},  // PCI domain
    {51, 32},                                                 // pitch alignment of textures
    {52, 32768},      {53, 32768}, {54, 2046},      {55, 32768},  {56, 131072},
    {57, 65536},      {58, 16384}, {59, 16384},     {60, 16384},  {61, 32768},
    {62, 2048},       {63, 32768}, {64, 32768},     {65, 2048},   {66, 32768},
    {67, 32768},      {68, 2046},  {69, 268435456}, {70, 131072}, {71, 65000},
    {72, 2097120},    {73, 32768}, {74, 32768},     {77, 32768},  {78, 1},  // stream priorities
    {79, 1},                                                                // L1 caches
    {80, 1},          {82, 65536},           // registers per multiprocessor
    {83, 1},                                 // managed memory
    {84, 0},          {86, 0},     {87, 2},  // single to double
    {89, 1},                                 // concurrent managed access
    {90, 1},                                 // preemption
    {91, 1},                                 // host pointer of registered memory
    {92, 0},          {93, 0},     {94, 0},  // the first form of stream memory operations
    {95, 1},                                 // cooperative launch
    {96, 1},          {98, 0},     {99, 1},  // host register
    {100, 0},         {101, 0},    {104, 0},        {105, 0},     {112, 1},
    {113, 1},         {114, 1},    {116, 0},                   // RDMA
    {117, 1},         {118, 0},    {119, 1},                   // pools export file descriptors
    {121, 1},         {122, 1},    {123, 1},        {128, 0},  // fabric handles
    {129, 1},         {130, 0},                                // no memory of a NUMA node
    {131, -1},        {132, 0},                                // multicast
    {133, 0},         {134, 0},                                // nearest NUMA node of the host
    {135, 0},         {136, 0},    {137, 0},        {138, 0},     {143, 0},
    {146, 0},         {147, 0},    {148, 1},
};

bool CardAttribute(const Card& card, int number, int attribute, int* value) {
  const bool hopper = card.major >= 9;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *value = card.clock_khz;
      return true;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = card.multiprocessors;
      return true;
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
      *value = card.ecc;
      return true;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      *value = number + 1;
      return true;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      *value = card.memory_clock_khz;
      return true;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      *value = card.memory_bus_bits;
      return true;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *value = card.l2_bytes;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      *value = card.threads_per_multiprocessor;
      return true;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      *value = card.copy_engines;
      return true;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = card.major;
      return true;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = card.minor;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      *value = card.shared_per_multiprocessor_bytes;
      return true;
    case CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID:
      *value = number;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = card.shared_per_block_optin_bytes;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      *value = card.blocks_per_multiprocessor;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE:
      *value = card.persisting_l2_bytes;
      return true;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
      *value = card.shared_reserved_per_block_bytes;
      return true;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
      *value = hopper;
      return true;
    case CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT:
      *value = hopper ? 4 : 1;
      return true;
    case CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED:
      *value = card.major >= 8;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE:
      *value = hopper ? 134217728 : 134213632;
      return true;
    case 139:
      *value = card.pci_device_id << 16 | 0x10de;
      return true;
    case 140:  // the value of the SXM board that was measured
      *value = card.pci_device_id == 0x2330 ? 0x16c110de : 0;
      return true;
    default:
      return false;
  }
}

bool CapabilityAttribute(const Spec& spec, int attribute, int* value) {
  uint32_t needs = 0;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      needs = kVmm;
      break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case 142:  // HOST_NUMA_MEMORY_POOLS_SUPPORTED
    case 144:  // HOST_MEMORY_POOLS_SUPPORTED
      needs = kMemoryPools;
      break;
    case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
      needs = kIpc;
      break;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
      needs = kVmm | kDmaBuf;
      break;
    case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
      needs = kDmaBuf;
      break;
    case 141:  // HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    case 145:  // HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
      needs = kVmm | kHostVmm;
      break;
    default:
      return false;
  }
  *value = (spec.without & needs) == 0;
  return true;
}

}  // namespace

bool DeviceAttribute(const Spec& spec, int device, int attribute, int* value) {
  if (attribute == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) {
    *value = spec.pageable;
    return true;
  }
  // The headers of CUDA 12.9, 13.0 and 13.1 introduced the attributes with these numbers, so older
  // drivers refuse them.
  if (attribute >= 141 && spec.cuda_version < 12090) return false;
  if (attribute >= 144 && spec.cuda_version < 13000) return false;
  if (attribute >= 148 && spec.cuda_version < 13010) return false;
  if (CardAttribute(spec.card, spec.cards[device], attribute, value)) return true;
  if (CapabilityAttribute(spec, attribute, value)) return true;
  for (const Constant& constant : kConstants) {
    if (constant.attribute != attribute) continue;
    *value = constant.value;
    return true;
  }
  return false;
}

}  // namespace vramstow::simulator
