/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * DWARF call frame information, evaluated completely: every row of every FDE
 * in order (for the converter), or the one row for a pc (the exact fallback),
 * and a step by that row with all registers. One struct seam_cfi is used by
 * one thread at a time.
 */
#ifndef SEAM_LIB_CFI_H
#define SEAM_LIB_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "elf/elf.h"
#include "seam/error.h"

#define SEAM_CFI_REGS 17 /* x86-64: 0-15 and the return address column, 16 */
/* Of a row: also aarch64's x0-x30 and SP, s390x' general and floating-point
 * registers. Others (vector registers, mostly) are not followed. */
#define SEAM_CFI_ROW_REGS 32

enum seam_cfi_how {
	SEAM_CFI_SAME, /* unspecified or same_value */
	SEAM_CFI_UNDEFINED,
	SEAM_CFI_OFFSET, /* *(CFA + off) */
	SEAM_CFI_VAL_OFFSET, /* CFA + off */
	SEAM_CFI_REGISTER, /* value of register .reg */
	SEAM_CFI_EXPRESSION, /* *(expression), CFA pushed first */
	SEAM_CFI_VAL_EXPRESSION, /* expression, CFA pushed first */
};

struct seam_cfi_reg {
	uint8_t how; /* enum seam_cfi_how */
	uint8_t reg;
	uint32_t expr_len;
	union {
		int64_t off;
		const uint8_t *expr; /* borrowed from the image or the cfi */
	};
};

/* How aarch64 signed the return address; it is 0 elsewhere. */
enum seam_cfi_ra_state {
	SEAM_CFI_RA_SIGNED = 1,
	SEAM_CFI_RA_SIGNED_PC = 2, /* with the address of the signing */
	SEAM_CFI_RA_STATE_RULE = 4, /* a rule says it, which is not followed */
};

struct seam_cfi_row {
	uint64_t start, end; /* svma: [start, end) */
	uint64_t func_start, func_end;
	uint8_t abi; /* SEAM_SFRAME_ABI_... of the file; 0: x86-64 */
	bool signal; /* augmentation 'S' */
	bool key_b; /* augmentation 'B': aarch64 signs with its second key */
	bool odd_column; /* the return address is not in the ABI's column */
	uint8_t ra_state; /* enum seam_cfi_ra_state */
	bool cfa_is_expr;
	uint8_t cfa_reg; /* this and cfa_off: unless cfa_is_expr */
	uint32_t cfa_expr_len;
	int64_t cfa_off;
	const uint8_t *cfa_expr;
	struct seam_cfi_reg regs[SEAM_CFI_ROW_REGS];
};

/* DWARF's register numbers in one ABI. */
struct seam_cfi_arch {
	uint8_t abi; /* SEAM_SFRAME_ABI_... */
	uint16_t machine; /* EM_... */
	bool be;
	uint8_t sp, fp, ra; /* ra: the column that CIEs name */
	uint8_t regs; /* how many of a row's there are */
	int16_t sp_off; /* the caller's SP is CFA + sp_off */
};

/* NULL: not one of the three. */
const struct seam_cfi_arch *seam_cfi_arch_of(uint16_t machine, bool be);
/* By a row's abi. */
const struct seam_cfi_arch *seam_cfi_arch_by_abi(uint8_t abi);

struct seam_cfi;

/*
 * Of a file for x86-64, aarch64 (either byte order) or s390x: executable,
 * shared or relocatable. elf is borrowed until close. .eh_frame, and
 * .debug_frame for functions that .eh_frame does not have. -ENOENT: the file
 * has neither.
 */
int seam_cfi_open(const struct seam_elf *elf, struct seam_cfi **ret_cfi,
		  struct seam_errinfo *reterr);
const struct seam_cfi_arch *seam_cfi_arch(const struct seam_cfi *cfi);
struct seam_cfi *seam_cfi_close(struct seam_cfi *cfi);

/*
 * Room for running CFI in, 48 KiB, for many cfi of one thread: instead of its
 * own cfi uses it from then on, and must be closed before it is freed. NULL: no
 * memory.
 */
struct seam_cfi_work *seam_cfi_work_new(void);
struct seam_cfi_work *seam_cfi_work_free(struct seam_cfi_work *work);
void seam_cfi_share(struct seam_cfi *cfi, struct seam_cfi_work *work);

/*
 * What look-ups go on to read of the image, for seam_elf_trim, and the memory
 * that cfi has of its own, in bytes. An indirect pointer in CFI that leads
 * elsewhere cannot be read then; no compiler writes one for an address.
 */
int seam_cfi_keeps(struct seam_cfi *cfi, struct seam_elf_parts *ret_parts,
		   size_t *ret_own);

/*
 * The row that holds for an address.
 * Return: 0; -ENOENT if no FDE covers it; -EINVAL, its CFI is malformed.
 */
int seam_cfi_find(struct seam_cfi *cfi, uint64_t svma,
		  struct seam_cfi_row *ret_row, struct seam_errinfo *reterr);

/* A function, as far as one FDE says. */
struct seam_cfi_extent {
	uint64_t start, end;
	bool signal; /* it is a signal's frame */
};

/* The one that covers an address, whatever its rules are. Return: as
 * seam_cfi_find. */
int seam_cfi_find_extent(struct seam_cfi *cfi, uint64_t svma,
			 struct seam_cfi_extent *ret);

/*
 * Lets go of the elf: what look-ups read is copied, and no call but these two
 * and close is for it any more. Indirect pointers in CFI cannot be read then.
 * Return: 0 or -ENOMEM, when all is as it was.
 */
int seam_cfi_detach(struct seam_cfi *cfi);

/*
 * The row in a detached cfi, for any number of threads and their signal
 * handlers at a time, each with a work of its own: it allocates nothing and
 * takes no lock. Expressions that the row points to last as long as cfi.
 * Return: as seam_cfi_find; and -EINVAL where states are remembered within one
 * another deeper than work has room for.
 */
struct seam_cfi_small;
int seam_cfi_find_detached(const struct seam_cfi *cfi,
			   struct seam_cfi_small *work, uint64_t svma,
			   struct seam_cfi_row *ret_row);

/* How many entries of the sections are malformed as such, which is known once
 * anything was looked for; what FDEs say is not looked at. *ret_why: of the
 * first; as it was if there is none. */
uint64_t seam_cfi_n_bad(const struct seam_cfi *cfi,
			struct seam_errinfo *ret_why);

/* The lowest start of an FDE that is above svma. Return: false if none. */
bool seam_cfi_next(struct seam_cfi *cfi, uint64_t svma, uint64_t *ret_start);

/*
 * Every row of every FDE, FDEs in file order; fn returns 0 to go on, anything
 * else is returned. The row is valid during the call, and fn calls nothing
 * here on the same cfi. A malformed FDE is passed to bad (may be NULL; 0, 0
 * if not even its range can be read) and none of its rows to fn. FDEs may
 * overlap in a file that lies: the one that starts last answers for an
 * address, as in seam_cfi_find.
 */
int seam_cfi_each(struct seam_cfi *cfi,
		  int (*fn)(void *ctx, const struct seam_cfi_row *row),
		  void (*bad)(void *ctx, uint64_t func_start, uint64_t func_end,
			      const struct seam_errinfo *why),
		  void *ctx);

/*
 * The same for who wants no more than CFA, SP, FP and RA, ten times faster.
 * Of these a file says few different things in its many rows. So each is
 * handed out once, as a state, gets a number, and rows have that number.
 */
struct seam_cfi_func {
	uint64_t start, end;
	bool signal, key_b; /* as in its rows */
	const struct seam_span *rows; /* the first one begins at start */
	size_t num_rows; /* at least one */
};

struct seam_cfi_taker {
	/*
	 * All that a row has, but addresses and other registers' rules.
	 * *ret_number is to be less than SEAM_CFI_NUMBERS. One that stands
	 * for the same as another may come, or one that no row will have.
	 * The result, as that of func: as fn's in seam_cfi_each.
	 */
	int (*state)(void *ctx, const struct seam_cfi_row *state,
		     uint32_t *ret_number);
	/* They became too many: no row will have a number given before. */
	void (*forget)(void *ctx);
	int (*func)(void *ctx, const struct seam_cfi_func *func);
	void (*bad)(void *ctx, uint64_t func_start, uint64_t func_end,
		    const struct seam_errinfo *why);
	void *ctx;
};
#define SEAM_CFI_NUMBERS UINT32_MAX
int seam_cfi_take(struct seam_cfi *cfi, const struct seam_cfi_taker *taker);

/* Machine state by DWARF number; [16] is the ip. */
struct seam_regs {
	uint64_t r[SEAM_CFI_REGS];
	uint32_t valid; /* bit n: r[n] is known */
};

/* Reads size (1-8) bytes at an address of the target. Return: 0 or -errno. */
typedef int seam_read_fn(void *ctx, uint64_t avma, size_t size,
			 uint64_t *ret_value);

/*
 * Executes one row, of x86-64. bias = avma - svma of the image. What a row says
 * nothing of follows the psABI: rbx, rbp and r12 to r15 stay, sp becomes the
 * CFA, and the rest is unknown in the caller. Return: 1 stepped, regs is the
 * caller's; 0 this is the outermost frame (RA undefined); -EFAULT the CFA, RA
 * or sp could not be read (another register is only unknown then); -EINVAL a
 * bad expression, an unknown register or no progress. On failure regs is as it
 * was.
 */
int seam_cfi_step(const struct seam_cfi_row *row, struct seam_regs *regs,
		  uint64_t bias, seam_read_fn *read, void *read_ctx);

#endif
