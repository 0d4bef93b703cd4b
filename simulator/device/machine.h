// Machine holds one simulated machine, made from one SPEC: the memory of its devices, its clock and
// its call log.
//
// Ownership: owns every part; lives as long as the process. Threads: not thread safe; the code in
// simulator/driver holds one lock around all of it. Errors: Start returns null and one sentence.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_MACHINE_H_
#define VRAMSTOW_SIMULATOR_DEVICE_MACHINE_H_

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include "simulator/device/call_log.h"
#include "simulator/device/card_model.h"
#include "simulator/device/contents.h"
#include "simulator/device/memory.h"
#include "simulator/device/random.h"
#include "simulator/device/registrations.h"
#include "simulator/device/spec.h"
#include "simulator/device/timeline.h"
#include "simulator/device/virtual_memory.h"
#include "simulator/device/work_log.h"

namespace vramstow::simulator {

// Bytes that were transferred over PCIe between the host and all devices so far. Written under the
// driver's lock, read without it.
struct LinkTraffic {
  std::atomic<uint64_t> in_place_bytes{0};  // bytes that kernels accessed in place on the host
  std::atomic<uint64_t> to_host_bytes{0};
  std::atomic<uint64_t> to_device_bytes{0};
  std::atomic<uint64_t> waited_ns{0};  // time that the program waited for work
};

// The work of all devices so far, with clock=model. Written under the driver's lock, read without
// it.
struct WorkSums {
  std::atomic<uint64_t> work_ns{0};  // time of the work if all its operands were on the GPU
  std::atomic<uint64_t> operators{0};
  std::atomic<uint64_t> link_ns{0};  // additional time because some operands are on the host
};

class Machine {
 public:
  // Returns null and one sentence in *error if the machine cannot be made.
  static std::unique_ptr<Machine> Start(const Spec& spec, std::string* error);

  const Spec& spec() const { return spec_; }
  const Card& card() const { return spec_.card; }
  // The devices that the process sees.
  int devices() const { return static_cast<int>(spec_.cards.size()); }
  // Returns the time of a kernel if nothing but its name is known.
  uint64_t KernelNs() const { return std::max(spec_.kernel_time_ns, model.KernelNs()); }

  const AddressSpace& space() const { return *space_; }

 private:
  Machine(const Spec& spec, std::unique_ptr<AddressSpace> reserved);

  Spec spec_;
  std::unique_ptr<AddressSpace> space_;

 public:
  Memory memory;
  VirtualMemory virtual_memory;
  Contents contents;
  Registrations registrations;
  Timeline timeline;
  CardModel model;
  LinkTraffic traffic;
  WorkSums work_sums;
  CallLog call_log;
  WorkLog work_log;  // needs no lock
  Random random;     // for faults; the timeline has a generator of its own
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_MACHINE_H_
