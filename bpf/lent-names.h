/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Our maps' names in other tools' objects, where theirs may have ours. A
 * session finds its own by what is behind "seam_". */
#ifndef SEAM_BPF_LENT_NAMES_H
#define SEAM_BPF_LENT_NAMES_H

#define arena seam_arena
#define client_made_spans seam_client_made_spans
#define client_made_tables seam_client_made_tables
#define client_makers seam_client_makers
#define client_rings seam_client_rings
#define client_sleeps seam_client_sleeps
#define client_stacks seam_client_stacks
#define client_states seam_client_states
#define client_untold seam_client_untold
#define common seam_common
#define cookies seam_cookies
#define copies seam_copies
#define cpu_states seam_cpu_states
#define elements seam_elements
#define fresh_elements seam_fresh_elements
#define fresh_spans seam_fresh_spans
#define made_spans seam_made_spans
#define made_tables seam_made_tables
#define makers seam_makers
#define outside_state seam_outside_state
#define outsides seam_outsides
#define ring seam_ring
#define sample_buffers seam_sample_buffers
#define scratches seam_scratches
#define sleeps seam_sleeps
#define tables seam_tables
#define watched seam_watched

#endif
