// Whether memory of the host can be mapped for a device, and where it has to be made: an answer
// that travels in an environment variable.
//
// Idea: drivers have crashed when they were asked for such memory, and the job is no place to find
// that out. So `vramstow run` has it tried in a process of its own and tells the job the outcome.
// The text has an entry for each device, with semicolons between: "UUID=host" (on the host as a
// whole), "UUID=node:1" (at this NUMA node), "UUID=no:REASON". "*" stands for every device.
//
// Ownership: results lie in the text. Threads: pure functions. Errors: kUnknown. Units: none.
#ifndef VRAMSTOW_BASE_HOST_MAPPING_H_
#define VRAMSTOW_BASE_HOST_MAPPING_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vramstow {

inline constexpr char kHostMappingVariable[] = "VRAMSTOW_HOST_MAPPING";

enum class HostPlace : uint8_t {
  kUnknown,  // nobody has tried
  kNone,
  kHost,
  kNode,
};

struct HostMapping {
  HostPlace place = HostPlace::kUnknown;
  int node = 0;             // of kNode
  std::string_view reason;  // of kNone
};

// The text behind the "=": "host", "node:1", "no:REASON".
HostMapping ReadHostMapping(std::string_view answer);
// The answer for a device; empty: there is none. `text` may be null.
std::string_view FindHostAnswer(const char* text, std::string_view uuid);

// As nvidia-smi writes it, with its zero byte.
inline constexpr size_t kDeviceUuidBytes = 41;
void WriteDeviceUuid(const void* sixteen_bytes, char (&text)[kDeviceUuidBytes]);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_HOST_MAPPING_H_
