#include "tests/card/times/driver_times.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>

#include "simulator/device/card_model.h"
#include "simulator/device/cards.h"
#include "simulator/device/spec.h"
#include "tests/card/times/driver.h"

namespace vramstow::card {
namespace {

using simulator::CardModel;
using simulator::CopyPlace;
using simulator::VmmCall;

constexpr uint64_t kMib = uint64_t{1} << 20;
constexpr uint64_t kGib = uint64_t{1} << 30;
constexpr uint64_t kRunBytes = 128 * kMib;
constexpr uint64_t kCopyBytes = 256 * kMib;
constexpr int kRounds = 5;
constexpr int kLongRounds = 3;  // rounds of operations that take tenths of a second
constexpr double kMicro = 1e3;
constexpr double kSecond = 1e9;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Rows in the order in which they first occur, each with the measurements of every round.
class Samples {
 public:
  void Add(const std::string& name, const char* unit, double measured, double modelled) {
    const auto [place, is_new] = places_.try_emplace(name, rows_.size());
    if (is_new) rows_.push_back({{name, unit, 0, modelled}, {}});
    rows_[place->second].measured.push_back(measured);
  }
  std::vector<DriverTime> Rows() const {
    std::vector<DriverTime> rows;
    for (const Row& row : rows_) {
      rows.push_back(row.time);
      rows.back().measured = Median(row.measured);
    }
    return rows;
  }

 private:
  struct Row {
    DriverTime time;
    std::vector<double> measured;
  };
  std::vector<Row> rows_;
  std::map<std::string, size_t> places_;
};

// Physical memory of several handles that is mapped contiguously, and unmapped at the end.
struct Run {
  size_t handles;
  const char* name;
  bool by_handle;  // access and unmapping also use one call for each
};
constexpr Run kRuns[] = {
    {1, "1 x 128 MiB", false}, {64, "64 x 2 MiB", false}, {64, "64 x 2 MiB, by handle", true}};

class Measurement {
 public:
  Measurement(Driver* driver, const CardModel& model) : driver_(*driver), model_(model) {}

  bool Begin(CUdevice device);
  void End();
  void MeasureRuns(bool on_host);
  void MeasureAccess();
  void MeasurePinned();
  void MeasurePinnedCopies();
  void MeasureMappedCopies();
  std::vector<DriverTime> Rows() const { return samples_.Rows(); }

 private:
  // Returns the model's time of `calls` calls, each for `bytes` bytes.
  double ModelOf(VmmCall call, bool on_host, size_t calls, uint64_t bytes) const {
    const uint64_t each = CardModel::kCallNs + model_.VmmNs(call, on_host, bytes);
    return static_cast<double>(calls * each);
  }
  double Take(const std::function<void()>& work) const {
    const uint64_t begin = driver_.Now();
    work();
    return static_cast<double>(driver_.Now() - begin);
  }
  void Check(CUresult result, const char* call) { driver_.Good(result, call); }
  void MeasureRun(const Run& run, bool on_host);
  void SetAccess(CUdeviceptr address, uint64_t bytes, bool with_host);
  CUdeviceptr Reserve(uint64_t bytes);
  CUmemGenericAllocationHandle Create(uint64_t bytes, bool on_host);
  void CopyWays(const char* name, CUdeviceptr first, CUdeviceptr second);
  void AddRate(const std::string& name, double ns, uint64_t bytes, uint64_t model_ns);

  Driver& driver_;
  const CardModel& model_;
  Samples samples_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUmemLocation host_ = {};
};

bool Measurement::Begin(CUdevice device) {
  device_ = device;
  Check(driver_.cuDevicePrimaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
  if (driver_.Good()) Check(driver_.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
  int node = -1;
  driver_.cuDeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, device);
  host_.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  host_.id = std::max(node, 0);
  return driver_.Good();
}

void Measurement::End() {
  if (context_ != nullptr) driver_.cuDevicePrimaryCtxRelease(device_);
}

CUdeviceptr Measurement::Reserve(uint64_t bytes) {
  CUdeviceptr address = 0;
  Check(driver_.cuMemAddressReserve(&address, bytes, 0, 0, 0), "cuMemAddressReserve");
  return address;
}

CUmemGenericAllocationHandle Measurement::Create(uint64_t bytes, bool on_host) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = host_;
  if (!on_host) properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_};
  CUmemGenericAllocationHandle handle = 0;
  Check(driver_.cuMemCreate(&handle, bytes, &properties, 0), "cuMemCreate");
  return handle;
}

void Measurement::SetAccess(CUdeviceptr address, uint64_t bytes, bool with_host) {
  CUmemAccessDesc access[2] = {};
  access[0].location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_};
  access[1].location = host_;
  for (CUmemAccessDesc& one : access) one.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  Check(driver_.cuMemSetAccess(address, bytes, access, with_host ? 2 : 1), "cuMemSetAccess");
}

void Measurement::MeasureRun(const Run& run, bool on_host) {
  const uint64_t part = kRunBytes / run.handles;
  const size_t calls = run.by_handle ? run.handles : 1;
  const uint64_t bytes = kRunBytes / calls;
  const CUdeviceptr range = Reserve(kRunBytes);
  std::vector<CUmemGenericAllocationHandle> handles(run.handles);
  const auto add = [&](const char* what, VmmCall call, size_t count, uint64_t each, double ns) {
    const std::string name = std::string(what) + (on_host ? ", host, " : ", device, ") + run.name;
    samples_.Add(name, "us", ns / kMicro, ModelOf(call, on_host, count, each) / kMicro);
  };
  const double create = Take([&] {
    for (auto& handle : handles) handle = Create(part, on_host);
  });
  if (!driver_.Good()) return;
  const double map = Take([&] {
    for (size_t i = 0; i < handles.size(); ++i) {
      Check(driver_.cuMemMap(range + i * part, part, 0, handles[i], 0), "cuMemMap");
    }
  });
  const double access = Take([&] {
    for (size_t i = 0; i < calls; ++i) SetAccess(range + i * bytes, bytes, /*with_host=*/false);
  });
  const double unmap = Take([&] {
    for (size_t i = 0; i < calls; ++i) {
      Check(driver_.cuMemUnmap(range + i * bytes, bytes), "cuMemUnmap");
    }
  });
  const double release = Take([&] {
    for (const auto handle : handles) Check(driver_.cuMemRelease(handle), "cuMemRelease");
  });
  driver_.cuMemAddressFree(range, kRunBytes);
  if (!run.by_handle) {
    add("create", VmmCall::kCreate, run.handles, part, create);
    add("map", VmmCall::kMap, run.handles, part, map);
  }
  add("access", VmmCall::kAccess, calls, bytes, access);
  add("unmap", VmmCall::kUnmap, calls, bytes, unmap);
  if (!run.by_handle) add("release", VmmCall::kRelease, run.handles, part, release);
}

void Measurement::MeasureRuns(bool on_host) {
  for (const Run& run : kRuns) {
    for (int round = 0; round < kRounds && driver_.Good(); ++round) MeasureRun(run, on_host);
  }
}

// Measures giving access to a GiB of host memory.
void Measurement::MeasureAccess() {
  const CUdeviceptr range = Reserve(kGib);
  const CUmemGenericAllocationHandle handle = Create(kGib, /*on_host=*/true);
  const double modelled = ModelOf(VmmCall::kAccess, /*on_host=*/true, 1, kGib) / kMicro;
  for (int round = 0; round < kRounds && driver_.Good(); ++round) {
    for (const bool with_host : {false, true}) {
      Check(driver_.cuMemMap(range, kGib, 0, handle, 0), "cuMemMap");
      const double ns = Take([&] { SetAccess(range, kGib, with_host); });
      Check(driver_.cuMemUnmap(range, kGib), "cuMemUnmap");
      samples_.Add(with_host ? "access of a GiB of the host, device and host"
                             : "access of a GiB of the host, device alone",
                   "us", ns / kMicro, modelled);
    }
  }
  driver_.cuMemRelease(handle);
  driver_.cuMemAddressFree(range, kGib);
}

void Measurement::MeasurePinned() {
  const auto model = [](uint64_t ns) { return static_cast<double>(CardModel::kCallNs + ns); };
  for (int round = 0; round < kLongRounds && driver_.Good(); ++round) {
    void* memory = nullptr;
    const double made = Take([&] {
      Check(driver_.cuMemHostAlloc(&memory, kGib, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
    });
    if (memory == nullptr) return;
    const double freed = Take([&] { Check(driver_.cuMemFreeHost(memory), "cuMemFreeHost"); });
    samples_.Add("page-locked memory is made", "s/GiB", made / kSecond,
                 model(model_.PinNs(kGib)) / kSecond);
    samples_.Add("page-locked memory is given back", "s/GiB", freed / kSecond,
                 model(model_.UnpinNs(kGib)) / kSecond);
  }
}

void Measurement::AddRate(const std::string& name, double ns, uint64_t bytes, uint64_t model_ns) {
  const auto size = static_cast<double>(bytes);
  samples_.Add(name, "GB/s", ns > 0 ? size / ns : 0, size / static_cast<double>(model_ns));
}

// Measures copies between the GPU and two pieces of host memory.
void Measurement::CopyWays(const char* name, CUdeviceptr first, CUdeviceptr second) {
  CUdeviceptr card[2] = {};
  CUstream streams[2] = {};
  for (int i = 0; i < 2; ++i) {
    Check(driver_.cuMemAlloc(&card[i], kCopyBytes), "cuMemAlloc");
    Check(driver_.cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  }
  const auto to_card = [&] {
    Check(driver_.cuMemcpyAsync(card[0], first, kCopyBytes, streams[0]), "cuMemcpyAsync");
  };
  const auto to_host = [&] {
    Check(driver_.cuMemcpyAsync(second, card[1], kCopyBytes, streams[1]), "cuMemcpyAsync");
  };
  const auto wait = [&](int i) {
    Check(driver_.cuStreamSynchronize(streams[i]), "cuStreamSynchronize");
  };
  const std::string with = std::string(", ") + name;
  const uint64_t in = model_.CopyNs(CopyPlace::kDevice, CopyPlace::kPinned, kCopyBytes);
  const uint64_t out = model_.CopyNs(CopyPlace::kPinned, CopyPlace::kDevice, kCopyBytes);
  to_card();  // the first use of memory may take longer
  to_host();
  wait(0);
  wait(1);
  for (int round = 0; round < kLongRounds && driver_.Good(); ++round) {
    AddRate("copy to the card" + with, Take([&] { to_card(), wait(0); }), kCopyBytes, in);
    AddRate("copy to the host" + with, Take([&] { to_host(), wait(1); }), kCopyBytes, out);
    const double both = Take([&] { to_card(), to_host(), wait(0), wait(1); });
    AddRate("copies in both directions at once" + with, both, 2 * kCopyBytes, std::max(in, out));
  }
  for (int i = 0; i < 2; ++i) {
    if (card[i] != 0) driver_.cuMemFree(card[i]);
    if (streams[i] != nullptr) driver_.cuStreamDestroy(streams[i]);
  }
}

void Measurement::MeasurePinnedCopies() {
  void* pinned = nullptr;
  Check(driver_.cuMemHostAlloc(&pinned, 2 * kCopyBytes, CU_MEMHOSTALLOC_PORTABLE),
        "cuMemHostAlloc");
  if (!driver_.Good()) return;
  const auto address = static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(pinned));
  CopyWays("page-locked memory", address, address + kCopyBytes);
  driver_.cuMemFreeHost(pinned);
}

void Measurement::MeasureMappedCopies() {
  const CUdeviceptr range = Reserve(2 * kCopyBytes);
  const CUmemGenericAllocationHandle handle = Create(2 * kCopyBytes, /*on_host=*/true);
  if (!driver_.Good()) return;
  Check(driver_.cuMemMap(range, 2 * kCopyBytes, 0, handle, 0), "cuMemMap");
  SetAccess(range, 2 * kCopyBytes, /*with_host=*/true);
  if (driver_.Good()) CopyWays("mapped host memory", range, range + kCopyBytes);
  driver_.cuMemUnmap(range, 2 * kCopyBytes);
  driver_.cuMemRelease(handle);
  driver_.cuMemAddressFree(range, 2 * kCopyBytes);
}

// Returns the key of the simulated GPU with this name; for other GPUs, the key of the one that was
// measured most.
std::string KeyOf(std::string_view name) {
  const simulator::CardTable table = simulator::AllCards();
  for (size_t i = 0; i < table.count; ++i) {
    if (name == table.rows[i].name) return table.rows[i].key;
  }
  return "h100";
}

}  // namespace

const char* NameOf(TimeSource source) {
  if (source == TimeSource::kModel) return "model";
  return source == TimeSource::kCard ? "card" : "machine";
}

bool MeasureDriverTimes(const char* library, DriverTimes* times, std::string* error) {
  Driver driver;
  CUdevice device = 0;
  char name[128] = "";
  if (driver.Open(library) && driver.Good(driver.cuDeviceGet(&device, 0), "cuDeviceGet")) {
    driver.Good(driver.cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
  }
  simulator::Spec spec;
  times->source = driver.source();
  times->model_card = KeyOf(name);
  if (driver.Good() && simulator::ParseSpec(times->model_card + ",clock=model", &spec, error)) {
    const CardModel model(spec);
    Measurement measurement(&driver, model);
    if (measurement.Begin(device)) {
      measurement.MeasureRuns(/*on_host=*/false);
      measurement.MeasurePinned();
      if (driver.Good()) measurement.MeasurePinnedCopies();
      // A driver may lack the following functions, so they are measured last.
      if (driver.Good()) measurement.MeasureRuns(/*on_host=*/true);
      if (driver.Good()) measurement.MeasureAccess();
      if (driver.Good()) measurement.MeasureMappedCopies();
      times->rows = measurement.Rows();
    }
    measurement.End();
  }
  if (times->rows.empty()) *error = driver.error();
  times->why_not_all = driver.error();
  return !times->rows.empty();
}

}  // namespace vramstow::card
