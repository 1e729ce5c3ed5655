/* Runs a fuzz target over the files of the folders that are named, and over every truncation of the
 * small ones. */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>

#define FILE_MAX_BYTES (4 << 20)
#define CUT_MAX_BYTES  2048

/* In a block of exactly that size, so that the sanitizer sees one byte too many. */
static void run(const unsigned char *data, size_t n)
{
	unsigned char *copy = malloc(n > 0 ? n : 1);

	must(copy);
	if (n > 0)
		memcpy(copy, data, n);
	(void)LLVMFuzzerTestOneInput(n > 0 ? copy : copy + 1, n);
	free(copy);
}

static int run_file(const char *path)
{
	unsigned char *data = malloc(FILE_MAX_BYTES);
	FILE *f = fopen(path, "rb");

	must(data);
	if (!f) {
		perror(path);
		free(data);
		return -1;
	}
	size_t n = fread(data, 1, FILE_MAX_BYTES, f);
	fclose(f);
	fprintf(stderr, "%s\n", path); /* the last line names the culprit of a crash */
	run(data, n);
	for (size_t cut = 0; n <= CUT_MAX_BYTES && cut < n; cut++)
		run(data, cut);
	free(data);
	return 0;
}

static int run_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	int count = 0;

	if (!dir) {
		perror(folder);
		return -1;
	}
	while ((entry = readdir(dir)) != NULL) {
		char path[4096];

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (run_file(path) < 0)
			break;
		count++;
	}
	closedir(dir);
	if (count == 0)
		fprintf(stderr, "%s: no seeds\n", folder);
	return count > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	int rc = argc > 1 ? 0 : -1;

	for (int i = 1; i < argc && rc == 0; i++)
		rc = run_folder(argv[i]);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
