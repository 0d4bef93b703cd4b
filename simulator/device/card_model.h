// CardModel predicts how long a GPU takes for its work. It is used with clock=model.
//
// Idea: operators and collectives take the time that base/work_cost.h computes from their sizes.
// Copies, calls and launches take times measured on one GPU (docs/card.md), scaled to other GPUs by
// the bandwidth of their PCIe. If memory lies on the host, a kernel reads and writes it in place,
// over PCIe.
//
// Ownership: a value. Threads: immutable. Errors: none; with another clock is_on() is false and all
// other functions return 0. Units: bytes, virtual nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_CARD_MODEL_H_
#define VRAMSTOW_SIMULATOR_DEVICE_CARD_MODEL_H_

#include <cstdint>

#include "base/card_rates.h"
#include "simulator/device/spec.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {

// The kind of memory at one end of a copy.
enum class CopyPlace : uint8_t { kDevice, kPinned, kPageable };

class CardModel {
 public:
  // Host time that each call of the driver takes, with any clock.
  static constexpr uint64_t kCallNs = 300;

  explicit CardModel(const Spec& spec);

  bool is_on() const { return rates_ != nullptr; }

  // Returns how long an operator or a collective takes if `link_bytes` bytes of its operands lie on
  // the host.
  uint64_t WorkNs(const vramstowSimulatorWorkLine& line, uint64_t link_bytes) const;
  // Returns the time of a kernel if nothing but its name is known.
  uint64_t KernelNs() const;
  uint64_t CopyNs(CopyPlace to, CopyPlace from, uint64_t bytes) const;
  // Each function below returns how long a call of the driver blocks the program.
  uint64_t VmmNs(VmmCall call, bool on_host, uint64_t bytes) const;
  uint64_t AllocateNs(uint64_t bytes) const;
  uint64_t FreeNs(uint64_t bytes) const;
  uint64_t PinNs(uint64_t bytes) const;    // cuMemHostAlloc
  uint64_t UnpinNs(uint64_t bytes) const;  // cuMemFreeHost
  uint64_t LaunchNs() const;
  uint64_t OperatorCallNs() const;  // host time of one operator
  uint64_t WakeNs() const;          // from the end of work until a waiting program continues

 private:
  const CardRates* rates_ = nullptr;
  double link_bytes_per_ns_ = 0;
  double local_bytes_per_ns_ = 0;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_CARD_MODEL_H_
