// The name that a trace gives as the entry point of the blocks that PyTorch's allocator had before
// vramstow attached to the process. Their real entry points and source lines are not known.
//
// Ownership: none. Threads: a constant. Errors: none. Units: none.
#ifndef VRAMSTOW_BASE_ADOPTED_BLOCKS_H_
#define VRAMSTOW_BASE_ADOPTED_BLOCKS_H_

namespace vramstow {

inline constexpr char kAdoptedCall[] = "there before vramstow came";

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_ADOPTED_BLOCKS_H_
