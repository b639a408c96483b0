//! Launches a kernel, multiplies matrices and takes random numbers on the first GPU, and prints what came of it.

use std::error::Error;
use std::ffi::c_void;

use rocm_rs::hip::{Device, DeviceMemory, Dim3, Module};
use rocm_rs::rocblas::{self, types::Operation};
use rocm_rs::rocrand::{PseudoRng, rng_type};

static CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scaled_sum.co"));

fn copied<T: Clone>(values: &[T]) -> Result<DeviceMemory<T>, Box<dyn Error>> {
    let mut memory = DeviceMemory::new(values.len())?;
    memory.copy_from_host(values)?;
    Ok(memory)
}

fn read<T: Copy + Default>(memory: &DeviceMemory<T>) -> Result<Vec<T>, Box<dyn Error>> {
    let mut values = vec![T::default(); memory.count()];
    memory.copy_to_host(&mut values)?;
    Ok(values)
}

fn kernel(device: &Device) -> Result<usize, Box<dyn Error>> {
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let (on_device_x, on_device_y) = (copied(&x)?, copied(&vec![1f32; x.len()])?);
    let stream = device.get_stream()?;
    let module = Module::load_data(CODE)?;
    let function = module.get_function("scaled_sum")?;
    let (mut count, mut scale) = (x.len() as i32, 2f32);
    let (mut from, mut to) = (on_device_x.as_ptr(), on_device_y.as_ptr());
    let mut arguments = [
        &mut count as *mut i32 as *mut c_void,
        &mut scale as *mut f32 as *mut c_void,
        &mut from as *mut *mut c_void as *mut c_void,
        &mut to as *mut *mut c_void as *mut c_void,
    ];
    let (grid, block) = (Dim3 { x: 4, y: 1, z: 1 }, Dim3 { x: 256, y: 1, z: 1 });
    function.launch(grid, block, 0, Some(&stream), &mut arguments)?;
    stream.synchronize()?;
    Ok(read(&on_device_y)?.iter().zip(&x).filter(|(y, x)| **y != 2.0 * **x + 1.0).count())
}

fn product() -> Result<Vec<f64>, Box<dyn Error>> {
    // Column after column: A has the rows (1 3) and (2 4), B the rows (5 7) and (6 8).
    let (a, b) = (copied(&[1f64, 2., 3., 4.])?, copied(&[5f64, 6., 7., 8.])?);
    let c = DeviceMemory::<f64>::new(4)?;
    let handle = rocblas::Handle::new()?;
    // SAFETY: each pointer is to a matrix of two rows and two columns on the device.
    unsafe {
        let (a, b) = (a.as_ptr() as *const f64, b.as_ptr() as *const f64);
        let c = c.as_ptr() as *mut f64;
        rocblas::gemm(
            &handle, Operation::None, Operation::Transpose, 2, 2, 2, &1.0, a, 2, b, 2, &0.0, c, 2,
        )?;
    }
    read(&c)
}

fn random() -> Result<(Vec<u32>, bool), Box<dyn Error>> {
    let mut generator = PseudoRng::new(rng_type::PHILOX4_32_10)?;
    generator.set_seed(0)?;
    let mut first = DeviceMemory::new(4)?;
    generator.generate_u32(&mut first)?;
    let mut uniform = DeviceMemory::<f32>::new(1000)?;
    generator.generate_uniform(&mut uniform)?;
    let inside = read(&uniform)?.iter().all(|x| 0.0 < *x && *x <= 1.0);
    Ok((read(&first)?, inside))
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::new(0)?;
    println!("{} lanes", device.properties()?.warp_size);
    println!("kernel: {} wrong", kernel(&device)?);
    println!("product: {:?}", product()?);
    let (first, inside) = random()?;
    println!("random: {first:x?} {inside}");
    Ok(())
}
