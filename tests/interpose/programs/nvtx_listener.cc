// A tool that uses NVTX's memory extension: it writes what it receives, and the errors in it, into
// the file that NVTX_LISTENER_FILE names. It is built with NVIDIA's own headers, so that vramstow's
// layouts are compared with them.
//
// With NVTX_LISTENER_MOOD=declines the tool declines the extension; with "regions" it accepts it
// without the functions for regions.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtMem.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#define LISTENER_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

std::mutex mutex;
std::map<uint64_t, Range> heaps;    // the keys are their handles
std::map<uint64_t, Range> regions;  // the keys are their addresses
uint64_t heap_count = 0;
char domain_place = 0;

FILE* Notes() {
  static FILE* const file = std::fopen(std::getenv("NVTX_LISTENER_FILE"), "ae");
  return file;
}

void Expect(bool right, const char* what) {
  if (!right) std::fprintf(Notes(), "wrong: %s\n", what);
}

bool MoodIs(const char* mood) {
  const char* said = std::getenv("NVTX_LISTENER_MOOD");
  return said != nullptr && std::strcmp(said, mood) == 0;
}

Range RangeOf(const void* description) {
  const auto& range = *static_cast<const nvtxMemVirtualRangeDesc_t*>(description);
  const auto begin = reinterpret_cast<uint64_t>(range.ptr);
  return {begin, begin + range.size};
}

void ExpectDomain(nvtxDomainHandle_t domain) {
  Expect(reinterpret_cast<char*>(domain) == &domain_place, "a domain that was never made");
}

nvtxMemHeapHandle_t HeapRegister(nvtxDomainHandle_t domain, nvtxMemHeapDesc_t const* about) {
  const std::lock_guard<std::mutex> lock(mutex);
  ExpectDomain(domain);
  Expect(about->extCompatID == NVTX_EXT_COMPATID_MEM && about->structSize == sizeof *about,
         "another structure for a heap");
  Expect(about->usage == NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, "no sub-allocator");
  Expect(about->type == NVTX_MEM_TYPE_VIRTUAL_ADDRESS &&
             about->typeSpecificDescSize == sizeof(nvtxMemVirtualRangeDesc_t),
         "no virtual addresses");
  const Range range = RangeOf(about->typeSpecificDesc);
  for (const auto& [number, other] : heaps) {
    Expect(range.end <= other.begin || range.begin >= other.end, "two heaps overlap");
  }
  heaps[++heap_count] = range;
  std::fprintf(Notes(), "heap 0x%lx %lu\n", range.begin, range.end - range.begin);
  return reinterpret_cast<nvtxMemHeapHandle_t>(heap_count);
}

void HeapUnregister(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap) {
  const std::lock_guard<std::mutex> lock(mutex);
  ExpectDomain(domain);
  const auto found = heaps.find(reinterpret_cast<uint64_t>(heap));
  Expect(found != heaps.end(), "a heap goes that never came");
  if (found == heaps.end()) return;
  std::fprintf(Notes(), "heap-gone 0x%lx\n", found->second.begin);
  regions.erase(regions.lower_bound(found->second.begin), regions.lower_bound(found->second.end));
  heaps.erase(found);
}

void RegionsRegister(nvtxDomainHandle_t domain, nvtxMemRegionsRegisterBatch_t const* batch) {
  const std::lock_guard<std::mutex> lock(mutex);
  ExpectDomain(domain);
  Expect(batch->extCompatID == NVTX_EXT_COMPATID_MEM && batch->structSize == sizeof *batch,
         "another structure for regions");
  Expect(batch->regionType == NVTX_MEM_TYPE_VIRTUAL_ADDRESS &&
             batch->regionDescElementSize == sizeof(nvtxMemVirtualRangeDesc_t),
         "a region that is no virtual address");
  const auto heap = heaps.find(reinterpret_cast<uint64_t>(batch->heap));
  Expect(heap != heaps.end(), "a region in no heap");
  for (size_t i = 0; heap != heaps.end() && i < batch->regionCount; ++i) {
    const Range range =
        RangeOf(static_cast<const nvtxMemVirtualRangeDesc_t*>(batch->regionDescElements) + i);
    Expect(range.begin >= heap->second.begin && range.end <= heap->second.end,
           "a region that is not within its heap");
    const auto next = regions.lower_bound(range.begin);
    Expect(next == regions.end() || next->second.begin >= range.end, "two regions overlap");
    Expect(next == regions.begin() || std::prev(next)->second.end <= range.begin,
           "two regions overlap");
    regions[range.begin] = range;
    std::fprintf(Notes(), "region 0x%lx %lu\n", range.begin, range.end - range.begin);
  }
}

void RegionsUnregister(nvtxDomainHandle_t domain, nvtxMemRegionsUnregisterBatch_t const* batch) {
  const std::lock_guard<std::mutex> lock(mutex);
  ExpectDomain(domain);
  Expect(batch->extCompatID == NVTX_EXT_COMPATID_MEM && batch->structSize == sizeof *batch,
         "another structure for regions that go");
  Expect(batch->refType == NVTX_MEM_REGION_REF_TYPE_POINTER &&
             batch->refElementSize == sizeof(nvtxMemRegionRef_t),
         "a region that goes is not named by its address");
  for (size_t i = 0; i < batch->refCount; ++i) {
    const auto address = reinterpret_cast<uint64_t>(batch->refElements[i].pointer);
    Expect(regions.erase(address) == 1, "a region goes that never came");
    std::fprintf(Notes(), "gone 0x%lx\n", address);
  }
}

nvtxDomainHandle_t DomainCreate(const char* name) {
  std::fprintf(Notes(), "domain %s\n", name);
  return reinterpret_cast<nvtxDomainHandle_t>(&domain_place);
}

}  // namespace

LISTENER_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned count = 0;
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &count) == 0 ||
      count <= NVTX_CBID_CORE2_DomainCreateA) {
    return 0;
  }
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(DomainCreate);
  return 1;
}

LISTENER_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  if (module->moduleId != NVTX_EXT_MODULEID_MEM || MoodIs("declines")) return 0;
  Expect(module->nvtxVer == NVTX_VERSION && module->structSize == sizeof *module &&
             module->compatId == NVTX_EXT_COMPATID_MEM && module->segmentsCount == 1,
         "another structure for an extension");
  intptr_t* const slots = module->segments[0].functionSlots;
  Expect(module->segments[0].segmentId == 1 &&
             module->segments[0].slotCount > NVTX3EXT_CBID_nvtxMemCudaMarkInitialized,
         "too few places for functions");
  slots[NVTX3EXT_CBID_nvtxMemHeapRegister] = reinterpret_cast<intptr_t>(HeapRegister);
  slots[NVTX3EXT_CBID_nvtxMemHeapUnregister] = reinterpret_cast<intptr_t>(HeapUnregister);
  if (MoodIs("regions")) return 1;
  slots[NVTX3EXT_CBID_nvtxMemRegionsRegister] = reinterpret_cast<intptr_t>(RegionsRegister);
  slots[NVTX3EXT_CBID_nvtxMemRegionsUnregister] = reinterpret_cast<intptr_t>(RegionsUnregister);
  return 1;
}
