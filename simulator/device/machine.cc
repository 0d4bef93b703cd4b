#include "simulator/device/machine.h"

#include <utility>

namespace vramstow::simulator {

std::unique_ptr<Machine> Machine::Start(const Spec& spec, std::string* error) {
  auto space = std::make_unique<AddressSpace>();
  if (!space->Reserve(static_cast<int>(spec.cards.size()), spec.memory_bytes, error))
    return nullptr;
  std::unique_ptr<Machine> machine(new Machine(spec, std::move(space)));
  if (!spec.call_log.empty() && !machine->call_log.Open(spec.call_log, error)) return nullptr;
  if (!spec.work_log.empty() && !machine->work_log.Open(spec.work_log, error)) return nullptr;
  return machine;
}

Machine::Machine(const Spec& spec, std::unique_ptr<AddressSpace> reserved)
    : spec_(spec),
      space_(std::move(reserved)),
      memory(space_.get(), devices(), spec.memory_bytes),
      virtual_memory(space_.get(), &memory, spec.cards),
      contents(space_.get(), &memory, &virtual_memory, spec.keep_contents, spec.contents_bytes),
      registrations(space_.get(), &memory, &virtual_memory),
      timeline(spec.seed, spec.adversarial, spec.clock_is_model),
      model(spec),
      random(spec.seed ^ 0xfa17) {}

}  // namespace vramstow::simulator
