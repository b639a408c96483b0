// libamdhip64.so over the CUDA driver: what it exports in addition to the HIP API. C, so that ctypes can call it.
//
// Load it with RTLD_GLOBAL before anything else loads libamdhip64.so. NVIDIA's libcuda.so.1 is opened by the first call
// that needs it; CANDLE_PARITY_LIBCUDA names another one.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// Message of the last HIP call on this thread that failed. Never null.
const char *hipcudaLastMessage(void);

// The newest CUDA that the driver can run, 13000 for 13.0; 0 without a usable driver.
int hipcudaDriverVersion(void);

// The kernels of a loaded module (hipModule_t) with their parameters' sizes as JSON, valid until the thread's next
// call: [{"name": "k", "params": [8, 8, 4]}]. Null with a message where the driver does not support it (before
// CUDA 12.4).
const char *hipcudaModuleKernels(void *module);

// Lets nothing begin that is put on `stream` from now on, until hipcudaRelease or for that many milliseconds. A HIP
// result. One stream at a time.
int hipcudaHold(void *stream, unsigned milliseconds);

// Whether the stream was held until now.
int hipcudaRelease(void);

#ifdef __cplusplus
}
#endif
