/* System calls as gVisor of 2022 understands them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* It calls AT_NO_AUTOMOUNT an invalid argument, and mounts nothing. */

int statx(int folder, const char *path, int flags, unsigned int mask, struct statx *found)
{
    return syscall(SYS_statx, folder, path, flags & ~AT_NO_AUTOMOUNT, mask, found);
}

int fstatat(int folder, const char *path, struct stat *found, int flags)
{
    return syscall(SYS_newfstatat, folder, path, found, flags & ~AT_NO_AUTOMOUNT);
}

int fstatat64(int folder, const char *path, struct stat64 *found, int flags)
{
    return syscall(SYS_newfstatat, folder, path, found, flags & ~AT_NO_AUTOMOUNT);
}

/* It takes the mark of a deleted file of a lower layer for a file, where another must not be replaced. A link does not. */

int renameat2(int from, const char *old, int to, const char *new, unsigned int flags)
{
    struct stat found;
    int done = syscall(SYS_renameat2, from, old, to, new, flags);
    if (done == 0 || errno != EEXIST || flags != RENAME_NOREPLACE)
        return done;
    if (syscall(SYS_newfstatat, to, new, &found, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    if (linkat(from, old, to, new, 0) == 0)
        return unlinkat(from, old, 0);
    return errno == EPERM ? renameat(from, old, to, new) : -1; /* a folder has no second name */
}
