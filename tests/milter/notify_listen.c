/* notify_listen SOCKET: prints what a daemon tells its service manager (sd_notify), one line each, until
 * killed. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char text[4096];
    if (argc != 2 || strlen(argv[1]) >= sizeof address.sun_path)
        return 2;
    strcpy(address.sun_path, argv[1]);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        return 2;
    for (;;) {
        ssize_t n = recv(fd, text, sizeof text - 1, 0);
        if (n <= 0)
            return 1;
        text[n] = '\0';
        printf("%s\n", text);
        fflush(stdout);
    }
}
