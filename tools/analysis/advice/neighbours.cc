#include "tools/analysis/advice/neighbours.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/order.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/facts/named_facts.h"

namespace vramstow {
namespace {

constexpr uint64_t kMaxContext = uint64_t{768} << 20;
// The end of a killed process is not recorded, so the process may have lived this much longer than
// its trace (nanoseconds).
constexpr uint64_t kSlack = 10'000'000'000;

std::string OfDevice(int device, const char* what) {
  return "device." + std::to_string(device) + "." + what;
}

// The part of a GPU that a process held at one moment.
struct Share {
  const Facts* facts = nullptr;
  uint64_t bytes = 0;    // bytes of its blocks and of its pool
  uint64_t context = 0;  // bytes of its context; 0 if its trace does not contain them
  uint64_t cached = 0;   // the part of these bytes without blocks
  std::string place;     // the line that allocated most of the bytes
};

// Returns the number that another trace gives to the GPU with this UUID.
std::optional<int> DeviceOf(const Facts& facts, const std::string& uuid) {
  for (const DeviceFacts& device : facts.devices) {
    if (FactText(facts.trace_metadata, OfDevice(device.device, "uuid")) == uuid) {
      return device.device;
    }
  }
  return std::nullopt;
}

bool LivesAtTime(const Life& life, int device, uint64_t time) {
  return life.device == device && life.birth_ns <= time && time < life.death_ns;
}

Share ShareOf(const Analysis& other, int device, uint64_t time) {
  Share share;
  share.facts = &other.facts;
  std::map<std::string, uint64_t> by_place;
  uint64_t tensors = 0;
  uint64_t driver = 0;
  for (const Life& life : other.detail.lives) {
    if (life.pending || !LivesAtTime(life, device, time)) continue;
    (life.tensor ? tensors : driver) += life.size;
    by_place[PlaceOf(other.detail, life.site)] += life.size;
  }
  uint64_t reserved = 0;
  for (const Life& segment : other.detail.segments) {
    if (LivesAtTime(segment, device, time)) reserved += segment.size;
  }
  share.bytes = driver + std::max(tensors, reserved);
  share.cached = reserved - std::min(reserved, tensors);
  if (share.bytes == 0) return share;
  share.place =
      std::ranges::max_element(by_place, {}, [](const auto& one) { return one.second; })->first;
  // If the memory that was missing when the process began is no more than a context takes, it is
  // the context of this process.
  const auto total =
      FactNumber<uint64_t>(other.facts.trace_metadata, OfDevice(device, "total_bytes"));
  const auto free =
      FactNumber<uint64_t>(other.facts.trace_metadata, OfDevice(device, "free_bytes_at_start"));
  const uint64_t taken = total.value_or(0) - std::min(total.value_or(0), free.value_or(0));
  if (free.has_value() && taken <= kMaxContext) share.context = taken;
  return share;
}

// Returns the processes that held memory of this GPU at this moment, according to the other traces.
// The process that held most comes first.
std::vector<Share> SharesOf(const std::vector<Recorded>& recorded, const Recorded& failed,
                            const OutOfMemoryFacts& failure) {
  std::vector<Share> shares;
  const Facts& own = failed.analysis->facts;
  const std::string uuid = FactText(own.trace_metadata, OfDevice(failure.device, "uuid"));
  if (uuid.empty() || failed.start_unix_ns == 0) return shares;
  const uint64_t failed_at = failed.start_unix_ns + failure.time_ns;
  for (const Recorded& one : recorded) {
    const Analysis& other = *one.analysis;
    if (&other == failed.analysis || one.start_unix_ns == 0 || one.start_unix_ns > failed_at)
      continue;
    if (FactText(other.facts.trace_metadata, "process.host") !=
        FactText(own.trace_metadata, "process.host")) {
      continue;
    }
    const uint64_t time = failed_at - one.start_unix_ns;
    const uint64_t end = other.facts.end_ns + (other.facts.report.closed ? 0 : kSlack);
    const std::optional<int> device = DeviceOf(other.facts, uuid);
    if (!device.has_value() || time > end) continue;
    Share share = ShareOf(other, *device, time);
    if (share.bytes > 0) shares.push_back(std::move(share));
  }
  std::ranges::stable_sort(shares, std::ranges::greater(), &Share::bytes);
  return shares;
}

// True if one `vramstow run` started both processes.
bool AreOfOneRun(const Facts& a, const Facts& b) {
  const std::string run = FactText(a.trace_metadata, "run.id");
  return !run.empty() && run == FactText(b.trace_metadata, "run.id");
}

std::string ProcessOf(const Share& share) {
  return "process " + FactText(share.facts->trace_metadata, "process.pid");
}

// Adds the bytes of all processes to the advice, and names them. The driver did not list them, so
// the advice has had only an estimate.
void NameAll(const std::vector<Share>& shares, AdviceFacts* advice) {
  constexpr size_t kMaxNamed = 3;
  uint64_t rest = 0;
  advice->bytes = 0;
  advice->is_estimate = false;
  advice->holder.clear();
  for (size_t i = 0; i < shares.size(); ++i) {
    advice->bytes += shares[i].bytes + shares[i].context;
    advice->is_estimate |= shares[i].context == 0;
    if (i > 0) rest += shares[i].bytes;
    if (i < kMaxNamed) advice->holder += (i == 0 ? "" : ", ") + ProcessOf(shares[i]);
  }
  if (shares.size() > kMaxNamed) {
    advice->holder += " and " + std::to_string(shares.size() - kMaxNamed) + " more";
  }
  if (shares.front().context > 0) {
    advice->evidence += " Its context takes " + AdviceText(shares.front().context) + " besides.";
  }
  if (shares.size() == 1) return;
  advice->evidence +=
      shares.size() == 2
          ? " The trace of " + ProcessOf(shares[1]) + " reports " + AdviceText(rest) + "."
          : " The traces of " + std::to_string(shares.size() - 1) + " other processes report " +
                AdviceText(rest) + " in total.";
}

// `shares` has at least one process.
void Name(const std::vector<Share>& shares, const Facts& own, AdviceFacts* advice) {
  const Share& share = shares.front();
  const std::string process = ProcessOf(share);
  // If the driver listed the process, the driver's number includes the context of the process.
  // Otherwise the context is added.
  const bool is_listed = advice->place == process;
  advice->title = is_listed || shares.size() == 1
                      ? "Another process uses a part of the GPU's memory"
                      : "Other processes use a part of the GPU's memory";
  advice->holder = process;
  advice->place = share.place + " of " + process;
  advice->evidence += " The trace of " + process + " reports that it held " +
                      AdviceText(share.bytes) + " then, most of it from " + share.place + ".";
  if (!is_listed) NameAll(shares, advice);
  advice->action =
      "End " + process +
      ", or wait for it, let it use less, or choose another GPU with CUDA_VISIBLE_DEVICES.";
  if (AreOfOneRun(own, *share.facts)) {
    advice->title = "Several processes of this run share the GPU";
    advice->action =
        "Use a separate GPU for each process (torch.cuda.set_device(local_rank)), start fewer of "
        "them, or let each use less.";
    if (share.cached * 2 > share.bytes) {
      advice->evidence +=
          " " + AdviceText(share.cached) + " of it is cached, and nothing in the cache is live.";
      advice->action =
          "End the process when its work is done (for a pool of workers: shutdown(), or a with "
          "block), or let it call torch.cuda.empty_cache() then. Otherwise start fewer of them.";
    }
  }
}

}  // namespace

void NameNeighbours(const std::vector<Recorded>& recorded) {
  for (const Recorded& failed : recorded) {
    Facts& own = failed.analysis->facts;
    if (own.out_of_memory.empty()) continue;
    OutOfMemoryFacts& failure = own.out_of_memory.back();
    for (AdviceFacts& advice : own.advice) {
      if (advice.id != AdviceId::kOtherProcesses) continue;
      const std::vector<Share> shares = SharesOf(recorded, failed, failure);
      if (shares.empty()) continue;
      Name(shares, own, &advice);
      for (WouldFitFacts& one : failure.would_fit) {
        if (one.cause != advice.id) continue;
        const bool fits = one.fits;  // as the failed process knew it
        one = WouldFit(advice);
        one.fits = fits;
      }
    }
  }
}

}  // namespace vramstow
