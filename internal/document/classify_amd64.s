#include "textflag.h"

// The bytes to look for, 16 times each.
DATA quote<>+0(SB)/8, $0x2222222222222222
DATA quote<>+8(SB)/8, $0x2222222222222222
GLOBL quote<>(SB), RODATA|NOPTR, $16
DATA slash<>+0(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA slash<>+8(SB)/8, $0x5c5c5c5c5c5c5c5c
GLOBL slash<>(SB), RODATA|NOPTR, $16
DATA blank<>+0(SB)/8, $0x2020202020202020
DATA blank<>+8(SB)/8, $0x2020202020202020
GLOBL blank<>(SB), RODATA|NOPTR, $16
DATA open<>+0(SB)/8, $0x7b7b7b7b7b7b7b7b
DATA open<>+8(SB)/8, $0x7b7b7b7b7b7b7b7b
GLOBL open<>(SB), RODATA|NOPTR, $16
DATA close<>+0(SB)/8, $0x7d7d7d7d7d7d7d7d
DATA close<>+8(SB)/8, $0x7d7d7d7d7d7d7d7d
GLOBL close<>(SB), RODATA|NOPTR, $16

// FIND puts into AX a bit for every byte of X0 to X3 that equals that of PATTERN.
#define FIND(PATTERN) \
	MOVOU    PATTERN, X8  \
	MOVO     X8, X4       \
	PCMPEQB  X0, X4       \
	PMOVMSKB X4, AX       \
	MOVO     X8, X5       \
	PCMPEQB  X1, X5       \
	PMOVMSKB X5, BX       \
	SHLQ     $16, BX      \
	ORQ      BX, AX       \
	MOVO     X8, X6       \
	PCMPEQB  X2, X6       \
	PMOVMSKB X6, CX       \
	SHLQ     $32, CX      \
	ORQ      CX, AX       \
	PCMPEQB  X3, X8       \
	PMOVMSKB X8, DX       \
	SHLQ     $48, DX      \
	ORQ      DX, AX

// func classify(b *[64]byte) (quotes, slashes, opens, closes uint64)
TEXT ·classify(SB), NOSPLIT, $0-40
	MOVQ b+0(FP), SI
	MOVOU (SI), X0
	MOVOU 16(SI), X1
	MOVOU 32(SI), X2
	MOVOU 48(SI), X3
	FIND(quote<>(SB))
	MOVQ AX, quotes+8(FP)
	FIND(slash<>(SB))
	MOVQ AX, slashes+16(FP)
	MOVOU blank<>(SB), X9
	POR X9, X0
	POR X9, X1
	POR X9, X2
	POR X9, X3
	FIND(open<>(SB))
	MOVQ AX, opens+24(FP)
	FIND(close<>(SB))
	MOVQ AX, closes+32(FP)
	RET
