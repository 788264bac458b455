#define IPC_LIMIT 1956
int put_ipc_ns(int);
int proc_read(int);
