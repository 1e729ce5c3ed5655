#!/usr/bin/env bash
# usage: install.sh BUILD SCRATCH BINDIR LIBEXECDIR MANDIR DATADIR
set -euo pipefail
build=$1 dest=$2/dest bin=$3 libexec=$4 man=$5 data=$6

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

rm -rf "${dest:?}" "${2:?}/home" "${2:?}/moved"
(umask 077 && DESTDIR=$dest cmake --install "$build" >/dev/null)

# Exactly these files, with these modes.
prefix=${bin%/*}
sort >"$2/want" <<LIST
755 $bin/kairo
755 $bin/kairo-sim
755 $libexec/kairo/kairo-tool
644 $man/man1/kairo.1
644 $man/man1/kairo-sim.1
644 $man/man5/kairo.toml.5
644 $data/bash-completion/completions/kairo
644 $data/zsh/site-functions/_kairo
644 $prefix/lib/systemd/user/kairo.service
LIST
(cd "$dest" && find . -type f -printf '%m /%P\n' | sort) >"$2/have"
diff -u "$2/want" "$2/have" || fail "other files than expected"
shut=$(find "$dest" -mindepth 1 -type d ! -perm 755)
[ -z "$shut" ] || fail "folders that others cannot use: $shut"
grep -qx "ExecStart=$bin/kairo run" "$dest$prefix/lib/systemd/user/kairo.service" || fail "the unit's ExecStart"

# A prefix chosen at install time reaches the unit too.
cmake --install "$build" --prefix "$2/moved" >/dev/null
unit=$2/moved/lib/systemd/user/kairo.service
grep -qx "ExecStart=$2/moved/bin/kairo run" "$unit" || fail "the unit's ExecStart after --prefix: $(grep Exec "$unit")"
"$2/moved/bin/kairo" version >/dev/null || fail "kairo version after --prefix"
rm -rf "${2:?}/moved"

# It works where it was put, by its own path and through a link, without the build tree.
mkdir -m 700 "$2/home"
ln -s "$dest$bin/kairo" "$2/home/kairo"
export HOME=$2/home KAIRO_HOME=$2/home/state
unset KAIRO_MODEL_BASE_URL KAIRO_MODEL_NAME KAIRO_MODEL_API_KEY
for kairo in "$dest$bin/kairo" "$2/home/kairo"; do
	"$kairo" version | grep -q '^kairo [0-9]' || fail "$kairo version"
	"$kairo" config set workspace "$2/home/work" >/dev/null
	"$kairo" config set network.proxy http://127.0.0.1:9 >/dev/null # nothing outside is asked
	mkdir -p "$2/home/work"
	"$kairo" doctor >"$2/doctor" || true
	grep -Eq '^(ok|warn) +sandbox +files: ' "$2/doctor" || fail "no helper: $(cat "$2/doctor")"
done
"$dest$bin/kairo-sim" --help >/dev/null || fail "kairo-sim"

# The helper that is found is the one that was installed: without it there is none.
rm "$dest$libexec/kairo/kairo-tool"
"$dest$bin/kairo" doctor >"$2/doctor" || true
grep -q '^FAIL  sandbox' "$2/doctor" || fail "a helper from elsewhere: $(cat "$2/doctor")"
rm -rf "${dest:?}" "${2:?}/home"
