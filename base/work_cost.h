// WorkCost: estimates how long a GPU takes for one piece of work, by a roofline model.
//
// Idea: for an operator a GPU needs at least the time of the operator's arithmetic at the GPU's
// rate, and at least the time of reading and writing the operator's bytes at the memory's rate. It
// reaches only a share of both rates. docs/plan.md has the measurements to which the shares are
// fitted. `vramstow plan` adds these times up; the virtual clock of the simulated GPU (clock=model)
// advances by them.
//
// Ownership: values. Threads: pure functions. Errors: none. Units: bytes, operations, seconds.
#ifndef VRAMSTOW_BASE_WORK_COST_H_
#define VRAMSTOW_BASE_WORK_COST_H_

#include <cstdint>
#include <string_view>

#include "base/card_rates.h"

namespace vramstow {

// The size of one operator or collective, as a line of the work log states it.
struct WorkSize {
  std::string_view name;
  std::string_view precision;
  uint64_t operations = 0;
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
  uint64_t items = 0;  // ranks of a collective; rows that an embedding or a loss selects
};

struct OperatorCost {
  double computing = 0;  // seconds for the products
  double memory = 0;     // seconds for the bytes
  bool is_attention = false;
};

// The time that the GPU needs to start and end a kernel, until the next kernel begins.
inline constexpr double kKernelSeconds = 3e-6;
// The time that PyTorch's dispatcher, autograd and the driver need for one operator.
inline constexpr double kProgramSeconds = 8e-6;

OperatorCost CostOfOperator(const WorkSize& work, const CardRates& rates);

// Returns how long a collective occupies the slowest link of a ring, or the GPU's own link.
double SecondsOfCollective(const WorkSize& work, const CardRates& rates);

// Returns how long a copy between the host and the GPU occupies the bus, in one direction.
double SecondsOverHostLink(uint64_t bytes, const CardRates& rates);

// The time to evict live memory to the host and the time to restore it (docs/card.md#times).
struct MoveCost {
  double link = 0;  // copies both ways; they overlap work if begun early enough
  double stop = 0;  // mapping of host memory, during which no work runs
};
MoveCost CostOfMoves(uint64_t out_bytes, uint64_t in_bytes, const CardRates& rates);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_WORK_COST_H_
