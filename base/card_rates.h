// CardRates: the speed of a GPU according to its data sheet, for dense operations (without
// sparsity).
//
// Ownership: the rows are constants. Threads: immutable. Errors: returns null for an unknown card.
// Units: 10^12 operations a second; 10^9 bytes a second, in one direction.
#ifndef VRAMSTOW_BASE_CARD_RATES_H_
#define VRAMSTOW_BASE_CARD_RATES_H_

#include <string_view>

namespace vramstow {

struct CardRates {
  const char* key;  // the GPU's name in a SPEC
  double bf16;      // accumulating in f32; the f32 rate if not supported
  double f16;
  double tf32;
  double f32;
  double f64;
  double memory;
  double links;  // to other GPUs of the machine; 0 if only over the bus
  double host;   // over the bus to the host
  // The shares of these rates that large products and fused attention reach in a training
  // (docs/plan.md lists the measurements).
  double product_share;
  double attention_share;
};

const CardRates* FindCardRates(std::string_view key);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_CARD_RATES_H_
