#include "tools/analysis/advice/advice_words.h"

#include <algorithm>
#include <cstdio>

#include "base/units.h"

namespace vramstow {
namespace {

constexpr uint64_t kLeastBytes = 16 * kMiB;
constexpr double kLeastShare = 0.03;  // share of the peak
constexpr size_t kMaxNames = 3;

}  // namespace

std::string AdviceText(uint64_t bytes) { return FormatBytes(bytes).text; }

std::string AdvicePercent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "0%";
  char text[16];
  std::snprintf(text, sizeof text, "%.0f%%",
                100 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

bool IsWorthAdvice(const Facts& facts, uint64_t bytes) {
  const uint64_t peak = std::max(facts.peak.allocated_bytes, facts.peak.reserved_bytes);
  return bytes >= kLeastBytes &&
         static_cast<double>(bytes) >= kLeastShare * static_cast<double>(peak);
}

uint64_t CardBytes(const Facts& facts) {
  uint64_t capacity = 0;
  for (const DeviceFacts& device : facts.devices) {
    capacity += device.free_bytes_at_start.value_or(device.total_bytes.value_or(0));
  }
  return capacity;
}

bool HasRoom(const Facts& facts) {
  if (!facts.out_of_memory.empty() || facts.devices.size() != 1) return false;
  const uint64_t used = std::max(facts.peak.allocated_bytes, facts.peak.reserved_bytes);
  return used > 0 && used <= CardBytes(facts) / 2;
}

bool MayTrain(const Detail& detail) {
  const auto trains = [](const SiteDetail& site) {
    return site.in_backward || site.phase == Phase::kBackward || site.in_optimizer;
  };
  return std::ranges::any_of(detail.sites, trains) ||
         std::ranges::none_of(detail.sites, &SiteDetail::by_stack);
}

bool Mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string FirstNames(const std::vector<std::string>& names) {
  std::string text;
  std::vector<std::string> listed;
  for (const std::string& name : names) {
    if (std::ranges::find(listed, name) != listed.end()) continue;
    if (listed.size() == kMaxNames) break;
    listed.push_back(name);
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string SitesOfPhase(const Detail& detail, Phase phase) {
  std::vector<const SiteDetail*> sites;
  for (const SiteDetail& site : detail.sites) {
    if (site.phase == phase && site.at_peak.bytes > 0) sites.push_back(&site);
  }
  std::stable_sort(sites.begin(), sites.end(), [](const auto* a, const auto* b) {
    return a->at_peak.bytes > b->at_peak.bytes;
  });
  std::vector<std::string> names;
  for (const SiteDetail* site : sites) names.push_back(site->site);
  return FirstNames(names);
}

}  // namespace vramstow
