#!/usr/bin/env bash
# One small file with one fault for each check of contrib/lint, and the same file without.
# usage: planted.sh FOLDER (inside the source tree, so that the settings there hold)
set -euo pipefail

lint=$(cd "$(dirname "$0")/../.." && pwd -P)/contrib/lint
for tool in clang-format-14 clang-tidy-14 cppcheck shellcheck; do
	command -v "$tool" >/dev/null || {
		echo "skipped: $tool is not installed"
		exit 77
	}
done
rm -rf "$1"
mkdir -p "$1/base"
cd "$1"
failed=0

# expect CHECK FILE...: exactly this check complains; "" means none does.
expect() {
	local check=$1 out rc=0
	shift
	out=$("$lint" "$@" 2>&1) || rc=$?
	if [ -z "$check" ] && [ $rc -eq 0 ]; then
		echo "ok: clean"
	elif [ -n "$check" ] && [ $rc -eq 1 ] && grep -qx "lint: see above: $check" <<<"$out"; then
		echo "ok: $check"
	else
		printf 'FAILED: wanted "%s" for %s, got %d and\n%s\n' "$check" "$*" "$rc" "$out"
		failed=1
	fi
}

cat >clean.c <<'C'
#include <stdio.h>

int main(void)
{
	return puts("clean") < 0;
}
C
printf '#!/usr/bin/env bash\necho "$1"\n' >clean
expect "" clean.c clean

sed 's/^\treturn/    return/' clean.c >indent.c
expect clang-format indent.c

printf '#ifndef X_H\n#define X_H\n\nint  x( void );\n\n#endif\n' >x.h
expect clang-format x.h

sed '/^int main/i /* A comment that goes on and on, past the hundredth column, where no screen of a reader shows it any more. */' \
	clean.c >wide.c
expect width wide.c

sed '/^int main/i /* NOLINTNEXTLINE */' clean.c >silent.c
expect reasons silent.c

cat >dead.c <<'C'
int main(int argc, char **argv)
{
	int n = argc + 1;

	(void)argv;
	n = 0;
	return n;
}
C
expect clang-tidy dead.c

cat >base/planted.h <<'H'
#ifndef BASE_PLANTED_H
#define BASE_PLANTED_H

static inline long planted(int n)
{
	long bytes = n * 1024;

	return bytes;
}

#endif
H
printf '#include "base/planted.h"\n\nint main(void)\n{\n\treturn planted(1) != 1024;\n}\n' >header.c
expect clang-tidy header.c

cat >leak.c <<'C'
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
	int fd = open("/dev/null", O_RDONLY);

	if (fd < 0)
		return 1;
	return 0;
}
C
expect cppcheck leak.c

printf '#!/usr/bin/env bash\ncd $1\nls\n' >script
expect shellcheck script

exit $failed
