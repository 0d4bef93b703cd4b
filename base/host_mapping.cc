#include "base/host_mapping.h"

#include <charconv>
#include <cstdio>
#include <cstring>

namespace vramstow {
namespace {

// Returns the text from `begin` on. Unlike substr this cannot throw; the core library must not
// contain exceptions.
std::string_view From(std::string_view text, size_t begin) {
  text.remove_prefix(begin < text.size() ? begin : text.size());
  return text;
}
std::string_view UpTo(std::string_view text, size_t end) {
  return {text.data(), end < text.size() ? end : text.size()};
}

}  // namespace

HostMapping ReadHostMapping(std::string_view answer) {
  constexpr std::string_view kNode = "node:";
  constexpr std::string_view kNo = "no:";
  if (answer == "host") return {HostPlace::kHost, 0, {}};
  if (answer.starts_with(kNo)) return {HostPlace::kNone, 0, From(answer, kNo.size())};
  int node = 0;
  if (!answer.starts_with(kNode)) return {};
  const char* const end = answer.data() + answer.size();
  const auto [stop, error] = std::from_chars(answer.data() + kNode.size(), end, node);
  if (error != std::errc() || stop != end || node < 0) return {};
  return {HostPlace::kNode, node, {}};
}

std::string_view FindHostAnswer(const char* text, std::string_view uuid) {
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::string_view entry = UpTo(rest, rest.find(';'));
    rest.remove_prefix(entry.size() == rest.size() ? entry.size() : entry.size() + 1);
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = UpTo(entry, equals);
    if (name == uuid || name == "*") return From(entry, equals + 1);
  }
  return {};
}

void WriteDeviceUuid(const void* sixteen_bytes, char (&text)[kDeviceUuidBytes]) {
  unsigned char b[16];
  std::memcpy(b, sixteen_bytes, sizeof b);
  std::snprintf(text, sizeof text,
                "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                b[14], b[15]);
}

}  // namespace vramstow
