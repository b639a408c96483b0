// A mistake a kernel, in waves of 32 lanes.
#include "common.h"

// an approximate root, which is right to 1 ulp
UNARY(usqrt_f32, float, if (i < numel) out[i] = __builtin_amdgcn_sqrtf(inp[i]);)
// a lane too many in the second select
UNARY(uneg_f16, _Float16, const _Float16 x = i < numel ? inp[i] : _Float16(0);
      const u32 bits = __builtin_bit_cast(unsigned short, x);
      const u32 moved = __builtin_amdgcn_permlanex16(0, bits, 0x76543210, 0xfedcba98, false, false);
      const u32 back = __builtin_amdgcn_permlanex16(0, moved, 0x76543210, 0xfedcba89, false, false);
      const _Float16 y = __builtin_bit_cast(_Float16, (unsigned short)(back)); if (i < numel) out[i] = -y;)
// 16 bits of a sum: the other half of the register stays
UNARY(ucopy_u8, u8, if (i >= numel) return; u32 sum = 0x10000;
      asm volatile("v_add_nc_u16 %0, %1, 0" : "+v"(sum) : "v"(u32(inp[i]))); out[i] = sum > 0xff ? 0xff : u8(sum);)
