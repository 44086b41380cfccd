#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# json-summary.sh SEAM
# Description: what script, report, export and inject count is written as JSON
# where --json-summary says, under the names that `report --json` has.
. "$(dirname "$0")/cli.sh"
data=$here/../golden/deferred/sig.data
pipe=$here/../golden/deferred/pipe.data

# told NAME OPTIONS...: runs a command with its summary in NAME.
told() {
	name=$1
	shift
	"$seam" "$@" --json-summary "$dir/$name" >"$dir/out" 2>"$dir/err" ||
		cat "$dir/err"
}

# compare PYTHON: with d for the summary of each name, and whole for all that
# `report --json` says.
compare() {
	python3 -c '
import glob, json, os, sys
whole = json.load(open(sys.argv[1] + "/whole"))
del whole["events"]
d = {os.path.basename(name): json.load(open(name))
     for name in glob.glob(sys.argv[1] + "/*.json")}
assert whole["samples"] > 10 and whole["user_half"]["joined"] > 5
'"$1" "$dir"
}

# Of an event that is not precise there is nothing to take back.
precise() {
	compare '
none = {"same": 0, "undone": 0, "behind": 0, "irreversible": {},
        "below-sp": {}, "skid-moment": {}}
assert whole["precise"] == none, whole["precise"]'
}

same() {
	"$seam" report --json -i "$data" >"$dir/whole" 2>"$dir/err" &&
		told script.json script -i "$data" &&
		told folded.json script --format folded -i "$data" &&
		told report.json report -i "$data" &&
		told json.json report --json -i "$data" && compare '
for name in ("script", "folded", "report", "json"):
    assert d[name + ".json"] == whole, name'
}

exported() {
	told export.json export --to folded -o "$dir/x" -i "$data" && compare '
export = d["export.json"].pop("exported")
assert d["export.json"] == whole
assert export["samples"] == whole["samples"]
assert export["not_said"] == whole["not_said"] > 5
assert sum(export["end"].values()) + export["whole"] + export["not_said"] + \
    export["no_user"] == export["samples"]'
}

injected() {
	told merged.json inject -i "$data" -o "$dir/merged" &&
		told again.json inject -i "$dir/merged" -o "$dir/again" &&
		told apart.json inject --unmerge -i "$dir/merged" \
			-o "$dir/apart" && compare '
merged = d["merged.json"].pop("merged")
assert d["merged.json"] == whole
half = whole["user_half"]
assert merged["stacks"] == half["joined"] + half["late"]
assert merged["missing"] == half["missing"] and merged["cut"] == 0
assert d["again.json"]["copied"] == {"samples": whole["samples"]}
apart = d["apart.json"]["unmerged"]
assert apart["samples"] == whole["samples"]
assert apart["stacks"] >= merged["stacks"] and apart["kept"] == 0'
}

# What cannot be written is no success, and a recording is never written to.
refused() {
	cp "$data" "$dir/copy"
	fails 1 'copy: that is the recording itself' "$seam" export --to folded \
		-i "$dir/copy" -o "$dir/x" --json-summary "$dir/copy" ||
		grep -q 'that is the recording itself' "$dir/err" || return
	cmp "$data" "$dir/copy" || return
	for command in script report 'export --to folded' 'inject'; do
		set -- $command
		[ "$1" = script ] || [ "$1" = report ] || set -- "$@" -o "$dir/x"
		"$seam" "$@" -i "$data" --json-summary "$dir/none/x" \
			>"$dir/out" 2>"$dir/err"
		[ $? = 1 ] && grep -q 'none/x: No such file' "$dir/err" ||
			return
	done
}

# Its names are those of what was recorded.
private() {
	(umask 0 && told mine.json report -i "$data") &&
		[ "$(stat -c %a "$dir/mine.json")" = 600 ] || return
	: >"$dir/shared.json" && chmod 644 "$dir/shared.json" &&
		told shared.json report -i "$data" &&
		[ "$(stat -c %a "$dir/shared.json")" = 644 ] &&
		[ -s "$dir/shared.json" ]
	status=$?
	rm "$dir/mine.json" "$dir/shared.json"
	return $status
}

from_pipe() {
	"$seam" report --json -i "$pipe" >"$dir/whole" 2>"$dir/err" || return
	"$seam" script -i - --json-summary "$dir/piped.json" <"$pipe" \
		>"$dir/out" 2>"$dir/err" && compare '
whole["file"] = "-"
assert d["piped.json"] == whole'
}

check 'script and report count what report --json does' same
check 'precise samples are told apart' precise
check 'export counts what it exported, too' exported
check 'inject counts what it merged, copied or took apart' injected
check 'a summary that cannot be written is said' refused
check 'a new file is its owner'"'"'s alone' private
check 'of a pipe as of a file' from_pipe
tap_done
