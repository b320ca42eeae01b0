// Runs a program and intercepts its system calls that change files below a folder, in all its threads and children. The
// n-th such call fails, or the program is killed before it, or all calls are recorded with their data.
//
// usage: tracer MODE N ERRNO FOLDER OUT PROGRAM ARGS...
//   count  N and ERRNO are ignored          fail    the n-th call fails
//   stick  the n-th and all later ones fail  kill   SIGKILL before the n-th call
//   record N and ERRNO are ignored; writes every call and its data to OUT
// Except with `record`, OUT receives the number of calls. The exit code is that of the program, or 128 plus its signal.
//
// The kernel asks this process about each call (seccomp user notification): needs Linux 5.6 and no privileges.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind { WRITE, PWRITE, WRITEV, PWRITEV, TRUNCATE, SYNC, RENAME, RENAMEAT, UNLINK, UNLINKAT, MKDIR, MKDIRAT, CREATE };

static const struct { int number; enum kind kind; } calls[] = {
    {SYS_write, WRITE},       {SYS_pwrite64, PWRITE},     {SYS_writev, WRITEV},     {SYS_pwritev, PWRITEV},
    {SYS_ftruncate, TRUNCATE}, {SYS_fsync, SYNC},         {SYS_fdatasync, SYNC},    {SYS_renameat, RENAMEAT},
    {SYS_renameat2, RENAMEAT}, {SYS_unlinkat, UNLINKAT},  {SYS_mkdirat, MKDIRAT},   {SYS_openat, CREATE},
#ifdef SYS_rename
    {SYS_rename, RENAME},     {SYS_unlink, UNLINK},       {SYS_mkdir, MKDIR},
#endif
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static const char *folder;
static FILE *out;

static void die(const char *what) {
    fprintf(stderr, "tracer: %s: %s\n", what, strerror(errno));
    exit(99);
}

// ---- the filter

static int install_filter(void) {
    struct sock_filter code[4 + 3 * CALLS];
    int n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < CALLS; i++) {
        if (calls[i].kind == CREATE) continue;
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    }
    // Opening a file changes the folder only if it may create the file.
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT, 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) die("no_new_privs");
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

struct shared { volatile int fd, go; };

static pid_t start(char **command, int *listener) {
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) die("mmap");
    pid_t child = fork();
    if (child == 0) {
        int fd = install_filter();
        shared->fd = fd < 0 ? -1 : fd;
        while (!shared->go) usleep(100);
        if (fd >= 0) execv(command[0], command);
        _exit(98);
    }
    while (!shared->fd) usleep(100);
    if (shared->fd < 0) die("seccomp user notification is not available");
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    *listener = (int)syscall(SYS_pidfd_getfd, pidfd, shared->fd, 0);
    if (*listener < 0) die("pidfd_getfd");
    shared->go = 1;
    return child;
}

// ---- what a call refers to

static int below_folder(const char *path) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static void link_of(pid_t pid, int fd, char *path, size_t size) {
    char link[64];
    if (fd == AT_FDCWD) snprintf(link, sizeof link, "/proc/%d/cwd", pid);
    else snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, fd);
    ssize_t length = readlink(link, path, size - 1);
    path[length < 0 ? 0 : length] = 0;
}

static void copy_from(pid_t pid, unsigned long address, void *to, size_t length, size_t *copied) {
    struct iovec local = {to, length}, remote = {(void *)address, length};
    ssize_t read = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    *copied = read < 0 ? 0 : (size_t)read;
}

// A path argument, absolute.
static void path_of(pid_t pid, int dir, unsigned long address, char *path, size_t size) {
    char text[4096] = {0};
    size_t length = 0;
    // Up to the end of its page first: the next page may not be mapped.
    size_t first = 4096 - address % 4096;
    copy_from(pid, address, text, first < sizeof text - 1 ? first : sizeof text - 1, &length);
    if (strnlen(text, length) == length && length < sizeof text - 1) {
        size_t more = 0;
        copy_from(pid, address + length, text + length, sizeof text - 1 - length, &more);
    }
    if (text[0] == '/') {
        snprintf(path, size, "%s", text);
        return;
    }
    char base[4096];
    link_of(pid, dir, base, sizeof base);
    snprintf(path, size, "%s/%s", base, text);
}

static long long position_of(pid_t pid, int fd) {
    char name[64], line[256];
    long long position = 0;
    unsigned flags = 0;
    snprintf(name, sizeof name, "/proc/%d/fdinfo/%d", pid, fd);
    FILE *info = fopen(name, "r");
    while (info && fgets(line, sizeof line, info)) {
        sscanf(line, "pos: %lld", &position);
        sscanf(line, "flags: %o", &flags);
    }
    if (info) fclose(info);
    if (flags & O_APPEND) {
        struct stat file;
        snprintf(name, sizeof name, "/proc/%d/fd/%d", pid, fd);
        if (stat(name, &file) == 0) position = file.st_size;
    }
    return position;
}

// ---- recording: a line of fields separated by tabs, then the data

static void record_data(pid_t pid, const char *path, long long at, unsigned long address, size_t length) {
    char *data = malloc(length + 1);
    size_t copied = 0;
    copy_from(pid, address, data, length, &copied);
    fprintf(out, "write\t%s\t%lld\t%zu\n", path, at, copied);
    fwrite(data, 1, copied, out);
    free(data);
}

static void record_vector(pid_t pid, const char *path, long long at, unsigned long address, size_t count) {
    struct iovec parts[64];
    size_t copied = 0;
    copy_from(pid, address, parts, sizeof parts[0] * (count < 64 ? count : 64), &copied);
    for (size_t i = 0; i < copied / sizeof parts[0]; i++) {
        record_data(pid, path, at, (unsigned long)parts[i].iov_base, parts[i].iov_len);
        at += (long long)parts[i].iov_len;
    }
}

// Whether the call changes a file below the folder; records it if `recording`.
static int concerns_folder(const struct seccomp_notif *ask, enum kind kind, int recording) {
    char path[8192] = "", other[8192] = "";
    const __u64 *args = ask->data.args;
    pid_t pid = (pid_t)ask->pid;
    switch (kind) {
    case WRITE: case PWRITE: case WRITEV: case PWRITEV: case TRUNCATE: case SYNC:
        link_of(pid, (int)args[0], path, sizeof path); break;
    case RENAME:
        path_of(pid, AT_FDCWD, args[0], path, sizeof path);
        path_of(pid, AT_FDCWD, args[1], other, sizeof other); break;
    case RENAMEAT:
        path_of(pid, (int)args[0], args[1], path, sizeof path);
        path_of(pid, (int)args[2], args[3], other, sizeof other); break;
    case UNLINK: case MKDIR: path_of(pid, AT_FDCWD, args[0], path, sizeof path); break;
    case UNLINKAT: case MKDIRAT: case CREATE: path_of(pid, (int)args[0], args[1], path, sizeof path); break;
    }
    if (!below_folder(path)) return 0;
    if (!recording) return 1;
    switch (kind) {
    case WRITE: record_data(pid, path, position_of(pid, (int)args[0]), args[1], args[2]); break;
    case PWRITE: record_data(pid, path, (long long)args[3], args[1], args[2]); break;
    case WRITEV: record_vector(pid, path, position_of(pid, (int)args[0]), args[1], args[2]); break;
    case PWRITEV: record_vector(pid, path, (long long)args[3], args[1], args[2]); break;
    case TRUNCATE: fprintf(out, "truncate\t%s\t%lld\t0\n", path, (long long)args[1]); break;
    case SYNC: fprintf(out, "sync\t%s\t0\t0\n", path); break;
    case RENAME: case RENAMEAT: fprintf(out, "rename\t%s\t%s\t0\n", path, other); break;
    case UNLINK: case UNLINKAT: fprintf(out, "unlink\t%s\t0\t0\n", path); break;
    case MKDIR: case MKDIRAT: fprintf(out, "mkdir\t%s\t0\t0\n", path); break;
    case CREATE: fprintf(out, "create\t%s\t%d\t0\n", path, (args[2] & O_TRUNC) != 0); break;
    }
    return 1;
}

static enum kind kind_of(int number) {
    for (int i = 0; i < CALLS; i++)
        if (calls[i].number == number) return calls[i].kind;
    return CREATE;
}

int main(int argc, char **argv) {
    if (argc < 7) return 97;
    const char *mode = argv[1];
    long at = atol(argv[2]), seen = 0;
    int error = atoi(argv[3]), listener, recording = !strcmp(mode, "record");
    folder = argv[4];
    out = fopen(argv[5], "w");
    if (!out) die(argv[5]);
    pid_t child = start(argv + 6, &listener);
    struct pollfd poller = {listener, POLLIN, 0};
    while (poll(&poller, 1, -1) > 0 && (poller.revents & POLLIN)) {
        struct seccomp_notif ask = {0};
        struct seccomp_notif_resp reply = {0};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask)) continue;
        reply.id = ask.id;
        reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        if (concerns_folder(&ask, kind_of(ask.data.nr), recording)) {
            seen++;
            if (seen == at && !strcmp(mode, "kill")) kill(child, SIGKILL);
            int fails = (seen == at && !strcmp(mode, "fail")) || (seen >= at && !strcmp(mode, "stick"));
            // A file system on which everything fails can still be cleaned up and closed.
            enum kind kind = kind_of(ask.data.nr);
            if (fails && !(kind == UNLINK || kind == UNLINKAT) ) {
                reply.flags = 0;
                reply.error = -error;
            }
        }
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!recording) fprintf(out, "%ld\n", seen);
    fclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
