/* Lets a User-Mode Linux kernel run on CPUs with more registers than it has room for.
 *
 * Such a kernel keeps its processes' floating-point and vector registers in a buffer of fixed size (Linux 6.1: that of AVX-512,
 * 2,696 bytes), reads them with PTRACE_GETREGSET and writes them back with PTRACE_SETREGSET. The host's kernel cuts what is read to
 * the buffer, but refuses to write less than all (xstateregs_set in arch/x86/kernel/fpu/regset.c): on a CPU with AMX, which has
 * 11,008 bytes, the first process of the guest dies by signal 11.
 *
 * Loaded before the C library (LD_PRELOAD), this completes what is written with the process's own present registers. A process has
 * AMX only if it asks its kernel for it, and a guest's kernel has nothing to give: what is added is never in use.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/uio.h>

#define GETREGSET 0x4204 /* PTRACE_GETREGSET, include/uapi/linux/ptrace.h */
#define SETREGSET 0x4205
#define XSTATE 0x202 /* NT_X86_XSTATE, include/uapi/linux/elf.h */

typedef long (*ptrace_function)(int, int, unsigned long, void *);

/* One buffer, as only one thread of such a kernel traces: its stacks are too small for it. */
static char registers[1 << 16];

long ptrace(int request, ...)
{
	static ptrace_function real;
	va_list rest;
	va_start(rest, request);
	int process = va_arg(rest, int);
	unsigned long address = va_arg(rest, unsigned long);
	void *data = va_arg(rest, void *);
	va_end(rest);

	if (!real)
		real = (ptrace_function)dlsym(RTLD_NEXT, "ptrace");
	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	if (request == SETREGSET && address == XSTATE) {
		struct iovec *given = data;
		struct iovec all = { registers, sizeof registers };
		if (real(GETREGSET, process, XSTATE, &all) == 0 && given->iov_len < all.iov_len) {
			memcpy(registers, given->iov_base, given->iov_len);
			return real(SETREGSET, process, XSTATE, &all);
		}
	}
	return real(request, process, address, data);
}
