// Defines one weak function for each name that a stand-in exports. The names are the library's
// table (VRAMSTOW_SYMBOLS, a compile definition), which simulator/generate makes. Each function
// passes its record to VramstowRefuse and returns the result of that call.
//
// A function of the same name in a source file of the library replaces the weak one at link time,
// so the table need not say which functions are simulated.
//
// Some old functions return float, double or a complex number instead of a status. The registers
// of such a result are cleared as well, so a refused call returns 0.

        .hidden VramstowRefuse

#if defined(__x86_64__)

        .text
        .type   vramstow_refuse_common, @function
vramstow_refuse_common:
        .cfi_startproc
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    VramstowRefuse
        xorps   %xmm0, %xmm0
        xorps   %xmm1, %xmm1
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   vramstow_refuse_common, . - vramstow_refuse_common

#define SYMBOL(entry)                                                                        \
        .pushsection .data.refusals, "aw", %progbits;                                        \
.Lrecord_##entry:                                                                            \
        .byte   0;                                                                           \
        .asciz  #entry;                                                                      \
        .popsection;                                                                         \
        .weak   entry;                                                                       \
        .type   entry, @function;                                                            \
entry:                                                                                       \
        endbr64;                                                                             \
        leaq    .Lrecord_##entry(%rip), %rdi;                                                \
        jmp     vramstow_refuse_common;                                                      \
        .size   entry, . - entry;

#elif defined(__aarch64__)

        .text
        .type   vramstow_refuse_common, %function
vramstow_refuse_common:
        .cfi_startproc
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        bl      VramstowRefuse
        movi    v0.2d, #0
        movi    v1.2d, #0
        ldp     x29, x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        ret
        .cfi_endproc
        .size   vramstow_refuse_common, . - vramstow_refuse_common

#define SYMBOL(entry)                                                                        \
        .pushsection .data.refusals, "aw", %progbits;                                        \
.Lrecord_##entry:                                                                            \
        .byte   0;                                                                           \
        .asciz  #entry;                                                                      \
        .popsection;                                                                         \
        .weak   entry;                                                                       \
        .type   entry, %function;                                                            \
entry:                                                                                       \
        adrp    x0, .Lrecord_##entry;                                                        \
        add     x0, x0, :lo12:.Lrecord_##entry;                                              \
        b       vramstow_refuse_common;                                                      \
        .size   entry, . - entry;

#else
#error "refusals.S knows x86-64 and arm64; add this machine's entry sequence."
#endif

#include VRAMSTOW_SYMBOLS

        .section .note.GNU-stack, "", %progbits
