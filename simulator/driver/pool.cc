#include "simulator/driver/pool.h"

namespace vramstow::simulator {

void FreeToPool(Call& call, Block* block) { call.machine().memory.Release(block); }

}  // namespace vramstow::simulator
