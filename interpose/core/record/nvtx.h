// NVTX: ranges and marks that programs have for NVIDIA's tools, as annotations.
//
// Idea: each library that uses NVTX (version 3 is in its own code) opens the file that
// NVTX_INJECTION64_PATH names at its first call, and lets it put functions into a table. That file
// is this library, if `vramstow run` found no other tool there.
//
// This library may have been opened by NVTX alone, without the shim: then nothing is attached, and
// nothing is recorded.
//
// Ownership: texts are copied. Threads: any. Errors: false: the client's table is not known.
// Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_H_

#include "interpose/core/record/nvtx_abi.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

// Puts the functions of the tool into the client's tables. They record into `trace`, which is the
// same at every call.
bool InstallNvtxTool(nvtx::ExportTable export_table, Trace* trace);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_H_
