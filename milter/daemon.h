/*
 * The running daemon: signals, reload, watchdog, shutdown. libmilter has a thread of its own; the main
 * thread waits for signals.
 *
 *      SIGHUP    configuration and lexicon are read again; what is wrong keeps the old ones
 *      SIGTERM   no new connections on a unix socket; messages under way get their verdict; then the end
 */
#ifndef MILTER_DAEMON_H
#define MILTER_DAEMON_H

#include "milter/filter.h"
#include "milter/snapshot.h"

/* Blocks the signals that the main thread waits for. Before any other thread is started. */
void daemon_block_signals(void);

/* Runs until it is told to stop. The exit status, of sysexits.h. */
int daemon_run(struct filter *filter, const struct snapshot_source *source);

#endif
