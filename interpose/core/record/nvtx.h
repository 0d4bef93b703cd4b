// Records the NVTX ranges and marks of programs as annotations. Many programs contain such ranges
// and marks for NVIDIA's tools.
//
// Idea: version 3 of NVTX is compiled into each library that uses it. At its first call such a
// library opens the file that NVTX_INJECTION64_PATH names, and lets that file put functions into a
// table. `vramstow run` sets this variable to this library, unless it names another tool already.
//
// NVTX may open this library in a process without the shim. Then nothing is attached, and nothing
// is recorded.
//
// Ownership: texts are copied. Threads: any. Errors: false if the client's table is unknown. Units:
// none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_H_

#include "interpose/core/record/nvtx_abi.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

// Puts the functions of the tool into the client's tables. They record into `trace`, which is the
// same in every call.
bool InstallNvtxTool(nvtx::ExportTable export_table, Trace* trace);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_H_
