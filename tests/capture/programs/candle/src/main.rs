//! A program over Candle's CUDA backend for `candle-parity capture`, which knows nothing of the harness:
//! `candle-network [network|operations]`, both without an argument.
//!
//! `network` runs a network of two layers and prints the sum of its probabilities. `operations` calls every operation
//! that Candle's CUDA backend has a kernel for, on small tensors of every dtype, contiguous and transposed, and prints
//! how many of the calls Candle refused; that a dtype or a layout is not implemented is no error.
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType, Device, Module, Result, Tensor, D};
use candle_nn::{ops, rotary_emb};

/// Numbers that repeat themselves from run to run, between -1 and 1.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    fn floats(&mut self, shape: &[usize], device: &Device) -> Result<Tensor> {
        self.tensor(shape, DType::F32, device)
    }

    /// Of an integer dtype, 1 to 9. The host converts, for Candle's CUDA backend does not convert to every dtype.
    fn tensor(&mut self, shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
        if !dtype.is_float() {
            return (self.whole(shape, 9, DType::U32, &Device::Cpu)? + 1.0)?.to_dtype(dtype)?.to_device(device);
        }
        let values = (0..shape.iter().product()).map(|_| self.next()).collect::<Vec<f32>>();
        Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(dtype)?.to_device(device)
    }

    /// 0 to `end` - 1.
    fn whole(&mut self, shape: &[usize], end: u32, dtype: DType, device: &Device) -> Result<Tensor> {
        let below = |value: f32| ((value + 1.0) * 0.5 * end as f32) as u32 % end;
        let values = (0..shape.iter().product()).map(|_| below(self.next())).collect::<Vec<u32>>();
        Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(dtype)?.to_device(device)
    }
}

/// Embeddings, norms, quantized products, rotary embedding, a product of the library, softmax.
fn network(device: &Device) -> Result<()> {
    const TOKENS: usize = 4;
    const WIDTH: usize = 256;
    const HIDDEN: usize = 512;
    const CLASSES: usize = 40;
    const HEADS: usize = 2;
    let mut numbers = Numbers(1);
    let ids = Tensor::new(&[3u32, 0, 7, 5], device)?;
    let x = numbers.floats(&[8, WIDTH], device)?.index_select(&ids, 0)?;
    let (alpha, beta) = (numbers.floats(&[WIDTH], device)?, numbers.floats(&[WIDTH], device)?);
    let x = ops::layer_norm(&x, &alpha, &beta, 1e-5)?;
    let weights = QTensor::quantize(&numbers.floats(&[HIDDEN, WIDTH], device)?, GgmlDType::Q4_0)?;
    let x = QMatMul::from_qtensor(weights)?.forward(&x)?;
    let x = (x + numbers.floats(&[TOKENS, HIDDEN], device)?)?.relu()?;
    let x = ops::rms_norm(&x, &numbers.floats(&[HIDDEN], device)?, 1e-5)?;
    let angles: Vec<f32> = (0..TOKENS * HIDDEN / HEADS / 2).map(|n| 0.1 * n as f32).collect();
    let angles = Tensor::from_vec(angles, (TOKENS, HIDDEN / HEADS / 2), device)?;
    let heads = x.reshape((TOKENS, HEADS, HIDDEN / HEADS))?.transpose(0, 1)?.contiguous()?.unsqueeze(0)?;
    let x = rotary_emb::rope(&heads, &angles.cos()?, &angles.sin()?)?;
    let x = x.squeeze(0)?.transpose(0, 1)?.reshape((TOKENS, HIDDEN))?.affine(0.5, 0.25)?;
    let x = x.matmul(&numbers.floats(&[CLASSES, HIDDEN], device)?.t()?)?;
    let total = ops::softmax_last_dim(&x)?.sum_all()?.to_scalar::<f32>()?;
    println!("the probabilities add up to {total:.4}");
    Ok(())
}

/// Calls that Candle took, and those that it refused.
#[derive(Default)]
struct Calls {
    made: usize,
    refused: usize,
}

impl Calls {
    /// Counts a call, and what came of it. A launch that fails ends the program with the next synchronization.
    fn add<T>(&mut self, what: Result<T>) -> Option<T> {
        match what {
            Ok(value) => {
                self.made += 1;
                Some(value)
            }
            Err(_) => {
                self.refused += 1;
                None
            }
        }
    }
}

const DTYPES: [DType; 10] = [
    DType::F32,
    DType::F64,
    DType::F16,
    DType::BF16,
    DType::F8E4M3,
    DType::U8,
    DType::U32,
    DType::I16,
    DType::I32,
    DType::I64,
];

fn elementwise(x: &Tensor, y: &Tensor, condition: &Tensor, calls: &mut Calls) {
    let unary: [fn(&Tensor) -> Result<Tensor>; 22] = [
        Tensor::exp, Tensor::log, Tensor::sin, Tensor::cos, Tensor::tanh, Tensor::neg, Tensor::recip, Tensor::sqr,
        Tensor::sqrt, Tensor::gelu, Tensor::gelu_erf, Tensor::erf, Tensor::silu, Tensor::abs, Tensor::ceil,
        Tensor::floor, Tensor::round, Tensor::relu, Tensor::sign, ops::sigmoid, Tensor::contiguous, Tensor::copy,
    ];
    for operation in unary {
        calls.add(operation(x));
    }
    calls.add(x.affine(1.5, -0.25));
    calls.add(x.powf(2.5));
    calls.add(x.elu(0.75));
    let binary: [fn(&Tensor, &Tensor) -> Result<Tensor>; 12] = [
        |x, y| x.add(y), |x, y| x.sub(y), |x, y| x.mul(y), |x, y| x.div(y), |x, y| x.maximum(y), |x, y| x.minimum(y),
        |x, y| x.eq(y), |x, y| x.ne(y), |x, y| x.lt(y), |x, y| x.le(y), |x, y| x.gt(y), |x, y| x.ge(y),
    ];
    for operation in binary {
        calls.add(operation(x, y));
    }
    for dtype in [DType::U8, DType::U32, DType::I64] {
        calls.add(condition.to_dtype(dtype).and_then(|condition| condition.where_cond(x, y)));
    }
    for dtype in DTYPES {
        calls.add(x.to_dtype(dtype));
    }
}

fn reductions(x: &Tensor, calls: &mut Calls) {
    for dim in 0..x.rank() {
        calls.add(x.sum_keepdim(dim));
        calls.add(x.max_keepdim(dim));
        calls.add(x.min_keepdim(dim));
        calls.add(x.argmax_keepdim(dim));
        calls.add(x.argmin_keepdim(dim));
    }
    calls.add(x.sum_all());
    for ascending in [true, false] {
        calls.add(x.contiguous().and_then(|x| x.arg_sort_last_dim(ascending)));
    }
}

fn indexing(x: &Tensor, numbers: &mut Numbers, device: &Device, calls: &mut Calls) -> Result<()> {
    let dims = x.dims().to_vec();
    for dtype in [DType::U32, DType::U8, DType::I64] {
        for dim in 0..dims.len() {
            let ids = numbers.whole(&[3], dims[dim] as u32, dtype, device)?;
            let rows = x.index_select(&ids, dim);
            if let Some(rows) = calls.add(rows) {
                calls.add(x.index_add(&ids, &rows, dim));
            }
            // Scattered elements have different places, for Candle does not say which of two equal ones is the last.
            let mut shape = dims.clone();
            shape[dim] = 2;
            let count = shape.iter().product::<usize>();
            let inner = shape[dim + 1..].iter().product::<usize>();
            let places = (0..count).map(|n| ((n / inner) % 2 + 1) as u32 % dims[dim] as u32).collect::<Vec<u32>>();
            let places = Tensor::from_vec(places, shape, &Device::Cpu)?.to_dtype(dtype)?.to_device(device)?;
            if let Some(source) = calls.add(x.gather(&places, dim)) {
                calls.add(x.scatter(&places, &source, dim));
                calls.add(x.scatter_add(&places, &source, dim));
            }
        }
    }
    Ok(())
}

fn images(numbers: &mut Numbers, dtype: DType, device: &Device, calls: &mut Calls) -> Result<()> {
    let line = numbers.tensor(&[2, 4, 11], dtype, device)?;
    let picture = numbers.tensor(&[2, 4, 8, 6], dtype, device)?;
    let of_line = numbers.tensor(&[6, 4, 3], dtype, device)?;
    let of_picture = numbers.tensor(&[6, 4, 3, 3], dtype, device)?;
    let back_of_line = numbers.tensor(&[4, 6, 3], dtype, device)?;
    let back_of_picture = numbers.tensor(&[4, 6, 3, 3], dtype, device)?;
    for (stride, dilation) in [(1, 1), (2, 1), (1, 2)] {
        calls.add(line.conv1d(&of_line, 1, stride, dilation, 1));
        calls.add(picture.conv2d(&of_picture, 1, stride, dilation, 1));
        calls.add(line.conv_transpose1d(&back_of_line, 1, 0, stride, dilation, 1));
        calls.add(picture.conv_transpose2d(&back_of_picture, 1, 0, stride, dilation));
    }
    calls.add(picture.avg_pool2d(2));
    calls.add(picture.max_pool2d(2));
    calls.add(picture.upsample_nearest2d(16, 9));
    calls.add(picture.upsample_bilinear2d(16, 9, true));
    calls.add(picture.upsample_bilinear2d(5, 9, false));
    Ok(())
}

fn layers(numbers: &mut Numbers, dtype: DType, device: &Device, calls: &mut Calls) -> Result<()> {
    for columns in [40, 1025, 2048] {
        let x = numbers.tensor(&[3, columns], dtype, device)?;
        let alpha = numbers.tensor(&[columns], dtype, device)?;
        let beta = numbers.tensor(&[columns], dtype, device)?;
        calls.add(ops::softmax_last_dim(&x));
        calls.add(ops::rms_norm(&x, &alpha, 1e-5));
        calls.add(ops::layer_norm(&x, &alpha, &beta, 1e-5));
    }
    let x = numbers.tensor(&[2, 3, 5, 16], dtype, device)?;
    let turned = numbers.tensor(&[2, 5, 3, 16], dtype, device)?;
    for angles in [vec![5, 8], vec![2, 5, 8]] {
        let (cos, sin) = (numbers.tensor(&angles, dtype, device)?, numbers.tensor(&angles, dtype, device)?);
        calls.add(rotary_emb::rope(&x, &cos, &sin));
        calls.add(rotary_emb::rope_i(&x, &cos, &sin));
        calls.add(rotary_emb::rope_thd(&turned, &cos, &sin));
    }
    let (left, right) = (x.narrow(3, 0, 7)?, x.narrow(3, 7, 9)?);
    calls.add(Tensor::cat(&[&left, &right], 3));
    Ok(())
}

const QUANTIZED: [GgmlDType; 10] = [
    GgmlDType::Q4_0,
    GgmlDType::Q4_1,
    GgmlDType::Q5_0,
    GgmlDType::Q5_1,
    GgmlDType::Q8_0,
    GgmlDType::Q2K,
    GgmlDType::Q3K,
    GgmlDType::Q4K,
    GgmlDType::Q5K,
    GgmlDType::Q6K,
];

/// Products of quantized weights: with few rows, with many, by dequantizing them, and by experts.
fn quantized(numbers: &mut Numbers, dtype: GgmlDType, device: &Device, calls: &mut Calls) -> Result<()> {
    let weights = QTensor::quantize(&numbers.floats(&[48, 512], device)?, dtype)?;
    calls.add(weights.dequantize(device));
    calls.add(weights.dequantize_f16(device));
    let ids = Tensor::new(&[3u32, 0, 47, 5], device)?;
    calls.add(weights.embedding(&ids));
    let weights = QMatMul::from_qtensor(weights)?;
    for by_vector in [false, true] {
        candle_core::quantized::cuda::set_force_dmmv(by_vector);
        for rows in [1, 2, 5, 8, 9, 33] {
            let x = numbers.floats(&[rows, 512], device)?;
            calls.add(weights.forward(&x));
            if !by_vector {
                for other in [DType::F16, DType::BF16] {
                    calls.add(x.to_dtype(other).and_then(|x| weights.forward(&x)));
                }
            }
        }
    }
    candle_core::quantized::cuda::set_force_dmmv(false);
    let experts = QTensor::quantize(&numbers.floats(&[4, 32, 512], device)?, dtype)?;
    let x = numbers.floats(&[3, 1, 512], device)?;
    let chosen = numbers.whole(&[3, 2], 4, DType::U32, device)?;
    calls.add(experts.indexed_moe_forward(&x, &chosen));
    Ok(())
}

fn operations(device: &Device) -> Result<()> {
    let mut numbers = Numbers(2);
    let mut calls = Calls::default();
    for dtype in DTYPES {
        for shape in [[3, 5, 7], [2, 33, 40]] {
            let x = numbers.tensor(&shape, dtype, device)?;
            let y = numbers.tensor(&shape, dtype, device)?;
            let condition = numbers.whole(&shape, 2, DType::U32, device)?;
            elementwise(&x, &y, &condition, &mut calls);
            let (turned, other) = (x.transpose(0, 2)?, y.transpose(0, 2)?);
            elementwise(&turned, &other, &condition.transpose(0, 2)?, &mut calls);
            let row = y.narrow(1, 1, 1)?.broadcast_as(&shape)?;
            elementwise(&x, &row, &condition.narrow(0, 1, 1)?.broadcast_as(&shape)?, &mut calls);
            reductions(&x, &mut calls);
            reductions(&turned, &mut calls);
            indexing(&x, &mut numbers, device, &mut calls)?;
            calls.add(x.zeros_like().and_then(|x| x.one_set()));
            calls.add(Tensor::ones(&shape, dtype, device));
        }
        device.synchronize()?;
        if dtype.is_float() {
            images(&mut numbers, dtype, device, &mut calls)?;
            layers(&mut numbers, dtype, device, &mut calls)?;
        }
        device.synchronize()?;
    }
    for dtype in QUANTIZED {
        quantized(&mut numbers, dtype, device, &mut calls)?;
        device.synchronize()?;
    }
    let x = numbers.floats(&[9, 65], device)?;
    calls.add(x.matmul(&x.t()?)?.sum(D::Minus1));
    println!("{} calls, {} more that Candle has not", calls.made, calls.refused);
    Ok(())
}

fn main() -> Result<()> {
    let device = Device::new_cuda(0)?;
    let what = std::env::args().nth(1);
    if what.as_deref() != Some("operations") {
        network(&device)?;
    }
    if what.as_deref() != Some("network") {
        operations(&device)?;
    }
    device.synchronize()
}
