// Declares the checks of doctor. Each returns the findings of one group, in the order of the
// report.
//
// Ownership: copies. Threads: one at a time. Errors: are findings. Units: milliseconds. Files and
// sockets that a check creates are removed.
#ifndef VRAMSTOW_TOOLS_DOCTOR_CHECKS_H_
#define VRAMSTOW_TOOLS_DOCTOR_CHECKS_H_

#include <cstdint>
#include <string>

#include "tools/doctor/finding.h"
#include "tools/launch/environment.h"
#include "tools/launch/installation.h"

namespace vramstow {

struct DoctorPlan {
  Installation installation;
  std::string simulate;  // the SPEC; empty: the machine's own driver
  uint64_t patience_ms = 30'000;
};

// Returns driver.*: whether the driver was found and started, its devices (driver.N) and their
// capabilities (driver.N.virtual_memory, …).
Findings CheckDriverHere(const DoctorPlan& plan);
// Returns preload.trace and preload.pool: whether a process with vramstow preloaded is traced and
// served by the pool. The process uses the machine's driver, or the simulated one if `driver_works`
// is false. preload.rehearsal is the same check on a simulated GPU.
Findings CheckPreload(const DoctorPlan& plan, bool driver_works);
// Returns python.*: the interpreter, its PyTorch, and the adapter for it.
Findings CheckPython(const DoctorPlan& plan);
// Returns host.*: folders, limits, memory.
Findings CheckHost();

// Returns the environment of a child that finds the driver of the plan, with nothing preloaded.
Environment DriverEnvironment(const DoctorPlan& plan);

// Returns the features that follow from the findings; `simulate` is that of the plan.
std::vector<Feature> FeaturesOf(const Findings& findings, const std::string& simulate);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_DOCTOR_CHECKS_H_
