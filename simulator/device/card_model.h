// CardModel: how long a card takes for what it is asked, with clock=model.
//
// Idea: operators and collectives take what base/work_cost.h says of their sizes; copies, calls and
// launches what was measured on a card (docs/card.md), scaled to other cards by their links.
// Memory that lies on the host is read and written in place over the link.
//
// Ownership: a value. Threads: immutable. Errors: none; where the clock is not the model's, is_on()
// is false and the rest says 0. Units: bytes, virtual nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_CARD_MODEL_H_
#define VRAMSTOW_SIMULATOR_DEVICE_CARD_MODEL_H_

#include <cstdint>

#include "base/card_rates.h"
#include "simulator/device/spec.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {

// Where one side of a copy lies.
enum class CopyPlace : uint8_t { kDevice, kPinned, kPageable };

class CardModel {
 public:
  // What each call of the driver takes of the host's time, with any clock.
  static constexpr uint64_t kCallNs = 300;

  explicit CardModel(const Spec& spec);

  bool is_on() const { return rates_ != nullptr; }

  // The time of an operator or a collective, of whose operands `link_bytes` lie on the host.
  uint64_t WorkNs(const vramstowSimulatorWorkLine& line, uint64_t link_bytes) const;
  // A kernel of which only the name is known.
  uint64_t KernelNs() const;
  uint64_t CopyNs(CopyPlace to, CopyPlace from, uint64_t bytes) const;
  // For which a call holds the program.
  uint64_t VmmNs(VmmCall call, bool on_host, uint64_t bytes) const;
  uint64_t AllocateNs(uint64_t bytes) const;
  uint64_t FreeNs(uint64_t bytes) const;
  uint64_t PinNs(uint64_t bytes) const;    // cuMemHostAlloc
  uint64_t UnpinNs(uint64_t bytes) const;  // cuMemFreeHost
  uint64_t LaunchNs() const;
  uint64_t OperatorCallNs() const;  // the program, for one operator
  uint64_t WakeNs() const;          // from the end of work to the program that waited for it

 private:
  const CardRates* rates_ = nullptr;
  double link_bytes_per_ns_ = 0;
  double local_bytes_per_ns_ = 0;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_CARD_MODEL_H_
