// ImportSlot replaces a function that a loaded library calls in another library.
//
// Idea: a library calls a function of another library through a slot of its own, which contains the
// function's address. If the slot gets the address of another function, this library calls that
// function from then on. Other libraries have slots of their own, so their calls do not change.
//
// Ownership: none. Threads: one at a time; other threads may call through the slot meanwhile.
// Errors: false if there is no such slot, or if it cannot be written. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OBSERVER_IMPORT_SLOT_H_
#define VRAMSTOW_ADAPTERS_TORCH_OBSERVER_IMPORT_SLOT_H_

namespace vramstow::torch_observer {

// Makes the library that contains the address `code` call `instead` for the imported function
// `symbol` (its mangled name).
bool ReplaceImport(const void* code, const char* symbol, const void* instead);

}  // namespace vramstow::torch_observer

#endif  // VRAMSTOW_ADAPTERS_TORCH_OBSERVER_IMPORT_SLOT_H_
