// DriverProbe finds out what the CUDA driver of this process can do, by trying a small example of
// each capability.
//
// Idea: a broken driver crashes, hangs or prints text. So the probe runs in a child, and writes a
// line for each step as soon as it is done, so that the reader of the lines knows which step was
// the last one. The lines are JSON objects with one key each, in this order: `library` ({"path",
// "simulated"}, or {"missing"}), `init` ({"result", "name"}), `version` (13020 is 13.2), `count`,
// then for each device `device` and `trial` (see docs/doctor.md).
//
// Ownership: none. Threads: one at a time. Errors: are written as lines. Units: bytes.
#ifndef VRAMSTOW_TOOLS_DOCTOR_DRIVER_PROBE_H_
#define VRAMSTOW_TOOLS_DOCTOR_DRIVER_PROBE_H_

namespace vramstow {

// Writes the lines to stdout. Returns the program's exit status.
int ProbeDriver();

// Allocates a little device memory as any program would, and writes one line about what a program
// sees of vramstow: {"version", "result", "pool_bytes"}. Returns the program's exit status.
int ProbePreload();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_DOCTOR_DRIVER_PROBE_H_
