// What programs call that are compiled with -fgpu-default-stream=per-thread: each function of this kind takes the
// arguments of the one without _spt. It jumps there, for every call has ended its work when it returns, and so the
// streams of the threads differ in nothing.

#define PER_THREAD(name)                                                                                        \
  asm(".globl " #name "_spt\n.type " #name "_spt, @function\n" #name "_spt:\n  jmp " #name "@PLT\n.size " #name \
      "_spt, . - " #name "_spt\n");

PER_THREAD(hipEventRecord)
PER_THREAD(hipLaunchCooperativeKernel)
PER_THREAD(hipLaunchHostFunc)
PER_THREAD(hipLaunchKernel)
PER_THREAD(hipMemcpy)
PER_THREAD(hipMemcpy2D)
PER_THREAD(hipMemcpy2DAsync)
PER_THREAD(hipMemcpy3D)
PER_THREAD(hipMemcpy3DAsync)
PER_THREAD(hipMemcpyAsync)
PER_THREAD(hipMemcpyFromSymbol)
PER_THREAD(hipMemcpyFromSymbolAsync)
PER_THREAD(hipMemcpyToSymbol)
PER_THREAD(hipMemcpyToSymbolAsync)
PER_THREAD(hipMemset)
PER_THREAD(hipMemset2D)
PER_THREAD(hipMemset2DAsync)
PER_THREAD(hipMemset3D)
PER_THREAD(hipMemset3DAsync)
PER_THREAD(hipMemsetAsync)
PER_THREAD(hipStreamAddCallback)
PER_THREAD(hipStreamGetFlags)
PER_THREAD(hipStreamGetPriority)
PER_THREAD(hipStreamQuery)
PER_THREAD(hipStreamSynchronize)
PER_THREAD(hipStreamWaitEvent)
