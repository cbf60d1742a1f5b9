/*
 * The progress bar of long work, on stderr: count, rate, ETA. Shows nothing when stderr is not a
 * terminal, with quiet, or in the first half second.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress;

/* total = 0 when it is not known: count and rate only. The unit is a plural: "messages". */
struct progress *progress_new(const char *unit, uint64_t total, bool quiet);

/* The total may become known (or grow) while the work goes on. */
void progress_total(struct progress *progress, uint64_t total);

/* n are done now. Cheap: draws at most ten times a second. One thread only. */
void progress_set(struct progress *progress, uint64_t n);

/* Wipes the bar and frees it; sets the pointer to NULL. */
void progress_end(struct progress **progress);

#endif
