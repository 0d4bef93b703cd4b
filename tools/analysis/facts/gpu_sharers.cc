#include "tools/analysis/facts/gpu_sharers.h"

#include <algorithm>
#include <cstdint>

#include "base/options.h"
#include "tools/analysis/facts/attempts.h"
#include "tools/analysis/facts/named_facts.h"
#include "tools/analysis/facts/process_images.h"

namespace vramstow {
namespace {

bool HadMemory(const DeviceFacts& device) {
  return device.device >= 0 && (device.peak_bytes != 0 || device.peak_reserved_bytes != 0);
}

// Returns a text that is the same for the same GPU; empty if its UUID is not known, as in the
// snapshots of PyTorch. Device 0 of two processes may be two GPUs.
std::string NameOf(const Facts& trace, const DeviceFacts& device) {
  const std::string uuid =
      FactText(trace.trace_metadata, "device." + std::to_string(device.device) + ".uuid");
  return uuid.empty() ? "" : FactText(trace.trace_metadata, "process.host") + " " + uuid;
}

// True if the first process had ended when the second one began. A process whose trace was not
// closed may still run.
bool EndedBefore(const Facts& first, const Facts& second) {
  return first.report.closed && first.start_unix_ns != 0 &&
         LastMomentOf(first) < second.start_unix_ns;
}

bool WereTogether(const Facts& a, const Facts& b) {
  return !IsSameProcess(a, b) && !EndedBefore(a, b) && !EndedBefore(b, a);
}

}  // namespace

GpuSharers::GpuSharers(const std::vector<Facts>& traces) {
  for (const Facts& trace : traces) {
    for (const DeviceFacts& device : trace.devices) {
      const std::string name = NameOf(trace, device);
      if (HadMemory(device) && !name.empty()) of_gpu_[name].push_back(&trace);
    }
  }
}

std::vector<const Facts*> GpuSharers::Of(const Facts& trace, const DeviceFacts& device) const {
  std::vector<const Facts*> others;
  const auto users = of_gpu_.find(NameOf(trace, device));
  if (users == of_gpu_.end()) return others;
  for (const Facts* user : users->second) {
    if (user != &trace && WereTogether(*user, trace)) others.push_back(user);
  }
  return others;
}

bool GpuSharers::SharesAny(const Facts& trace) const {
  return IsWithShare(trace) || std::ranges::any_of(trace.devices, [&](const DeviceFacts& device) {
           return HadMemory(device) && !Of(trace, device).empty();
         });
}

bool IsWithShare(const Facts& trace) {
  ShareSetting setting;
  const std::string text = FactText(trace.trace_metadata, "option.share");
  return !text.empty() && ParseShare(text, &setting) && setting.on;
}

bool HadToLeave(const Facts& trace) {
  return FactNumber<uint64_t>(trace.trace_metadata, "share.out_bytes").value_or(0) != 0;
}

}  // namespace vramstow
