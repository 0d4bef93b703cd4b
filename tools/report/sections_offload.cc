// What was moved to the host, what the job owes to that, and what an iteration takes by the model.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/base/link.h"
#include "tools/base/words.h"
#include "tools/report/sections.h"

namespace vramstow {
namespace {

uint64_t Nanoseconds(double seconds) { return static_cast<uint64_t>(seconds * 1e9 + 0.5); }

bool IsTooSmall(const OffloadFacts& offload) { return offload.needed_bytes > offload.card_bytes; }

}  // namespace

std::string MovedInWords(const OffloadFacts& offload) {
  return absl::StrFormat(
      "%s to the host, %s back (about %s at 24 GiB/s); submissions waited %s, at most %s at once",
      Bytes(offload.out_bytes), Bytes(offload.returned_bytes),
      Time(LinkNs(offload.out_bytes + offload.returned_bytes)), Time(offload.gate_ns),
      Time(offload.longest_gate_ns));
}

// The holders whose memory went, the most first.
std::string OffloadedSites(const OffloadFacts& offload) {
  constexpr size_t kMost = 5;
  std::string text;
  for (size_t i = 0; i < std::min(offload.sites.size(), kMost); ++i) {
    const OffloadSite& site = offload.sites[i];
    absl::StrAppend(&text, "    ", Bytes(site.bytes), " of ", Printable(site.site),
                    site.operation.empty() ? "" : absl::StrCat(", ", Printable(site.operation)),
                    "\n");
  }
  return text;
}

std::string NeedInWords(const OffloadFacts& offload) {
  if (!offload.carries_job) return "";
  if (!IsTooSmall(offload)) {
    return absl::StrCat("This job ran because ", Bytes(offload.most_bytes),
                        " were moved to the host");
  }
  return absl::StrCat("This job needs ", Bytes(offload.needed_bytes),
                      " of GPU memory; the GPU has ", Bytes(offload.card_bytes));
}

std::string CarriedInWords(const OffloadFacts& offload) {
  if (!offload.carries_job) return "";
  return IsTooSmall(offload) ? absl::StrCat("It ran because ", Bytes(offload.most_bytes),
                                            " were moved to the host.")
                             : "The GPU had no room left for them when the job asked for more.";
}

std::string MostMovedInWords(const OffloadFacts& offload) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t i = 0; i < std::min(offload.sites.size(), kMost); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Bytes(offload.sites[i].bytes), " of ",
                    Printable(offload.sites[i].site));
  }
  return text.empty() ? "" : text + ", all moves together.";
}

std::string StepInWords(const ModelClockFacts& clock) {
  if (!clock.known()) return "";
  std::string text = absl::StrCat("An iteration takes ", Time(Nanoseconds(clock.step_seconds)),
                                  " by the model of the card");
  const uint64_t held_ns = Nanoseconds(clock.wait_seconds);
  if (held_ns != 0) {
    absl::StrAppend(&text, "; for ", Time(held_ns), " of it work is held up while memory moves");
  }
  constexpr uint64_t kLeastTold = 1 << 20;  // a loss that the program reads takes some bytes
  const std::pair<uint64_t, const char*> moved[] = {
      {clock.link_read_bytes, " are used in place over the link"},
      {clock.out_bytes, " are copied to the host"},
      {clock.in_bytes, " are copied to the GPU"}};
  std::vector<std::string> parts;
  for (const auto& [bytes, what] : moved) {
    if (bytes >= kLeastTold) parts.push_back(Bytes(bytes) + what);
  }
  if (parts.empty()) return text + ".";
  return absl::StrCat(text, ". In it ", absl::StrJoin(parts, ", "), ".");
}

}  // namespace vramstow
