#include "tools/command.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

bool command_interrupted(void)
{
    return interrupted != 0;
}

void command_interrupted_error(GError **error)
{
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_INTERRUPTED,
                "interrupted: what was printed is done, the rest was not begun");
}

int command_fail(GError *error)
{
    if (!error)
        return EXIT_DONE;
    g_autofree char *line = log_clean(g_strdup(error->message));
    fflush(stdout);
    fprintf(stderr, "refrain: %s\n", line);
    g_error_free(error);
    return EXIT_ERROR;
}

static void on_signal_at_once(int number)
{
    static const char text[] = "refrain: interrupted: nothing was changed\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)number, (void)written;
    _exit(EXIT_ERROR);
}

static void catch (void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = (int)SA_RESETHAND };
    static const int stops[] = { SIGINT, SIGTERM, SIGHUP };
    for (size_t i = 0; i < G_N_ELEMENTS(stops); i++) {
        struct sigaction before;
        sigaction(stops[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) /* nohup */
            sigaction(stops[i], &action, NULL);
    }
}

/* A second signal ends the program at once: the handler is for the first. */
void command_catch_signals(void)
{
    catch (on_signal);
    signal(SIGPIPE, SIG_IGN); /* a store that goes away; a closed stdout is seen when it is written */
}

void command_stop_at_once(void)
{
    catch (on_signal_at_once);
}
