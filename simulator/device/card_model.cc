#include "simulator/device/card_model.h"

#include <algorithm>
#include <string_view>

#include "base/work_cost.h"

namespace vramstow::simulator {
namespace {

constexpr double kNanoseconds = 1e9;
constexpr double kGib = 1024.0 * 1024 * 1024;

// Shares of the PCIe bandwidth that were measured on an H100 (docs/card.md), whose PCIe moves 55
// GB/s.
constexpr double kInPlaceShare = 50.8 / 55;  // a kernel that reads memory of the host
constexpr double kPageableTo = 9.6 / 55;     // pageable memory to the GPU
constexpr double kPageableFrom = 14.6 / 55;  // pageable memory from the GPU
constexpr uint64_t kLaunchNs = 3300;
constexpr uint64_t kWakeNs = 6100;  // a launch and a wait for it take 9.4 us

struct CallTime {
  double call_ns;
  double gib_ns;  // in addition, for each GiB
};
uint64_t TimeOf(const CallTime& time, uint64_t bytes) {
  return static_cast<uint64_t>(time.call_ns + time.gib_ns * static_cast<double>(bytes) / kGib);
}

// By VmmCall.
constexpr CallTime kOnDevice[kVmmCalls] = {
    {9'000, 17'000}, {700, 100}, {22'000, 45'000}, {15'000, 18'000}, {10'000, 320'000}};
constexpr CallTime kOnHost[kVmmCalls] = {
    {20'000, 200e6}, {700, 100}, {46'000, 9.5e6}, {15'000, 18'000}, {10'000, 25e6}};
constexpr CallTime kAllocate = {36'000, 72'000};
constexpr CallTime kFree = {30'000, 330'000};
// Other projects reported these times. Issue #111 of torch_memory_saver reports 0.37 s to pin a GiB
// and 0.145 s to unpin it. Issue #106 of dask-cuda reports 0.39 s both for pinning and for
// unpinning. A model server on an H100 reported times for unpinning that are close to 0.145 s.
constexpr CallTime kPin = {20'000, 310e6};
constexpr CallTime kUnpin = {10'000, 145e6};

}  // namespace

CardModel::CardModel(const Spec& spec) {
  if (!spec.clock_is_model) return;
  rates_ = FindCardRates(spec.card.key);
  link_bytes_per_ns_ = static_cast<double>(spec.card.link_bytes_per_us) / 1000;
  local_bytes_per_ns_ = static_cast<double>(spec.card.local_bytes_per_us) / 1000;
}

uint64_t CardModel::WorkNs(const vramstowSimulatorWorkLine& line, uint64_t link_bytes) const {
  if (!is_on()) return 0;
  const WorkSize size = {line.name,       line.precision,     line.operations,
                         line.read_bytes, line.written_bytes, line.items};
  const bool is_collective = std::string_view(line.kind) == "collective";
  double seconds = 0;
  if (is_collective) {
    seconds = SecondsOfCollective(size, *rates_);
  } else {
    const OperatorCost cost = CostOfOperator(size, *rates_);
    seconds = kKernelSeconds + std::max(cost.computing, cost.memory);
  }
  const double link_ns = static_cast<double>(link_bytes) / (link_bytes_per_ns_ * kInPlaceShare);
  return static_cast<uint64_t>(std::max(seconds * kNanoseconds, link_ns));
}

uint64_t CardModel::KernelNs() const {
  return is_on() ? static_cast<uint64_t>(kKernelSeconds * kNanoseconds) : 0;
}

uint64_t CardModel::CopyNs(CopyPlace to, CopyPlace from, uint64_t bytes) const {
  double rate = link_bytes_per_ns_;
  if (to == CopyPlace::kDevice && from == CopyPlace::kDevice) rate = local_bytes_per_ns_;
  if (from == CopyPlace::kPageable) rate *= kPageableTo;
  if (to == CopyPlace::kPageable) rate *= kPageableFrom;
  return is_on() ? static_cast<uint64_t>(static_cast<double>(bytes) / rate) : 0;
}

uint64_t CardModel::VmmNs(VmmCall call, bool on_host, uint64_t bytes) const {
  if (!is_on()) return 0;
  return TimeOf((on_host ? kOnHost : kOnDevice)[static_cast<int>(call)], bytes);
}

uint64_t CardModel::AllocateNs(uint64_t bytes) const {
  return is_on() ? TimeOf(kAllocate, bytes) : 0;
}
uint64_t CardModel::FreeNs(uint64_t bytes) const { return is_on() ? TimeOf(kFree, bytes) : 0; }
uint64_t CardModel::PinNs(uint64_t bytes) const { return is_on() ? TimeOf(kPin, bytes) : 0; }
uint64_t CardModel::UnpinNs(uint64_t bytes) const { return is_on() ? TimeOf(kUnpin, bytes) : 0; }
uint64_t CardModel::LaunchNs() const { return is_on() ? kLaunchNs : 0; }
uint64_t CardModel::OperatorCallNs() const {
  return is_on() ? static_cast<uint64_t>(kProgramSeconds * kNanoseconds) : 0;
}
uint64_t CardModel::WakeNs() const { return is_on() ? kWakeNs : 0; }

}  // namespace vramstow::simulator
