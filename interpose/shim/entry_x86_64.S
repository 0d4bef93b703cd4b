// The exported symbols on x86-64, System V calling convention.
//
// dlsym, dlvsym and dlopen decide by where they are called from, so the real ones must find the
// caller's return address on the stack: these wrappers ask a C function what to do, put every
// argument register back and jump. Only registers that can carry an argument of these functions are
// kept: they take pointers and integers, up to three. The driver's functions take no floating-point
// arguments either; their stubs keep the six integer registers, and what is on the stack stays there.

        .text

// Result of the route functions: rax = address, rdx = whether it is the answer.
        .globl  dlsym
        .type   dlsym, @function
        .balign 16
dlsym:
        .cfi_startproc
        endbr64
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        movq    24(%rsp), %rdx
        call    vramstow_shim_route_dlsym
        movq    %rdx, %rcx
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        testq   %rcx, %rcx
        jnz     1f
        jmp     *%rax
1:      ret
        .cfi_endproc
        .size   dlsym, . - dlsym

        .globl  dlvsym
        .type   dlvsym, @function
        .balign 16
dlvsym:
        .cfi_startproc
        endbr64
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        movq    24(%rsp), %rcx
        call    vramstow_shim_route_dlvsym
        movq    %rdx, %rcx
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        testq   %rcx, %rcx
        jnz     1f
        jmp     *%rax
1:      ret
        .cfi_endproc
        .size   dlvsym, . - dlvsym

        .globl  dlopen
        .type   dlopen, @function
        .balign 16
dlopen:
        .cfi_startproc
        endbr64
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        call    vramstow_shim_route_file
        movq    %rax, (%rsp)
        movl    8(%rsp), %esi
        testl   $8, %esi                // RTLD_DEEPBIND
        jz      1f
        movq    %rax, %rdi
        call    vramstow_shim_route_deepbind
        movl    %eax, 8(%rsp)
1:      call    vramstow_shim_next_dlopen
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc
        .size   dlopen, . - dlopen

// The first call through a slot comes here, with the slot's address in r11.
        .type   resolve_slot, @function
        .balign 16
resolve_slot:
        .cfi_startproc
        pushq   %r9
        .cfi_adjust_cfa_offset 8
        pushq   %r8
        .cfi_adjust_cfa_offset 8
        pushq   %rcx
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movq    %r11, %rdi
        movq    56(%rsp), %rsi
        call    vramstow_shim_resolve
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %r8
        .cfi_adjust_cfa_offset -8
        popq    %r9
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc
        .size   resolve_slot, . - resolve_slot

// One hooked function: the exported stub (with a local name, too: another library may define the same
// symbol before us), its slot, and the resolver that the slot holds at first.
        .macro  STUB name
        .globl  \name
        .type   \name, @function
        .balign 16
\name:
stub_\name:
        .cfi_startproc
        endbr64
        jmp     *slot_\name(%rip)
        .cfi_endproc
        .size   \name, . - \name
lazy_\name:
        endbr64
        leaq    slot_\name(%rip), %r11
        jmp     resolve_slot
        .pushsection .data.vramstow_slots, "aw", @progbits
slot_\name:
        .quad   lazy_\name
        .popsection
        .pushsection .data.rel.ro.vramstow_stubs, "aw", @progbits
        .quad   stub_\name
        .popsection
        .endm

        .hidden vramstow_shim_slots, vramstow_shim_stubs
        .globl  vramstow_shim_slots, vramstow_shim_stubs
        .pushsection .data.vramstow_slots, "aw", @progbits
        .balign 8
vramstow_shim_slots:
        .popsection
        .pushsection .data.rel.ro.vramstow_stubs, "aw", @progbits
        .balign 8
vramstow_shim_stubs:
        .popsection

#define VRAMSTOW_HOOK(symbol, name, version, stream, group, handler, parameters, arguments, what) STUB symbol
#include "interpose/shim/hooks.def"
#define VRAMSTOW_LIBRARY_HOOK(symbol, ...) STUB symbol
#include "interpose/shim/library_hooks.def"

        .section .note.GNU-stack, "", @progbits
