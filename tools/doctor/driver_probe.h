// DriverProbe: asks the CUDA driver of this process what it can do, by doing a little of each.
//
// Idea: a driver that is broken crashes, hangs or prints. So this runs in a child, and tells each
// step on a line of its own as soon as it is done: whoever reads them knows how far it came.
//
// The lines are JSON objects, one key each, in this order: `library` ({"path", "simulated"}, or
// {"missing"}), `init` ({"result", "name"}), `version` (13020 is 13.2), `count`, then for each
// device `device` and `trial` (see docs/doctor.md).
//
// Ownership: none. Threads: one at a time. Errors: are what it tells. Units: bytes.
#ifndef VRAMSTOW_TOOLS_DOCTOR_DRIVER_PROBE_H_
#define VRAMSTOW_TOOLS_DOCTOR_DRIVER_PROBE_H_

namespace vramstow {

// Writes the lines to stdout. The program's exit status.
int ProbeDriver();

// Takes a little device memory as any program would, and tells on one line what a program sees of
// vramstow: {"version", "result", "pool_bytes"}. The program's exit status.
int ProbePreload();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_DOCTOR_DRIVER_PROBE_H_
