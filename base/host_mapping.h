// Reads, from an environment variable, whether host memory can be mapped for a device, and where
// that memory must be created.
//
// Idea: some drivers have crashed when they were asked for such memory, and this must not happen in
// the user's job. So `vramstow run` tries it in a separate process and passes the result to the job
// in the variable. The text has an entry for each device, separated by semicolons: "UUID=host" (the
// host as a whole), "UUID=node:1" (this NUMA node), "UUID=no:REASON". "*" stands for every device.
//
// Ownership: results point into the text. Threads: pure functions. Errors: kUnknown. Units: none.
#ifndef VRAMSTOW_BASE_HOST_MAPPING_H_
#define VRAMSTOW_BASE_HOST_MAPPING_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vramstow {

inline constexpr char kHostMappingVariable[] = "VRAMSTOW_HOST_MAPPING";

enum class HostPlace : uint8_t {
  kUnknown,  // it was not tried
  kNone,
  kHost,
  kNode,
};

struct HostMapping {
  HostPlace place = HostPlace::kUnknown;
  int node = 0;             // node number for kNode
  std::string_view reason;  // reason for kNone
};

// Parses the part of an entry after the "=": "host", "node:1", or "no:REASON".
HostMapping ReadHostMapping(std::string_view answer);
// Returns the part after the "=" of a device's entry, or an empty text if there is no entry. `text`
// may be null.
std::string_view FindHostAnswer(const char* text, std::string_view uuid);

// The length of a UUID as nvidia-smi writes it, including its zero byte.
inline constexpr size_t kDeviceUuidBytes = 41;
void WriteDeviceUuid(const void* sixteen_bytes, char (&text)[kDeviceUuidBytes]);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_HOST_MAPPING_H_
