// Implements arithmetic on f16 and bf16, with one or two numbers in a register. Each result is
// computed in double and rounded once.
#include "simulator/kernels/ptx/floating_operations.h"
#include "simulator/kernels/ptx/halves.h"
#include "simulator/kernels/ptx/handlers.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {
namespace {

template <typename Format, typename Operation, size_t kSources>
uint16_t Compute(const uint16_t (&sources)[3]) {
  const double first = Format::Value(sources[0]);
  if constexpr (kSources == 1) {
    return Format::Bits(Operation::Of(first));
  } else if constexpr (kSources == 2) {
    return Format::Bits(Operation::Of(first, Format::Value(sources[1])));
  } else {
    return Format::Bits(Operation::Of(first, Format::Value(sources[1]), Format::Value(sources[2])));
  }
}

// `count` is the number of values in a register; `flag` means saturate.
template <typename Format, typename Operation, size_t kSources>
bool ApplyShort(const Instruction& i, Thread& thread) {
  uint32_t registers[3] = {};
  for (size_t k = 0; k < kSources; ++k) registers[k] = thread.Get<uint32_t>(i.in[k]);
  uint32_t result = 0;
  for (unsigned part = 0; part < i.count; ++part) {
    uint16_t sources[3] = {};
    for (size_t k = 0; k < kSources; ++k) {
      sources[k] = static_cast<uint16_t>(registers[k] >> (16 * part));
    }
    uint16_t bits = Compute<Format, Operation, kSources>(sources);
    if (i.flag) bits = Format::Bits(Saturate(Format::Value(bits)));
    result |= uint32_t{bits} << (16 * part);
  }
  thread.Set<uint32_t>(i.out, result);
  return true;
}

template <typename Operation, size_t kSources>
bool SelectShort(Selection* s) {
  s->ParseAny({"rn", "approx"});
  s->instruction.flag = s->Take("sat");
  const bool pair = s->ParseAny({"f16x2", "bf16x2"});
  s->instruction.count = pair ? 2 : 1;
  if (!pair && !s->ParseAny({"f16", "bf16"})) return false;
  const Type bits = {'b', static_cast<uint8_t>(pair ? 32 : 16)};
  // PTX has no literals of 16-bit floats, so immediate values are used as bits.
  return s->Plain(kSources, bits) && s->Use(s->IsLast("bf16") || s->IsLast("bf16x2")
                                                ? ApplyShort<BrainFormat, Operation, kSources>
                                                : ApplyShort<HalfFormat, Operation, kSources>);
}

template <typename Operation, typename OrNan>
bool SelectExtreme(Selection* s) {
  return s->Take("NaN") ? SelectShort<OrNan, 2>(s) : SelectShort<Operation, 2>(s);
}

}  // namespace

Selector FindShortFloating(std::string_view name) {
  using T = double;
  static constexpr SelectorRow kRows[] = {
      {"add", SelectShort<Add<T>, 2>},
      {"sub", SelectShort<Subtract<T>, 2>},
      {"mul", SelectShort<Multiply<T>, 2>},
      {"fma", SelectShort<MultiplyAdd<T>, 3>},
      {"min", SelectExtreme<Minimum<T>, MinimumOrNan<T>>},
      {"max", SelectExtreme<Maximum<T>, MaximumOrNan<T>>},
      {"abs", SelectShort<Absolute<T>, 1>},
      {"neg", SelectShort<Negate<T>, 1>},
      {"ex2", SelectShort<Exponential<T>, 1>},
      {"tanh", SelectShort<HyperbolicTangent<T>, 1>},
  };
  return FindIn(kRows, name);
}

}  // namespace vramstow::simulator::ptx
