// Replaces kernel emulation in builds without it: launches have no effect.
#include "simulator/driver/idle_launches.h"
#include "simulator/driver/kernel_emulation.h"
#include "simulator/driver/module.h"

namespace vramstow::simulator {

std::shared_ptr<Work> EmulateLaunch(State* state, Context* /*context*/, const Launch& launch) {
  NoteIdleLaunch(*state, launch.function->name, " (this build has no kernel emulation)");
  return nullptr;
}

bool FindDeclaredVariable(Program* /*program*/, const std::string& /*name*/,
                          DeclaredVariable* /*variable*/) {
  return false;
}

}  // namespace vramstow::simulator
