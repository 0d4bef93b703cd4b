// WorkCost: how long a card takes for one piece of work, by a roofline.
//
// Idea: a card needs at least as long for an operator as its products take at the card's rate, and
// as its bytes take to come from memory and go there. It reaches a share of both. docs/plan.md has
// the figures that the shares are fitted to. `vramstow plan` adds these times up; the simulated
// card's clock (clock=model) lets work take them.
//
// Ownership: values. Threads: pure functions. Errors: none. Units: bytes, operations, seconds.
#ifndef VRAMSTOW_BASE_WORK_COST_H_
#define VRAMSTOW_BASE_WORK_COST_H_

#include <cstdint>
#include <string_view>

#include "base/card_rates.h"

namespace vramstow {

// The size of one operator or collective, as a line of the work log has it.
struct WorkSize {
  std::string_view name;
  std::string_view precision;
  uint64_t operations = 0;
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
  uint64_t items = 0;  // the ranks of a collective; the rows that an embedding or a loss picks
};

struct OperatorCost {
  double computing = 0;  // the products
  double memory = 0;     // the bytes
  bool is_attention = false;
};

// A kernel begins and ends, and the next one follows.
inline constexpr double kKernelSeconds = 3e-6;
// PyTorch's dispatcher, autograd and the driver, for one operator.
inline constexpr double kProgramSeconds = 8e-6;

OperatorCost CostOfOperator(const WorkSize& work, const CardRates& rates);

// For which the slowest link of a ring, or the card's own, is busy.
double SecondsOfCollective(const WorkSize& work, const CardRates& rates);

// For which a copy between the host and the card holds the bus, in one direction.
double SecondsOverHostLink(uint64_t bytes, const CardRates& rates);

// The time to move live memory to the host and back, by docs/card.md#times.
struct MoveCost {
  double link = 0;  // both ways: beside the work, if they begin early enough
  double stop = 0;  // for which work stands still while the host's memory is mapped
};
MoveCost CostOfMoves(uint64_t out_bytes, uint64_t in_bytes, const CardRates& rates);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_WORK_COST_H_
