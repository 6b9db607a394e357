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

// WIDE fills a register with the byte to look for.
#define WIDE(PATTERN, Y) \
	VPBROADCASTQ PATTERN, Y

// FIND2 puts into OUT a bit for every byte of Y0 and Y1 that equals that of Y.
#define FIND2(Y, OUT) \
	VPCMPEQB  Y, Y0, Y2 \
	VPCMPEQB  Y, Y1, Y3 \
	VPMOVMSKB Y2, OUT   \
	VPMOVMSKB Y3, DI    \
	SHLQ      $32, DI   \
	ORQ       DI, OUT

// func skipBlocks(b *byte, blocks int, o *bracketState) (passed int, opens, closes uint64)
//
// R8 depth, R9 inString, R10 isEscaped.
TEXT ·skipBlocks(SB), NOSPLIT, $0-48
	MOVQ b+0(FP), SI
	MOVQ blocks+8(FP), CX
	MOVQ o+16(FP), R13
	MOVQ 0(R13), R8
	MOVQ 8(R13), R9
	MOVQ 16(R13), R10
	WIDE(quote<>(SB), Y8)
	WIDE(slash<>(SB), Y9)
	WIDE(blank<>(SB), Y10)
	WIDE(open<>(SB), Y11)
	WIDE(close<>(SB), Y12)
	VPCMPEQB Y13, Y13, Y13 // all ones
	MOVQ $0x5555555555555555, R15

block:
	PREFETCHT0 1024(SI) // stored objects are seldom in a near cache: a tenth of a table's row
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	FIND2(Y8, AX)
	FIND2(Y9, DX)
	MOVQ DX, BX
	ORQ R10, BX
	JZ plain

	// escapedBytes: DX slashes, BX follow, DI odd and sum.
	NOTQ R10
	ANDQ R10, DX
	NOTQ R10
	LEAQ (R10)(DX*2), BX
	MOVQ R15, DI
	ORQ BX, DI
	NOTQ DI
	ANDQ DX, DI
	XORL R10, R10
	ADDQ DX, DI
	ADCQ $0, R10
	ADDQ DI, DI
	XORQ R15, DI
	ANDQ BX, DI
	NOTQ DI
	ANDQ DI, AX

plain:
	VMOVQ AX, X4
	VPCLMULQDQ $0, X13, X4, X4 // running
	VMOVQ X4, AX
	XORQ R9, AX
	MOVQ AX, R9
	SARQ $63, R9
	NOTQ AX
	VPOR Y10, Y0, Y0
	VPOR Y10, Y1, Y1
	FIND2(Y11, BX)
	FIND2(Y12, DX)
	ANDQ AX, BX
	ANDQ AX, DX
	POPCNTQ DX, DI
	CMPQ DI, R8
	JGE stop
	POPCNTQ BX, BX
	SUBQ DI, R8
	ADDQ BX, R8
	ADDQ $64, SI
	DECQ CX
	JNZ block

stop:
	MOVQ BX, opens+32(FP)
	MOVQ DX, closes+40(FP)
	MOVQ R8, 0(R13)
	MOVQ R9, 8(R13)
	MOVQ R10, 16(R13)
	SUBQ b+0(FP), SI
	SHRQ $6, SI
	MOVQ SI, passed+24(FP)
	VZEROUPPER
	RET
