// HostTrial: tries whether memory of the host can be mapped for a device, and used there.
//
// Idea: what a driver says of itself is no proof, and drivers have crashed when they were asked. So
// this runs in a child. It does what a move does: at one address first a chunk of the device, then
// one of the host, and each time a kernel reads and writes every page of it. The kernel is PTX in
// words of our own, which the driver compiles.
//
// The lines are JSON objects, one key each: `library` (its path; no line: there is none), `init`
// ({"result", "name"}), then for each device that has no answer in VRAMSTOW_HOST_MAPPING yet
// `trying` ({"uuid", "name"}) and `answer` ({"uuid", "said", "lasting"}; `said` as
// base/host_mapping.h has it).
//
// Ownership: none. Threads: one at a time. Errors: are what it tells. Units: bytes.
#ifndef VRAMSTOW_TOOLS_DOCTOR_HOST_TRIAL_H_
#define VRAMSTOW_TOOLS_DOCTOR_HOST_TRIAL_H_

namespace vramstow {

// Writes the lines to stdout. The program's exit status.
int TryHostMappings();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_DOCTOR_HOST_TRIAL_H_
