#include "interpose/core/runtime/hook_table.h"

#include <string_view>

namespace vramstow {
namespace {

enum class StreamOf { legacy, ptsz };

constexpr bool IsLaunch(std::string_view group) {
  return group == "launch" || group == "graph_launch";
}
constexpr bool IsForPool(std::string_view group) {
  return group == "copy" || group == "graph_launch";
}
constexpr bool IsSubmission(std::string_view group) {
  return group == "submission" || IsLaunch(group) || IsForPool(group);
}

constexpr HookRow kRows[] = {
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, handler, parameters, arguments, what) \
  {#symbol,                                                                                       \
   #name,                                                                                         \
   version,                                                                                       \
   StreamOf::stream == StreamOf::ptsz,                                                            \
   IsSubmission(#group),                                                                          \
   IsLaunch(#group),                                                                              \
   IsForPool(#group)},
#include "interpose/shim/hooks.def"
};

}  // namespace

const HookRow& RowOf(Hook hook) { return kRows[static_cast<size_t>(hook)]; }

}  // namespace vramstow
