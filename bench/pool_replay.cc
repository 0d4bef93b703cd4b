// Replays request files (see pool_traces.py, pool_jobs.py) through the pool on a fake device, and
// prints one line for each file: the peaks, their ratio, and the driver calls.
//
// Usage: pool_replay [--chunk BYTES] [--large-chunks BYTES] [--small BYTES] [--slack PERMILLE]
// [--waits] [--limit RATIO] [--log LOG] [--mesh] FILE…
// With --waits every free waits for all work, as cuMemFree does. `settled` is the last iteration in
// which the pool asked the driver for memory. The exit status is 1 if a file's ratio is above
// --limit and its peak is at least 500 MiB. Every driver call and every block is written to LOG, in
// order. --mesh adds what shared chunks could save (mesh_bound.h), computed whenever the pool has
// grown.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "allocator/pool/pool.h"
#include "base/units.h"
#include "bench/mesh_bound.h"
#include "tests/allocator/driver_log.h"
#include "tests/allocator/fake_device.h"

namespace vramstow {
namespace {

struct Outcome {
  PoolStats stats{};
  uint64_t maps = 0;
  uint64_t creates = 0;
  uint64_t late_maps = 0;  // maps in the last third of the iterations
  uint64_t settled = 0;    // the last iteration, from 1, in which the driver was called
  bool failed = false;
  MeshCounts mesh;  // the largest value of each over the run
};

// Examines the live blocks whenever the pool allocates device memory.
class MeshWatch {
 public:
  MeshWatch(uint64_t page_bytes, bool on) : bound_(page_bytes), on_(on) {}

  void Allocated(const Block& block, uint64_t creates) {
    if (!on_) return;
    bound_.Add(block.address, block.size);
    if (creates == creates_) return;
    creates_ = creates;
    const MeshCounts now = bound_.Look();
    most_ = {std::max(most_.pages, now.pages), std::max(most_.pairs, now.pairs),
             std::max(most_.groups, now.groups), std::max(most_.least, now.least)};
  }
  void Freed(uint64_t address) {
    if (on_) bound_.Remove(address);
  }
  const MeshCounts& most() const { return most_; }

 private:
  MeshBound bound_;
  bool on_;
  uint64_t creates_ = 0;
  MeshCounts most_;
};

Outcome Replay(const std::string& path, const PoolConfig& config, bool waits, bool mesh,
               DriverLog* log) {
  FakeDevice::Options options;
  options.total_bytes = 80 * kGiB;
  FakeDevice device(options);
  auto pool = std::make_unique<Pool>();
  Outcome outcome;
  const DriverTable* table = log == nullptr ? device.table() : log->Over(device.table());
  if (pool->Open(table, config) != PoolError::kOk) {
    outcome.failed = true;
    return outcome;
  }
  MeshWatch watch(config.chunk_bytes, mesh);
  std::unordered_map<uint64_t, uint64_t> addresses;
  std::vector<uint64_t> maps_at_iteration;
  std::vector<uint64_t> calls_at_iteration;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    char kind = 0;
    uint64_t id = 0;
    uint64_t size = 0;
    uint64_t stream = 0;
    words >> kind >> id >> size >> stream;
    if (kind == 'a') {
      Block block{};
      const BlockRequest request{size == 0 ? 1 : size, stream, 0, Layer::kFramework};
      const PoolError error = pool->Allocate(request, &block);
      if (log != nullptr) log->Allocated(std::to_string(id), error, block);
      if (error != PoolError::kOk) outcome.failed = true;
      addresses[id] = block.address;
      watch.Allocated(block, device.Calls("create"));
    } else if (kind == 'f') {
      const PoolError error = pool->Free(addresses[id]);
      if (log != nullptr) log->Freed(std::to_string(id), error);
      if (error != PoolError::kOk) outcome.failed = true;
      if (waits) pool->Synchronize();
      watch.Freed(addresses[id]);
      addresses.erase(id);
    } else if (kind == 'i') {
      maps_at_iteration.push_back(device.Calls("map"));
      calls_at_iteration.push_back(device.Calls("map") + device.Calls("create"));
    }
  }
  const char* wrong = pool->Check();
  if (wrong != nullptr || !device.violations().empty()) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(),
                 wrong != nullptr ? wrong : device.violations().front().c_str());
    outcome.failed = true;
  }
  calls_at_iteration.push_back(device.Calls("map") + device.Calls("create"));
  for (size_t i = 1; i < calls_at_iteration.size(); ++i) {
    if (calls_at_iteration[i] != calls_at_iteration[i - 1]) outcome.settled = i;
  }
  outcome.mesh = watch.most();
  outcome.stats = pool->Stats();
  outcome.maps = device.Calls("map");
  outcome.creates = device.Calls("create");
  if (maps_at_iteration.size() >= 3) {
    outcome.late_maps = outcome.maps - maps_at_iteration[maps_at_iteration.size() * 2 / 3];
  }
  pool->Close(PoolEnd::kAlive);
  if (device.created_bytes() != 0 || !device.violations().empty()) outcome.failed = true;
  return outcome;
}

// Prints how far the mesh bounds exceed the allocated bytes at the peak.
void PrintMesh(const Outcome& outcome, uint64_t chunk_bytes) {
  const auto ratio = [&](uint64_t chunks) {
    return static_cast<double>(chunks * chunk_bytes) /
           static_cast<double>(outcome.stats.peak_allocated_bytes);
  };
  std::printf("  pages in use %.3f; sharing chunks: two %.3f, six %.3f; no scheme below %.3f\n",
              ratio(outcome.mesh.pages), ratio(outcome.mesh.pairs), ratio(outcome.mesh.groups),
              ratio(outcome.mesh.least));
}

int Main(int argc, char** argv) {
  PoolConfig config;
  double limit = 0;
  bool waits = false;
  bool mesh = false;
  std::unique_ptr<DriverLog> log;
  std::string log_path;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--chunk") == 0 && i + 1 < argc) {
      if (!ParseBytes(argv[++i], &config.chunk_bytes)) return 2;
    } else if (std::strcmp(argv[i], "--large-chunks") == 0 && i + 1 < argc) {
      if (!ParseBytes(argv[++i], &config.large_chunk_bytes)) return 2;
    } else if (std::strcmp(argv[i], "--small") == 0 && i + 1 < argc) {
      if (!ParseBytes(argv[++i], &config.small_bytes)) return 2;
    } else if (std::strcmp(argv[i], "--slack") == 0 && i + 1 < argc) {
      config.slack_permille = static_cast<uint32_t>(std::atoi(argv[++i]));
      config.restless_slack_permille = config.slack_permille;
    } else if (std::strcmp(argv[i], "--waits") == 0) {
      waits = true;
    } else if (std::strcmp(argv[i], "--mesh") == 0) {
      mesh = true;
    } else if (std::strcmp(argv[i], "--log") == 0 && i + 1 < argc) {
      log = std::make_unique<DriverLog>();
      log_path = argv[++i];
    } else if (std::strcmp(argv[i], "--limit") == 0 && i + 1 < argc) {
      limit = std::atof(argv[++i]);
    } else {
      files.emplace_back(argv[i]);
    }
  }
  int status = 0;
  std::printf("%-34s %10s %10s %6s %9s %7s %7s %7s %7s %7s\n", "requests", "allocated", "reserved",
              "ratio", "allocs", "misses", "creates", "maps", "late", "settled");
  for (const std::string& path : files) {
    const Outcome outcome = Replay(path, config, waits, mesh, log.get());
    const PoolStats& stats = outcome.stats;
    const double ratio = static_cast<double>(stats.peak_reserved_bytes) /
                         static_cast<double>(stats.peak_allocated_bytes);
    const std::string name = path.substr(path.rfind('/') + 1);
    const bool large = stats.peak_allocated_bytes >= 500 * kMiB;
    const bool bad = outcome.failed || (limit != 0 && large && ratio > limit);
    std::printf("%-34s %6.1f MiB %6.1f MiB %6.3f %9lu %7lu %7lu %7lu %7lu %7lu%s\n",
                name.substr(0, name.rfind('.')).c_str(),
                static_cast<double>(stats.peak_allocated_bytes) / static_cast<double>(kMiB),
                static_cast<double>(stats.peak_reserved_bytes) / static_cast<double>(kMiB), ratio,
                stats.allocations, stats.misses, outcome.creates, outcome.maps, outcome.late_maps,
                outcome.settled, bad ? "  FAILED" : "");
    if (mesh) PrintMesh(outcome, config.chunk_bytes);
    if (bad) status = 1;
  }
  if (log != nullptr && !(std::ofstream(log_path) << log->text() << std::flush)) {
    std::fprintf(stderr, "pool_replay: cannot write %s\n", log_path.c_str());
    status = 2;
  }
  return status;
}

}  // namespace
}  // namespace vramstow

int main(int argc, char** argv) { return vramstow::Main(argc, argv); }
