// Compiles the body of a routine from text to instructions.
//
// Ownership: fills a Routine of the Program. Threads: none. Errors: sets Routine::refusal.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_BODY_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_BODY_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/kernels/ptx/program.h"
#include "simulator/kernels/ptx/select.h"

namespace vramstow::simulator::ptx {

class BodyParser {
 public:
  BodyParser(Program* program, Routine* routine)
      : program_(program), routine_(routine), tokens_(routine->body) {}

  void Parse();

 private:
  struct Symbol {
    Operand operand;
    uint32_t bytes = 0;  // of a part of the frame
  };
  // A declaration %name<count>, whose registers are created when they are first used.
  struct Family {
    std::string_view prefix;
    uint64_t count = 0;
  };
  struct Scope {
    uint32_t number = 0;
    std::map<std::string_view, Symbol> symbols;
    std::vector<Family> families;
  };
  using LabelKey = std::pair<uint32_t, std::string_view>;  // scope and name
  // An instruction, or an entry of a branch table, that jumps to a label.
  struct Reference {
    uint32_t scope = 0;
    std::string_view label;
    uint32_t instruction = 0;
    int table = -1;         // the entry `instruction` of this branch table
    bool by_table = false;  // the label belongs to a branch table
  };

  // Each function below returns false if the routine is refused.
  bool Refuse(std::string what);
  bool ParseLine(bool* ended);
  bool ParseLabel(bool* found);
  bool ParseDirective();
  bool ParseRegisters();
  bool ParseMemory(bool shared);
  void SkipLocation();
  bool ParseTable(std::string_view label);
  bool ParseInstruction();
  bool LeaveOut(const Tokens& operands, const std::string& what);
  bool ParseOperands(std::vector<Written>* operands);
  bool ParseOperand(Written* written, int depth);
  bool ParseList(std::string_view end, Written* written, int depth);
  bool ParseAddress(Written* written);
  bool ParseName(Written* written);
  bool AddPart(const Variable& declared);
  bool AddSymbol(std::string_view name, const Symbol& symbol);
  bool AddRegister(std::string_view name, Scope* scope);
  bool FindName(std::string_view name, Symbol* symbol);
  bool Resolve();
  bool FindLabel(const std::map<LabelKey, uint32_t>& labels, const Reference& reference,
                 uint32_t* target) const;

  Program* program_;
  Routine* routine_;
  Tokens tokens_;
  std::vector<Scope> scopes_;
  std::vector<uint32_t> parents_;  // parent of each scope, by number
  std::map<LabelKey, uint32_t> labels_;
  std::map<LabelKey, uint32_t> tables_;
  std::vector<Reference> references_;
};

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_BODY_H_
