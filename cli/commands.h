/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The sub-commands: one file cmd-NAME.c and one man page seam-NAME.1 each. */
#ifndef SEAM_CLI_COMMANDS_H
#define SEAM_CLI_COMMANDS_H

/* argv[0] is the sub-command's name. Return: the exit status. */
int cmd_record(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_inject(int argc, char **argv);
int cmd_sframe(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_top(int argc, char **argv);

#endif
