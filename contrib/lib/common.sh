# Shared by contrib/demo, contrib/test and contrib/fuzz. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

build_packages="gcc libc6-dev cmake ninja-build pkg-config libcurl4-openssl-dev libssl-dev
 libcjson-dev libsqlite3-dev libevent-dev libcmark-dev libutf8proc-dev libqrencode-dev libseccomp-dev
 libpcre2-dev libxml2-dev libturbojpeg0-dev libspng-dev libwebp-dev libgif-dev"
demo_packages="ca-certificates curl jq bubblewrap"
test_packages="libcmocka-dev clang-14 clang-tidy-14 clang-format-14 libclang-rt-14-dev cppcheck shellcheck
 pyflakes3 python3 curl jq openssl procps ca-certificates git chromium zbar-tools bubblewrap"

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
	say "$*"
	exit 1
}

# need_packages NAME...: install what is missing, as root or with sudo.
need_packages() {
	local missing=() name as=() log=$root/build/packages.log
	for name in "$@"; do
		dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed ||
			missing+=("$name")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null ||
		die "these packages (Debian's names) are missing and there is no apt-get: ${missing[*]}"
	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null ||
			die "these packages are missing: ${missing[*]}; run this as root, or install sudo"
		as=(sudo)
	fi
	say "installing ${missing[*]}"
	make_build_folder
	if ! { "${as[@]}" apt-get update && "${as[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		die "apt-get could not install them; its last words stand above, all of them in $log" \
			"(as root it is: apt-get install ${missing[*]})"
	fi
}

make_build_folder() {
	mkdir -p "$root/build" && [ -w "$root/build" ] ||
		die "cannot write to $root/build: run this as its owner, or remove it"
}

# build PRESET [cmake --build's options]: configure and build, quiet unless it fails.
build() {
	local log=$root/build/$1.log
	make_build_folder
	say "building build/$1"
	if ! (cd "$root" && cmake --preset "$1" && cmake --build --preset "$@") </dev/null >"$log" 2>&1; then
		tail -n 40 "$log" >&2
		die "the build failed; its last words stand above, all of them in $log" \
			"(if this folder was moved or copied, remove $root/build first)"
	fi
}
