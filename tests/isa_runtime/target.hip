// Every function of target.h for AMD GPUs, of n words: out[row * n + i].
#include "../../kernels/include/target.h"

using namespace candle;

extern "C" __global__ void k(const u32 *a, const u32 *b, const u32 *c, u32 *out) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  const auto put = [&](u32 row, u32 value) { out[row * n + i] = value; };
  const u32 x = a[i], y = b[i], z = c[i];
  const u64 both = u64(x) << 32 | y;
  put(0, bit_cast<u32>(target::f16_to_f32(u16(i))));
  put(1, target::f32_to_f16(bit_cast<f32>(x)));
  put(2, target::f32_to_f16(bit_cast<f32>(x) * bit_cast<f32>(y)));
  put(3, target::fma_f16(u16(x), u16(y), u16(z)));
  put(4, u32(target::dot4(x, y, i32(z))));
  put(5, bit_cast<u32>(target::f8_to_f32(u8(i))));
  put(6, target::shuffle_xor_word<1>(x));
  put(7, target::shuffle_xor_word<2>(x));
  put(8, target::shuffle_xor_word<4>(x));
  put(9, target::shuffle_xor_word<8>(x));
  put(10, target::shuffle_xor_word<16>(x));
  put(11, u32(target::shuffle_xor_word<1>(both) >> 32));
  put(12, u32(target::shuffle_xor_word<8>(both)));
  put(13, u32(target::shuffle_xor_word<16>(both) >> 32));
  f32 kept = bit_cast<f32>(z);
  target::optimization_barrier(kept);
  put(14, bit_cast<u32>(kept));
  put(15, u32(target::rematerialize(int(y))));
  put(16, u32(target::f32_to_i32(bit_cast<f32>(x))));
  put(17, target::f32_to_bf16(bit_cast<f32>(x)));
  put(18, target::f32_to_f8(bit_cast<f32>(x)));
  put(19, target::fma_bf16(u16(x), u16(y), u16(z)));
  put(20, u32(portable::dot4(x, y, i32(z))));
  put(21, target::add(f16{u16(x)}, f16{u16(y)}).bits);
  put(22, target::multiply(f16{u16(x)}, f16{u16(y)}).bits);
  target::store_whole(out + 23 * n + i, z);
  put(24, bit_cast<u32>(target::exp2(bit_cast<f32>(x))));
  put(25, bit_cast<u32>(target::reciprocal(bit_cast<f32>(x))));
  CANDLE_REQUIRE(z != 0x0badf00d, "the word that traps");
}
