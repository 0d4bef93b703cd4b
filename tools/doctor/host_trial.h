// HostTrial tests whether memory of the host can be mapped for a device, and used there.
//
// Idea: the statements of a driver about itself are no proof, and drivers have crashed when such
// memory was requested. So the trial runs in a child. It does the same as a move of live memory to
// the host: at one address it maps first a chunk of the device, then one of the host, and each time
// a kernel reads and writes every page of it. The kernel is PTX that we wrote, which the driver
// compiles.
//
// The lines are JSON objects with one key each: `library` (its path; there is no line if there is
// no library), `init` ({"result", "name"}), then for each device that has no answer in
// VRAMSTOW_HOST_MAPPING yet `trying` ({"uuid", "name"}) and `answer` ({"uuid", "said", "lasting"};
// base/host_mapping.h describes `said`).
//
// Ownership: none. Threads: one at a time. Errors: are written as lines. Units: bytes.
#ifndef VRAMSTOW_TOOLS_DOCTOR_HOST_TRIAL_H_
#define VRAMSTOW_TOOLS_DOCTOR_HOST_TRIAL_H_

namespace vramstow {

// Writes the lines to stdout. Returns the program's exit status.
int TryHostMappings();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_DOCTOR_HOST_TRIAL_H_
