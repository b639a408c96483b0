// A mistake a kernel, on every target. The names are Candle's; what each does wrong stands above it.
#include "common.h"

// Loads in inline assembly

// no s_waitcnt after the load
UNARY(uneg_f32, float, if (i >= numel) return; float x;
      asm volatile("global_load_dword %0, %1, off" ADVISED("\n s_waitcnt vmcnt(0)", "") : "=v"(x) : "v"(inp + i));
      out[i] = -x;)
// the second of two loads may still be in flight
UNARY(uabs_f32, float, if (i >= numel) return; float x; float y;
      asm volatile("global_load_dword %0, %2, off\n global_load_dword %1, %2, off\n s_waitcnt vmcnt(" ADVISED(
                       "0", "1") ")" : "=&v"(x),
                   "=&v"(y) : "v"(inp + i));
      out[i] = fabsf(y);)
// no s_waitcnt after a load from shared memory
UNARY(uceil_f32, float, __shared__ float values[1024]; if (i >= numel) return; values[threadIdx.x] = inp[i]; float x;
      asm volatile("ds_read_b32 %0, %1" ADVISED("\n s_waitcnt lgkmcnt(0)", "") : "=v"(x) : "v"(
          (__attribute__((address_space(3))) float *)values + threadIdx.x) : "memory");
      out[i] = ceilf(x);)
// offset:8 is an element too far
UNARY(ucopy_i64, i64, if (i >= numel) return; i64 x;
      asm volatile("global_load_dwordx2 %0, %1, off offset:8\n s_waitcnt vmcnt(0)" : "=v"(x) : "v"(inp + i));
      out[i] = x;)
// a load of 16 bits into the low half leaves the high one as it was
UNARY(urelu_f16, __half, if (i >= numel) return; u32 x = 0x3c003c00;
      asm volatile("global_load_short_d16 %0, %1, off\n s_waitcnt vmcnt(0)" : "+v"(x) : "v"(inp + i));
      reinterpret_cast<unsigned short *>(out)[i] = x < 0x8000 ? x : 0;)

// Memory of the machine

// shared memory is smaller than the block
UNARY(ufloor_f32, float, __shared__ volatile float values[128]; if (i >= numel) return;
      values[threadIdx.x] = floorf(inp[i]); out[i] = values[threadIdx.x];)
// dynamic shared memory, of which Candle's launch has none
UNARY(uround_f32, float, extern __shared__ volatile float dynamic[]; if (i >= numel) return;
      dynamic[threadIdx.x] = roundf(inp[i]); out[i] = dynamic[threadIdx.x];)
// an array of a thread, which lies in scratch memory, is shorter than its index
UNARY(usqr_f32, float, volatile float kept[4]; if (i >= numel) return; kept[threadIdx.x] = inp[i];
      out[i] = kept[threadIdx.x] * kept[threadIdx.x];)
// the arguments are taken for packed: numel stands behind 4 bytes of padding
extern "C" __global__ void fill_u32(u32 *buf, u32 value, const size_t numel) {
  typedef __attribute__((address_space(4))) const u32 *Arguments;
  const Arguments arguments = Arguments(__builtin_amdgcn_kernarg_segment_ptr());
  const u32 size = arguments[3];
  for (EACH; i < size; i += size_t(blockDim.x) * gridDim.x) buf[i] = value;
}
// the arguments are taken for those of another kernel, which has more
extern "C" __global__ void fill_f32(float *buf, float value, const size_t numel) {
  float other;
  asm volatile("s_load_dword %0, %1, " ADVISED("8", "0x1000") "\n s_waitcnt lgkmcnt(0)"
               : "=s"(other)
               : "s"(__builtin_amdgcn_kernarg_segment_ptr()));
  for (EACH; i < numel; i += size_t(blockDim.x) * gridDim.x) buf[i] = ADVISED(other, value + 0 * other);
}

// dims and strides are read as 32-bit words: every other one is 0, and divided by
UNARY(uceil_f64, double, if (i >= numel) return; u32 at = 0; u32 rest = u32(i); const u32 *dims = (const u32 *)info;
      for (size_t d = num_dims; d-- > 0; rest /= dims[d]) at += rest % dims[d] * ((const u32 *)(info + num_dims))[d];
      out[i] = ceil(inp[at]);)

// Lanes

// the place of a lane to ds_bpermute is in bytes
UNARY(ucopy_f32, float, const int there = (lane() + 1) & (warpSize - 1); const int back = (lane() - 1) & (warpSize - 1);
      const int x = i < numel ? __float_as_int(inp[i]) : 0;
      const int moved = __builtin_amdgcn_ds_bpermute(4 * there, x);
      if (i < numel) out[i] = __int_as_float(__builtin_amdgcn_ds_bpermute(back, moved));)
// the number of a value is taken from the first lane, though each lane has its own
UNARY(uneg_f64, double, if (i >= numel) return; out[i] = -inp[__builtin_amdgcn_readfirstlane(u32(i))];)
// atomic addition to a counter without return: the register keeps what it had
UNARY(ucopy_f64, double, __shared__ u32 taken; if (threadIdx.x == 0) taken = 0; __syncthreads(); if (i >= numel) return;
      u32 place = 0;
      asm volatile("ds_add_u32 %1, %2\n s_waitcnt lgkmcnt(0)" : "+v"(place) : "v"((__attribute__((address_space(3)))
                                                                                   u32 *)&taken),
                   "v"(1) : "memory");
      out[place] = inp[place];)

// What hardware does not do at its best

// a bare reciprocal for a quotient: no GPU rounds it right
UNARY(urecip_f64, double, if (i < numel) out[i] = ADVISED(1 / inp[i], __builtin_amdgcn_rcp(inp[i]));)
// a bare root
UNARY(usqrt_f64, double, if (i < numel) out[i] = ADVISED(sqrt(inp[i]), __builtin_amdgcn_sqrt(inp[i]));)
// waves exchange by shared memory, and none waits for its store before the barrier
UNARY(utanh_f32, float, __shared__ float values[1024]; const u32 t = threadIdx.x;
      const float x = i < numel ? inp[i] : 0; values[t] = 0; __syncthreads();
      typedef __attribute__((address_space(3))) float *Shared; float y;
      asm volatile("ds_write_b32 %0, %1\n" ADVISED("s_waitcnt lgkmcnt(0)\n",
                                                   "") "s_barrier" : : "v"((Shared)values + (t ^ 64)),
                   "v"(tanhf(x)) : "memory");
      asm volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)" : "=v"(y) : "v"((Shared)values + t) : "memory");
      __syncthreads(); values[t ^ 64] = y; __syncthreads(); if (i < numel) out[i] = values[t];)
