// Reads what the driver can know of a module's image without running it: its kernels, their
// parameters and limits, and the sizes of its variables.
//
// Three forms are understood: PTX text, a cubin (an ELF file of NVIDIA's machine), and a fat binary
// that holds either, for several GPUs. Of its members the one that the GPU would choose is used:
// the machine code whose compute capability is closest to the GPU's own, or else the PTX for the
// highest one. Images that cannot run on the GPU are refused (image_target.h). Headers, symbols and
// the attribute records of sections named .nv.info are read; instructions are not, but PTX text is
// retained (simulator/kernels/ptx). A compressed member of a fat binary is not opened, but its
// header names its architecture. Nothing else is known of such an image: every kernel name exists
// in it, and variables have the size that the caller of the runtime declared, or 4 KiB.
//
// An image is given as an address without a size. So everything is read through a copy that fails
// where no memory is mapped, and within the sizes that the image's own headers claim.
//
// Sources: the ELF specification; the flags of an ELF file for CUDA as LLVM's headers name them;
// the PTX ISA; the layout of fat binaries and of .nv.info as public tools that list them
// (cuobjdump's output, open-source readers) show it.
//
// Ownership: Image owns its tables. Threads: a parsed Image is immutable. Errors: returns an
// ImageError. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_IMAGE_H_
#define VRAMSTOW_SIMULATOR_DRIVER_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulator/driver/image_target.h"

namespace vramstow::simulator {

struct KernelParameter {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

struct KernelImage {
  std::vector<KernelParameter> parameters;
  bool parameters_known = false;
  uint32_t max_threads = 0;   // per block; 0: not specified
  uint32_t shared_bytes = 0;  // static
  uint32_t registers = 0;     // 0: not specified
  uint32_t local_bytes = 0;   // of each thread
  uint32_t const_bytes = 0;   // constants of the program
};

struct Image {
  bool complete = false;  // the image lists all its kernels and variables
  std::map<std::string, KernelImage> kernels;
  std::map<std::string, uint64_t> variables;  // bytes
  std::string ptx;                            // the program as PTX, if the image has it
  bool is_code = false;                       // the chosen member is machine code, not PTX
  Architecture architecture;                  // the architecture of the chosen member
  uint32_t ptx_version = 0;                   // the newest PTX version of its texts, such as 80
};

enum class ImageError : uint8_t {
  kNone,
  kInvalidImage,
  kInvalidPtx,
  kNoBinary,        // no member fits this GPU
  kUnsupportedPtx,  // a PTX version newer than the driver
};

// Reads a file and appends a zero byte, because PTX in a file has no terminator. Returns false if
// there is no such file.
bool ReadImageFile(const char* path, std::vector<char>* bytes);

// Parses an image. `size` is SIZE_MAX if the size of the image is not known.
ImageError ParseImage(const void* bytes, size_t size, const ImageTarget& target, Image* image);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_IMAGE_H_
