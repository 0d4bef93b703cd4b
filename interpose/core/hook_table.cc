#include "interpose/core/hook_table.h"

namespace vramstow {
namespace {

enum class StreamOf { legacy, ptsz };

constexpr HookRow kRows[] = {
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, delegate, parameters, arguments, what) \
  {#symbol, #name, version, StreamOf::stream == StreamOf::ptsz},
#include "interpose/shim/hooks.def"
};

}  // namespace

const HookRow& RowOf(Hook hook) { return kRows[static_cast<size_t>(hook)]; }

}  // namespace vramstow
