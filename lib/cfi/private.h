/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Inside the CFI reader. entries.c takes CIEs and FDEs apart, program.c runs
 * their instructions, walk.c goes through sections, index.c looks up, expr.c
 * evaluates expressions, step.c executes a row and detach.c looks up in signal
 * handlers. take.c is the converter's way: short.c runs most instructions on a
 * state of two words, and states.c numbers such states.
 */
#ifndef SEAM_LIB_CFI_PRIVATE_H
#define SEAM_LIB_CFI_PRIVATE_H

#include <errno.h>

#include "cfi/bytes.h"
#include "cfi/cfi.h"

#define SEAM_CFI_NO_CFA 0xff /* row.cfa_reg before any def_cfa */
#define SEAM_CFI_OTHER_REG 0xff /* a register beyond SEAM_CFI_REGS */
#define SEAM_CFI_MAX_REMEMBER 64 /* compilers nest them once or twice */
#define SEAM_CFI_SMALL_REMEMBER 8
#define SEAM_CFI_REG_RA_STATE 34 /* aarch64's pseudo register */
/* A power of two; files have one to five in use. */
#define SEAM_CFI_CIE_SLOTS 16
_Static_assert(!(SEAM_CFI_CIE_SLOTS & (SEAM_CFI_CIE_SLOTS - 1)), "masked");
/* Real CIEs are under 100 bytes. Without a limit a file of FDEs that take
 * turns in naming large CIEs would cost the square of its size. */
#define SEAM_CFI_CIE_MAX 4096

/* What is wrong, kept apart from seam_errinfo so that it is cheap. */
struct seam_cfi_fault {
	int code; /* enum seam_err, 0: nothing */
	const uint8_t *at;
	const char *reason; /* static */
};

struct seam_cfi_section {
	const uint8_t *data;
	size_t size;
	uint64_t svma;
	const char *name;
	bool eh; /* .eh_frame, not .debug_frame */
	bool be;
	bool stop_at_zero; /* no section header: the terminator ends it */
	/* Of a relocatable file: fields whose relocations could not be
	 * applied, offsets in ascending order. */
	const uint64_t *unresolved;
	size_t num_unresolved;
	uint64_t datarel; /* base of DW_EH_PE_datarel, 0: none */
};

struct seam_cie {
	bool used;
	uint64_t off; /* in its section */
	const struct seam_cfi_section *sec;
	uint8_t fde_enc;
	uint8_t address_size, segment_size;
	bool has_aug_data; /* 'z' */
	bool signal, key_b, odd_column;
	uint64_t code_align;
	int64_t data_align;
	bool is_plain; /* its FDEs are what walk.c reads at once */
	struct seam_bytes program;
	struct seam_cfi_fault program_fault;
	struct seam_cfi_row initial;
};

struct seam_fde {
	uint64_t off;
	uint64_t start, end;
	struct seam_bytes program;
	const struct seam_cie *cie;
};

struct seam_cfi_machine {
	struct seam_cfi_row row;
	uint64_t loc;
	const struct seam_cie *cie;
	bool in_cie; /* running a CIE's initial instructions */
	unsigned int depth, max_depth;
	struct seam_cfi_row *saved; /* max_depth of them */
};

/* What running FDEs writes to. */
struct seam_cfi_work {
	struct seam_cfi_machine machine;
	unsigned int num_cies; /* a power of two */
	struct seam_cie *cies; /* by their offset */
};

struct seam_cfi_large {
	struct seam_cfi_work work;
	struct seam_cie cies[SEAM_CFI_CIE_SLOTS];
	struct seam_cfi_row saved[SEAM_CFI_MAX_REMEMBER];
};

struct seam_cfi_small {
	struct seam_cfi_work work;
	struct seam_cie cie;
	struct seam_cfi_row saved[SEAM_CFI_SMALL_REMEMBER];
};

/* Disjoint and sorted: which FDE answers for [start, end). */
struct seam_cfi_range {
	uint64_t start, end;
	uint64_t off; /* of the FDE in its section */
	uint8_t section;
	bool is_good; /* the FDE was run to its end once */
};

/* At most: see seam_cfi_find. */
#define SEAM_CFI_FOUND_BITS 10

struct seam_cfi_found { /* the answer to one address */
	bool used;
	uint64_t svma;
	struct seam_cfi_row row;
};

struct seam_cfi {
	const struct seam_elf *elf; /* NULL: detached */
	uint64_t elf_bias;
	const struct seam_cfi_arch *arch;
	struct seam_cfi_section sections[2];
	unsigned int num_sections;
	struct seam_elf_content contents[2]; /* of the sections */
	bool indexed;
	uint64_t n_bad; /* entries that are malformed */
	struct seam_errinfo first_bad; /* of these */
	struct seam_cfi_range *ranges;
	size_t num_ranges;
	struct seam_cfi_found *found; /* by a hash; allocated when first used */
	struct seam_cfi_work *work;
	struct seam_cfi_work *own_work; /* NULL: shared, or detached */
};

/* One entry's frame: its length and the field that names its CIE. */
struct seam_cfi_entry {
	uint64_t off, next_off; /* this entry, the one after it */
	struct seam_bytes body; /* after the CIE field */
	bool terminator; /* a length of 0: nothing else is set */
	bool is_cie;
	uint64_t cie_off; /* of an FDE's CIE */
};

bool seam_cfi_entry_read(const struct seam_cfi_section *sec, uint64_t off,
			 struct seam_cfi_entry *ret,
			 struct seam_cfi_fault *fault);
/* Where the CIE at an offset would be in the cache. */
static inline struct seam_cie *seam_cie_slot(const struct seam_cfi_work *work,
					     uint64_t off)
{
	return &work->cies[off >> 3 & (work->num_cies - 1)];
}

/* The CIE at an offset, from the cache or parsed and run into it. */
const struct seam_cie *seam_cie_get(struct seam_cfi *cfi,
				    const struct seam_cfi_section *sec,
				    uint64_t off, struct seam_cfi_fault *fault);
bool seam_fde_parse(struct seam_cfi *cfi, const struct seam_cfi_section *sec,
		    const struct seam_cfi_entry *entry, struct seam_fde *ret,
		    struct seam_cfi_fault *fault);
/* A number in one of the formats of DW_EH_PE. */
bool seam_cfi_sized(struct seam_bytes *b, uint8_t format, uint8_t address_size,
		    uint64_t *ret);
bool seam_cfi_encoded(struct seam_bytes *b, uint8_t enc,
		      const struct seam_cfi *cfi, const struct seam_cie *cie,
		      uint64_t func_start, uint64_t *ret,
		      struct seam_cfi_fault *fault);

typedef int seam_cfi_row_fn(void *ctx, const struct seam_cfi_row *row);

/* Runs the CIE's instructions into cie->initial or cie->program_fault. */
void seam_cie_run(struct seam_cfi *cfi, struct seam_cie *cie);
/* Runs an FDE; fn may be NULL. Return: 0, fn's non-zero, or -EINVAL with
 * fault->code set (fn's own -EINVAL leaves it 0). */
int seam_fde_run(struct seam_cfi *cfi, const struct seam_fde *fde,
		 seam_cfi_row_fn *fn, void *ctx, struct seam_cfi_fault *fault);

/* What one walk over a section calls; bad may be NULL. */
struct seam_cfi_visitor {
	int (*fde)(void *ctx, const struct seam_cfi_section *sec,
		   const struct seam_fde *fde);
	void (*bad)(void *ctx, const struct seam_cfi_section *sec,
		    const struct seam_fde *fde,
		    const struct seam_cfi_fault *fault);
	void *ctx;
};

/* One section. Return: 0 or what v->fde returned. */
int seam_cfi_walk(struct seam_cfi *cfi, const struct seam_cfi_section *sec,
		  const struct seam_cfi_visitor *v);
/* Whether the first section has the function as well, and sec is another. */
bool seam_cfi_is_in_first(const struct seam_cfi *cfi,
			  const struct seam_cfi_section *sec,
			  const struct seam_fde *fde);
/* All sections, so that seam_cfi_is_in_first can be asked. The same. */
int seam_cfi_walk_all(struct seam_cfi *cfi, const struct seam_cfi_visitor *v);
void seam_cfi_errinfo(struct seam_errinfo *reterr,
		      const struct seam_cfi_section *sec,
		      const struct seam_cfi_fault *fault);
/* Builds cfi->ranges if they are not. */
int seam_cfi_index(struct seam_cfi *cfi);
/* The slots of found. */
size_t seam_cfi_found_slots(const struct seam_cfi *cfi);
struct seam_cfi_range *seam_cfi_range_find(const struct seam_cfi *cfi,
					   uint64_t svma);

/* Runs the FDE that answers for svma in a cfi that has its index. As
 * seam_cfi_find, but that nothing is allocated. */
int seam_cfi_search(struct seam_cfi *cfi, uint64_t svma,
		    struct seam_cfi_row *ret_row, struct seam_errinfo *reterr);

static inline bool seam_cfi_fault_at(struct seam_cfi_fault *fault, int code,
				     const uint8_t *at, const char *reason)
{
	*fault = (struct seam_cfi_fault){
		.code = code, .at = at, .reason = reason};
	return false;
}

/* The state an expression reads; see seam_cfi_eval. */
struct seam_cfi_target {
	const struct seam_regs *regs;
	uint64_t bias;
	seam_read_fn *read;
	void *read_ctx;
};

/* cfa NULL: nothing is pushed first. Return: 0, -EINVAL, or read's error. */
int seam_cfi_eval(const uint8_t *expr, size_t len, const uint64_t *cfa,
		  const struct seam_cfi_target *target, uint64_t *ret_value);

/* seam_cfi_step, which also says why: *ret_end is an end code if the result
 * is not 1. */
int seam_cfi_step_why(const struct seam_cfi_row *row, struct seam_regs *regs,
		      uint64_t bias, seam_read_fn *read, void *read_ctx,
		      int *ret_end);

#endif
