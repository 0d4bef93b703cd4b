// Routine is compiled PTX: instructions with the functions that execute them and the locations of
// their operands.
//
// Idea: an instruction holds a pointer to the function that executes it, chosen once by opcode and
// types (select.h). Registers are 64 bits wide and numbered per routine; a narrower value is stored
// extended as its type says. Register 0 receives results that are not used.
//
// Ownership: routines belong to their Program. Threads: immutable once compiled. Errors:
// Routine::refusal says why a routine cannot run. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_CODE_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_CODE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/ptx/declaration.h"

namespace vramstow::simulator::ptx {

class Thread;
struct Instruction;

// Executes an instruction. Returns false if the thread stops here for now; Thread::state says why.
using Handler = bool (*)(const Instruction&, Thread&);

inline constexpr unsigned kWarpThreads = 32;

// Executes an instruction for the threads of a warp together, once all have reached it. Lanes that
// do not take part are null.
using Exchange = void (*)(const Instruction&, Thread* const (&lanes)[kWarpThreads]);

// The memory that an address refers to. Parameters are in the thread's own memory, like .local;
// constants are in global memory.
enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal };

// How a barrier combines the predicates of its threads; stored in `target` of the instruction.
enum class BarrierResult : uint32_t { kNone, kCount, kAll, kAny };

enum class Special : uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kWarpCount,
  kLanesEqual,
  kLanesLess,
  kLanesLessEqual,
  kLanesGreater,
  kLanesGreaterEqual,
  kClock,
  kClockHigh,
  kDynamicShared,
  kTotalShared,
  kZero,
  kOne,
  kWarpSize,
};

struct Operand {
  enum Kind : uint8_t {
    kNone,
    kRegister,
    kImmediate,
    kSpecial,
    kFrame,          // an address in the routine's part of the thread's memory
    kDynamicShared,  // where the launch's shared memory begins
    kVariable,       // the address of Program's variable `index`
  };
  Kind kind = kNone;
  bool negated = false;           // for a predicate
  Space space = Space::kGeneric;  // the space of an address
  uint32_t index = 0;
  uint64_t value = 0;  // an immediate value, or an offset of an address
};

struct Instruction {
  Handler run = nullptr;
  Operand out;
  Operand out2;
  Operand in[4];
  Operand guard;                // kNone: the instruction is always executed
  Exchange exchange = nullptr;  // in[3]: the mask of lanes that take part
  uint64_t offset = 0;          // added to an address, in[0]
  uint32_t target = 0;  // an instruction, a call, a table, a number of bits, or a barrier's result
  uint32_t vector = 0;  // first of `count` operands in Routine::vectors
  uint8_t count = 0;
  Space space = Space::kGeneric;
  bool flag = false;  // a variant of the operation; for an exchange: with all arrived lanes
};

// A part of a routine's frame, such as a parameter or a result.
struct FramePart {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

struct Routine;

struct CallSite {
  std::string callee;
  Routine* routine = nullptr;  // once resolved
  std::vector<FramePart> results;
  std::vector<FramePart> arguments;
};

struct Routine {
  std::string name;
  bool entry = false;
  std::vector<FramePart> parameters;
  std::vector<uint32_t> alignments;  // of the parameters
  std::vector<FramePart> results;
  uint32_t frame_bytes = 0;  // parameters, results, .param and .local variables
  uint32_t registers = 1;
  bool idle = false;   // its first instruction ends it
  bool waits = false;  // its threads, or those of a routine that it calls, wait for each other
  std::vector<Instruction> code;
  std::vector<Operand> vectors;
  std::vector<CallSite> calls;
  std::vector<std::vector<uint32_t>> tables;  // instructions of the tables of brx.idx
  std::vector<uint32_t> variables;            // indexes of the Program's variables that it uses
  std::string refusal;                        // why the routine cannot run; empty: it can
  // The first instruction that is not known, if there is one. Such instructions are left out of
  // `code`, so that it can still be run to find out what the kernel writes.
  std::string left_out;
  bool examinable = false;  // of a kernel that is refused only for instructions that are left out

  // True once the body has been compiled.
  bool compiled = false;
  uint32_t unit = 0;
  Tokens body{std::string_view()};
  std::vector<std::string_view> parameter_names;
  std::vector<std::string_view> result_names;
};

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_CODE_H_
