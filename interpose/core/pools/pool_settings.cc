#include "interpose/core/pools/pool_settings.h"

#include <cstring>

#include "base/units.h"

namespace vramstow {

PoolBacking BackingOf(const Options& options) {
  if (std::strcmp(options.backing, "vmm") == 0) return PoolBacking::kVirtual;
  const bool plain = std::strcmp(options.backing, "malloc") == 0;
  return plain ? PoolBacking::kSegments : PoolBacking::kAny;
}

FreeWaits FreeWaitsOf(const Options& options) {
  if (std::strcmp(options.free_waits, "always") == 0) return FreeWaits::kAlways;
  return std::strcmp(options.free_waits, "never") == 0 ? FreeWaits::kNever : FreeWaits::kAuto;
}

PoolConfig PoolConfigOf(const Options& options, uint64_t total_bytes) {
  PoolConfig config;
  config.backing = BackingOf(options);
  ParseLimit(options.limit, total_bytes, &config.limit_bytes);
  ParseBytes(options.large_chunks, &config.large_chunk_bytes);
  ParseBytes(options.keep_free, &config.watermark_bytes);
  ParseDuration(options.decay, &config.decay_ns);
  config.check = options.check;
  config.free_wait_ns = 20'000'000;
  return config;
}

bool IsListed(const char* list, const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* file = slash == nullptr ? path : slash + 1;
  for (const char* name = list; *name != '\0';) {
    const size_t length = std::strcspn(name, ",");
    if (length > 0 && std::strncmp(name, file, length) == 0) return true;
    name += length;
    if (*name == ',') ++name;
  }
  return false;
}

}  // namespace vramstow
