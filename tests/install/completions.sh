#!/usr/bin/env bash
# The completions know what kairo knows. usage: completions.sh KAIRO FOLDER
set -euo pipefail
kairo=$1
folder=$2
HOME=$(mktemp -d)
export HOME KAIRO_HOME=$HOME/state
trap 'rm -rf "$HOME"' EXIT
. "$folder/kairo.bash"

failed=0
# complete WORD...: what bash offers for the last word, sorted, on one line.
complete_() {
	COMP_WORDS=("$kairo" "$@")
	COMP_CWORD=$#
	_kairo
	printf '%s\n' "${COMPREPLY[@]}" | sort -u | xargs
}

# expect "WANTED" WORD...
expect() {
	local want=$1 have
	shift
	have=$(complete_ "$@")
	[ "$have" = "$want" ] || {
		echo "FAILED: kairo $* offers \"$have\", not \"$want\""
		failed=1
	}
}

one_line() { sort -u | xargs; }
commands=$("$kairo" help | sed -n 's/^  \([a-z]*\)\( .*\)\?$/\1/p' | one_line)
keys=$("$kairo" config list | sed -n 's/^\([a-z_.]*\) = .*/\1/p' | one_line)

expect "$(printf '%s\n' $commands --account --help --version | one_line)" ""
expect "$commands" help ""
expect "$keys" config get ""
expect "$keys" config unset ""
secrets=$(printf '%s\n' $keys | sed -n 's/_key_file$/_key/p')
expect "$(printf '%s\n' $keys $secrets | one_line)" config set ""
expect "start status stop" "st"
expect "--json" status ""
expect "-f -n" logs ""
expect "--base-url --force --import" login ""
expect "--file --to" send ""
expect "get list set unset" config ""
expect "--stdin" config set model.api_key ""
expect "--stdin" config set search.brave_key ""
expect "en" config set language e

# Accounts, before and behind the command, in both spellings.
"$kairo" --account work config set text_limit 900 >/dev/null
expect "work" --account ""
expect "work" --account = w
expect "-f -n" --account work logs ""
expect "-f -n" --account = work logs ""
expect "text_limit" --account work config get text

# Where kairo takes certain words only, these are offered.
for key in $keys; do
	words=$("$kairo" config set "$key" $'\x01' 2>&1 | sed -n 's/.*: expected \(".*"\|true or false\)$/\1/p' |
		sed 's/"//g; s/ or / /g') || true
	[ -z "$words" ] || expect "$(printf '%s\n' $words --stdin | one_line)" config set "$key" ""
done

# zsh: the same commands and keys by their names in the file.
for word in $commands; do
	grep -q "^[[:space:]]*['\"]$word:" "$folder/_kairo" || {
		echo "FAILED: _kairo does not know the command $word"
		failed=1
	}
done
for f in kairo.bash _kairo; do
	for option in $("$kairo" help | grep -o -- '--[a-z-]*' | one_line); do
		grep -q -- "$option" "$folder/$f" || {
			echo "FAILED: $f does not know $option"
			failed=1
		}
	done
done
! command -v zsh >/dev/null || zsh -n "$folder/_kairo" || failed=1
exit $failed
