// Program is parsed PTX text: its variables, and its kernels ready to run.
//
// Idea: declarations are parsed at once. The body of a routine is parsed when a kernel that can
// call the routine is requested. Each further .version in the text begins a new unit with its own
// names, so linked units follow each other in one text. Source: the PTX ISA.
//
// Ownership: holds a copy of the text and all that is made from it. Threads: the caller's lock.
// Errors: a kernel that uses an unknown feature names it in Routine::refusal. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_PROGRAM_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_PROGRAM_H_

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/kernels/ptx/code.h"

namespace vramstow::simulator::ptx {

// A variable in global memory or in .const.
struct GlobalVariable {
  std::string name;  // a unit's own variable has the unit's number appended
  uint64_t bytes = 0;
  std::vector<char> initial;  // as many as the text has; the rest is zeros
  struct Address {
    uint64_t offset = 0;
    uint32_t variable = 0;
    uint64_t addend = 0;
  };
  std::vector<Address> addresses;  // of other variables, among its values
  bool understood = false;         // defined, with supported values
};

class Program {
 public:
  explicit Program(std::string text);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Returns null if there is no kernel of this name with a body.
  const Routine* FindKernel(const std::string& name);
  const std::vector<GlobalVariable>& variables() const { return variables_; }
  // Returns null if no variable has this name.
  const GlobalVariable* FindVariable(const std::string& name) const;
  // Bytes of shared memory that the program declares. The memory that a launch requests in addition
  // is not included.
  uint64_t shared_bytes() const { return shared_bytes_; }

  // The functions below serve the compiler of bodies. FindSymbol finds a variable that is visible
  // in `unit`, and returns false if there is none.
  bool FindSymbol(uint32_t unit, std::string_view name, Operand* operand) const;
  // Allocates shared memory. Returns false if it exceeds what a block could have.
  bool AddShared(uint64_t bytes, uint64_t alignment, uint64_t* offset);

 private:
  // The linkage that is written before a declaration.
  struct Linkage {
    bool visible = false;
    bool outside = false;  // .extern
    bool weak = false;
    bool IsShared() const { return visible || outside || weak; }
  };

  void ParseText();
  bool ParseLinkage(Tokens* tokens, Linkage* linkage);
  void ParseGlobal(Tokens* tokens, const Linkage& linkage);
  void ParseShared(Tokens* tokens, const Linkage& linkage);
  void ParseRoutine(Tokens* tokens, const Linkage& linkage, bool entry);
  bool ParseFrame(Tokens* tokens, Routine* routine, bool results);
  void ResolveAddresses();
  Routine* FindRoutine(uint32_t unit, const std::string& name) const;
  void Prepare(Routine* entry);
  // Returns false and sets *refusal if the call cannot be resolved.
  bool ResolveCall(const Routine& caller, CallSite* site, std::string* refusal);
  void AddVariables(Routine* entry);

  using Key = std::pair<uint32_t, std::string>;  // unit, or kAllUnits, and name
  static constexpr uint32_t kAllUnits = UINT32_MAX;

  std::string text_;
  uint32_t unit_ = 0;  // the unit that is being parsed
  std::vector<GlobalVariable> variables_;
  std::map<std::string, uint32_t> variable_names_;
  struct PendingAddress {
    uint32_t variable = 0;
    uint32_t unit = 0;
    AddressValue value;
  };
  std::vector<PendingAddress> pending_;
  std::map<Key, Operand> symbols_;
  std::deque<Routine> routines_;
  std::map<Key, Routine*> by_name_;
  std::map<const Routine*, bool> prepared_;
  uint64_t shared_bytes_ = 0;
};

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_PROGRAM_H_
