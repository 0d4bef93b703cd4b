// The C API's exported functions: each hands its arguments to the core, if that is there.
#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/vramstow.h"

#include "interpose/shim/core_loader.h"
#include "interpose/shim/seam.h"

#define VRAMSTOW_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

const VramstowApi* Api() {
  const VramstowCore* core = vramstow::OpenedCore();
  return core == nullptr ? nullptr : core->api;
}

}  // namespace

VRAMSTOW_EXPORT const char* vramstow_version(void) { return VRAMSTOW_VERSION; }

VRAMSTOW_EXPORT int vramstow_empty_cache(int device, uint64_t* released_bytes,
                                         uint64_t* duration_ns) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE
                        : api->empty_cache(device, released_bytes, duration_ns);
}

VRAMSTOW_EXPORT int vramstow_set_limit(int device, uint64_t bytes) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->set_limit(device, bytes);
}

VRAMSTOW_EXPORT int vramstow_get_stats(int device, struct vramstow_stats* stats, size_t size) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->get_stats(device, stats, size);
}

VRAMSTOW_EXPORT int vramstow_get_blocks(int device, struct vramstow_block* blocks, uint64_t* count,
                                        size_t size) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->get_blocks(device, blocks, count, size);
}

VRAMSTOW_EXPORT int vramstow_reset_peaks(int device) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->reset_peaks(device);
}

// An adapter may come before anybody has looked the driver up.
VRAMSTOW_EXPORT const struct vramstow_framework* vramstow_framework_table(uint32_t version) {
  const VramstowCore* core = vramstow::OpenCore();
  return core == nullptr ? nullptr : core->framework(version);
}

// Programs register hooks before they use CUDA, so the core may have to be opened for that.
VRAMSTOW_EXPORT int vramstow_register_pressure_hook(vramstow_hook hook, void* context) {
  const VramstowCore* core = vramstow::OpenCore();
  return core == nullptr ? VRAMSTOW_NOT_ACTIVE : core->api->add_hook(hook, context);
}

VRAMSTOW_EXPORT int vramstow_unregister_pressure_hook(vramstow_hook hook, void* context) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->remove_hook(hook, context);
}

VRAMSTOW_EXPORT int vramstow_mark(const char* text) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->mark(text);
}

VRAMSTOW_EXPORT int vramstow_range_push(const char* text) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->push_range(text);
}

VRAMSTOW_EXPORT int vramstow_range_pop(void) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->pop_range();
}

VRAMSTOW_EXPORT int vramstow_dump(char* path, size_t size) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->dump(path, size);
}

VRAMSTOW_EXPORT int vramstow_iteration(uint64_t number) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->begin_iteration(number);
}

// A region may begin before CUDA is used.
VRAMSTOW_EXPORT int vramstow_region_push(const char* name) {
  const VramstowCore* core = vramstow::OpenCore();
  return core == nullptr ? VRAMSTOW_NOT_ACTIVE : core->api->push_region(name);
}

VRAMSTOW_EXPORT int vramstow_region_pop(void) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->pop_region();
}

VRAMSTOW_EXPORT int vramstow_offload(const char* region) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->offload(region);
}

VRAMSTOW_EXPORT int vramstow_pause(const char* region, int contents) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->pause(region, contents);
}

VRAMSTOW_EXPORT int vramstow_resume(const char* region) {
  const VramstowApi* api = Api();
  return api == nullptr ? VRAMSTOW_NOT_ACTIVE : api->resume(region);
}
