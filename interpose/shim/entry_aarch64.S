// The exported symbols on arm64, AAPCS64. The same as entry_x86_64.S, which explains why; here the
// return address is in x30, and up to eight argument registers carry a driver function's arguments.

        .text

// Result of the route functions: x0 = address, x1 = whether it is the answer.
        .macro  ROUTED name, route, caller
        .globl  \name
        .type   \name, %function
        .balign 16
\name:
        .cfi_startproc
        hint    #34                     // bti c
        stp     x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        str     x2, [sp, #32]
        mov     \caller, x30
        bl      \route
        mov     x16, x0
        mov     x17, x1
        ldp     x0, x1, [sp, #16]
        ldr     x2, [sp, #32]
        ldp     x29, x30, [sp], #48
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        cbnz    x17, 1f
        br      x16
1:      mov     x0, x16
        ret
        .cfi_endproc
        .size   \name, . - \name
        .endm

        ROUTED  dlsym, vramstow_shim_route_dlsym, x2
        ROUTED  dlvsym, vramstow_shim_route_dlvsym, x3

        .globl  dlopen
        .type   dlopen, %function
        .balign 16
dlopen:
        .cfi_startproc
        hint    #34                     // bti c
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        bl      vramstow_shim_route_file
        str     x0, [sp, #16]
        ldr     x1, [sp, #24]
        tbz     w1, #3, 1f              // RTLD_DEEPBIND
        bl      vramstow_shim_route_deepbind
        str     x0, [sp, #24]
1:      bl      vramstow_shim_next_dlopen
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        br      x16
        .cfi_endproc
        .size   dlopen, . - dlopen

// The first call through a slot comes here, with the slot's address in x17.
        .type   resolve_slot, %function
        .balign 16
resolve_slot:
        .cfi_startproc
        stp     x29, x30, [sp, #-96]!
        .cfi_def_cfa_offset 96
        .cfi_offset x29, -96
        .cfi_offset x30, -88
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        str     x8, [sp, #80]
        mov     x0, x17
        mov     x1, x30
        bl      vramstow_shim_resolve
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldr     x8, [sp, #80]
        ldp     x29, x30, [sp], #96
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        br      x16
        .cfi_endproc
        .size   resolve_slot, . - resolve_slot

// One hooked function: the exported stub (with a local name, too: another library may define the same
// symbol before us), its slot, and the resolver that the slot holds at first.
        .macro  STUB name
        .globl  \name
        .type   \name, %function
        .balign 16
\name:
stub_\name:
        .cfi_startproc
        hint    #34                     // bti c
        adrp    x16, slot_\name
        ldr     x16, [x16, :lo12:slot_\name]
        br      x16
        .cfi_endproc
        .size   \name, . - \name
lazy_\name:
        hint    #34                     // bti c
        adrp    x17, slot_\name
        add     x17, x17, :lo12:slot_\name
        b       resolve_slot
        .pushsection .data.vramstow_slots, "aw", %progbits
slot_\name:
        .xword  lazy_\name
        .popsection
        .pushsection .data.rel.ro.vramstow_stubs, "aw", %progbits
        .xword  stub_\name
        .popsection
        .endm

        .hidden vramstow_shim_slots, vramstow_shim_stubs
        .globl  vramstow_shim_slots, vramstow_shim_stubs
        .pushsection .data.vramstow_slots, "aw", %progbits
        .balign 8
vramstow_shim_slots:
        .popsection
        .pushsection .data.rel.ro.vramstow_stubs, "aw", %progbits
        .balign 8
vramstow_shim_stubs:
        .popsection

#define VRAMSTOW_HOOK(symbol, name, version, stream, group, handler, parameters, arguments, what) STUB symbol
#include "interpose/shim/hooks.def"
#define VRAMSTOW_LIBRARY_HOOK(symbol, ...) STUB symbol
#include "interpose/shim/library_hooks.def"

        .section .note.GNU-stack, "", %progbits
