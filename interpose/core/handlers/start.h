// Handlers for the first calls of a program: cuInit, and the driver's own look-ups.
//
// record.h describes what all handlers have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_START_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_START_H_

#include "interpose/core/handlers/record.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/routing.h"

namespace vramstow::handlers {

// Counts the call and forwards it.
template <typename Call, typename... Arguments>
CUresult Count(const Call& call, Arguments... arguments) {
  return call.Forward(arguments...);
}

template <typename Call>
CUresult Init(const Call& call, unsigned int flags) {
  const CUresult result = call.Forward(flags);
  if (result == CUDA_SUCCESS) call.context().on_cuda_initialised();
  return result;
}

template <typename Call, typename... Status>
CUresult GetProcAddress(const Call& call, const char* symbol, void** pfn, int version,
                        cuuint64_t flags, Status... status) {
  const CUresult result = call.Forward(symbol, pfn, version, flags, status...);
  if (result == CUDA_SUCCESS && symbol != nullptr && pfn != nullptr && *pfn != nullptr) {
    const HandlerContext& context = call.context();
    const Routed routed = context.routing.ReplaceProcAddress(symbol, version, flags, *pfn);
    context.report.NoteProcAddress(routed.outcome, symbol, version, call.site().return_address);
    *pfn = routed.address;
  }
  return result;
}

// Logs, once for each library, that a caller asked for a private table of the driver in a simulated
// run. Such a caller is a CUDA runtime of NVIDIA's, which does not work without this table. The
// message contains a remedy if one is known.
void LogForeignRuntime(const Driver& driver, const void* caller);

template <typename Call>
CUresult GetExportTable(const Call& call, const void** table, const CUuuid* id) {
  const CUresult result = call.Forward(table, id);
  if (result != CUDA_SUCCESS && call.context().driver.simulator_description() != nullptr) {
    LogForeignRuntime(call.context().driver, call.site().return_address);
  }
  return result;
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_START_H_
