// Runs one kernel, given as PTX, on a piece of memory that the test reads.
#ifndef VRAMSTOW_TESTS_SIMULATOR_KERNELS_PTX_LAUNCH_H_
#define VRAMSTOW_TESTS_SIMULATOR_KERNELS_PTX_LAUNCH_H_

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "simulator/kernels/ptx/grid.h"
#include "simulator/kernels/ptx/program.h"

namespace vramstow::simulator::ptx {

// Device memory of a test, which is one block at kAddress.
class TestMemory : public Memory {
 public:
  static constexpr uint64_t kAddress = 0x10000;

  explicit TestMemory(size_t bytes) : bytes_(bytes) {}

  template <typename T>
  T Get(size_t index) const {
    T value;
    memcpy(&value, bytes_.data() + index * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T>
  void Set(size_t index, T value) {
    memcpy(bytes_.data() + index * sizeof(T), &value, sizeof(T));
  }
  void RefuseAll() { Refuse(); }
  uint64_t writes = 0;

 protected:
  Window Find(uint64_t address, uint64_t bytes, bool /*write*/) override {
    const bool inside = address >= kAddress && address - kAddress <= bytes_.size() &&
                        bytes <= bytes_.size() - (address - kAddress);
    if (!inside || refused()) return {};
    return {kAddress, bytes_.size(), bytes_.data()};
  }
  void Note(uint64_t /*address*/, uint64_t /*bytes*/, bool write) override { writes += write; }

 private:
  std::vector<char> bytes_;
};

struct TestLaunch {
  unsigned blocks = 1;
  unsigned threads = 1;
  uint64_t dynamic_shared = 0;
  uint64_t steps = 1u << 22;
  std::vector<uint64_t> arguments = {TestMemory::kAddress};  // of 8 bytes each
  uint64_t steps_taken = 0;

  // The address of the first variable. Variables lie one after the other at the end of the memory's
  // first 32 KiB.
  static constexpr uint64_t kVariables = TestMemory::kAddress + (16u << 10);

  Ending Run(const std::string& text, TestMemory* memory, const std::string& kernel = "k") {
    Program program(text);
    return Run(&program, memory, kernel);
  }

  Ending Run(Program* program, TestMemory* memory, const std::string& kernel = "k") {
    const Routine* routine = program->FindKernel(kernel);
    EXPECT_NE(nullptr, routine) << kernel;
    if (routine == nullptr) return Ending::kTrap;
    EXPECT_EQ("", routine->refusal);
    if (!routine->refusal.empty()) return Ending::kTrap;
    GridLaunch launch;
    launch.entry = routine;
    launch.grid[0] = blocks;
    launch.block[0] = threads;
    launch.static_shared = program->shared_bytes();
    launch.dynamic_shared = dynamic_shared;
    launch.steps = steps;
    launch.parameters.resize(arguments.size() * 8);
    memcpy(launch.parameters.data(), arguments.data(), arguments.size() * 8);
    launch.variables = PlaceVariables(*program, memory);
    return ptx::Run(launch, memory, &steps_taken);
  }

 private:
  static std::vector<uint64_t> PlaceVariables(const Program& program, TestMemory* memory) {
    std::vector<uint64_t> places;
    uint64_t at = kVariables;
    for (const GlobalVariable& variable : program.variables()) {
      places.push_back(at);
      at += (variable.bytes + 15) / 16 * 16;
    }
    for (size_t k = 0; k < places.size(); ++k) {
      const GlobalVariable& variable = program.variables()[k];
      char* to =
          variable.initial.empty() ? nullptr : memory->At(places[k], variable.initial.size(), true);
      if (to == nullptr) continue;
      memcpy(to, variable.initial.data(), variable.initial.size());
      for (const GlobalVariable::Address& address : variable.addresses) {
        const uint64_t value = places[address.variable] + address.addend;
        memcpy(to + address.offset, &value, sizeof(value));
      }
    }
    return places;
  }
};

// Returns the text of a kernel with this body and one parameter, `out`, which is in %rd0.
inline std::string KernelText(const std::string& body, const std::string& before = "") {
  return ".version 8.0\n.target sm_90\n.address_size 64\n" + before +
         ".visible .entry k(.param .u64 k_param_0)\n{\n"
         ".reg .pred %p<16>;\n.reg .b16 %rs<16>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<32>;\n"
         ".reg .f32 %f<16>;\n.reg .f64 %fd<16>;\n"
         "ld.param.u64 %rd0, [k_param_0];\ncvta.to.global.u64 %rd0, %rd0;\n" +
         body + "\nret;\n}\n";
}

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_TESTS_SIMULATOR_KERNELS_PTX_LAUNCH_H_
