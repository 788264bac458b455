#include "ipc.h"
const char linux_banner[4096] = "Linux version 6.1.99 (" BUILT_IN ") #1\n";
int start(void) { return put_ipc_ns(1) + proc_read(2) + linux_banner[3]; }
