#include "base/card_rates.h"

namespace vramstow {
namespace {

// The rates come from NVIDIA's data sheet of each product. Where a sheet lists only rates with
// sparsity, half of those rates are used. For GeForce and RTX workstation cards the rates come from
// the architecture's white paper (Ada, Blackwell, Ampere GA102), with accumulation in f32. The
// shares of the A100 and the H100 are fitted to published trainings (docs/plan.md). Those of other
// cards are chosen by their power limits and were not compared with measurements.
constexpr CardRates kRates[] = {
    // The columns are: key; rates of bf16, f16, tf32, f32 and f64; bandwidths of memory, of the
    // links between GPUs and of the host link; shares that products and attention reach.
    {"h200", 989.5, 989.5, 494.7, 67, 67, 4800, 450, 64, 0.48, 0.25},
    {"h100", 989.5, 989.5, 494.7, 67, 67, 3350, 450, 64, 0.48, 0.25},
    {"b200", 2250, 2250, 1125, 75, 37, 7700, 900, 64, 0.48, 0.25},
    {"gb200", 2500, 2500, 1250, 80, 40, 8000, 900, 225, 0.48, 0.25},
    {"a100", 312, 312, 156, 19.5, 19.5, 2039, 300, 32, 0.68, 0.40},
    {"a100-40gb", 312, 312, 156, 19.5, 19.5, 1555, 300, 32, 0.68, 0.40},
    {"l40s", 362, 362, 183, 91.6, 1.4, 864, 0, 32, 0.60, 0.35},
    {"rtx4090", 165.2, 165.2, 82.6, 82.6, 1.3, 1008, 0, 32, 0.75, 0.45},
    {"rtx6000ada", 364.2, 364.2, 182.1, 91.1, 1.4, 960, 0, 32, 0.60, 0.35},
    {"rtx5090", 209.5, 209.5, 104.8, 104.8, 1.6, 1792, 0, 64, 0.75, 0.45},
    {"rtx3090", 71, 71, 35.6, 35.6, 0.56, 936, 0, 32, 0.75, 0.45},
    {"a30", 165, 165, 82, 10.3, 10.3, 933, 0, 32, 0.68, 0.40},
    {"a10", 125, 125, 62.5, 31.2, 0.98, 600, 0, 32, 0.60, 0.35},
    {"l4", 121, 121, 60, 30.3, 0.49, 300, 0, 32, 0.50, 0.30},
    {"t4", 8.1, 65, 8.1, 8.1, 0.25, 320, 0, 16, 0.45, 0.25},
    {"v100", 15.7, 125, 15.7, 15.7, 7.8, 900, 150, 16, 0.60, 0.35},
};

}  // namespace

const CardRates* FindCardRates(std::string_view key) {
  for (const CardRates& rates : kRates) {
    if (key == rates.key) return &rates;
  }
  return nullptr;
}

}  // namespace vramstow
