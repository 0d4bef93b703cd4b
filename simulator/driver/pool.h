// Stream-ordered memory pools.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_POOL_H_
#define VRAMSTOW_SIMULATOR_DRIVER_POOL_H_

#include "simulator/driver/call.h"

namespace vramstow::simulator {

// cuMemFree of a block from a pool: all work that could touch it has ended.
void FreeToPool(Call& call, Block* block);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_POOL_H_
