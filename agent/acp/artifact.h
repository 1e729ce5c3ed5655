/* agent/acp/artifact.h: the file that a process says to have made. Its last line tells:
 *
 *     Saved chart.png          wrote 12 rows to out/rows.csv          Plot saved as "a plot.png".
 */
#ifndef AGENT_ACP_ARTIFACT_H
#define AGENT_ACP_ARTIFACT_H

#include <stdbool.h>

#include "base/str.h"

/* Appends its path, as it stands there. False: nothing is named, or no regular file that lies in
 * the workspace without a link or a hidden folder in its path (.kairo-out is none). */
bool artifact_find(const char *workspace, struct view output, struct str *path);

#endif
