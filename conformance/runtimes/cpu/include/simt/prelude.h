// Forced in front of every HIP source: what hiprtc gives a kernel without an #include.
#pragma once
#pragma GCC system_header

#define __HIP_PLATFORM_AMD__ 1
#define __HIP__ 1
#define __HIPCC__ 1
#ifndef SIMT_LAUNCHERS  // host code is compiled with the kernels, as hipcc does
#define __HIPCC_RTC__ 1
#endif
#define __HIP_DEVICE_COMPILE__ 1
#if defined(SIMT_PROGRAM)  // a program, which is compiled with the HIP headers that the machine has
#include SIMT_HIP_VERSION_HEADER
#else
#define HIP_VERSION_MAJOR 7
#define HIP_VERSION_MINOR 2
#define HIP_VERSION_PATCH 0
#define HIP_VERSION (HIP_VERSION_MAJOR * 10000000 + HIP_VERSION_MINOR * 100000 + HIP_VERSION_PATCH)
#endif

// The guards of the headers that clang puts in front of HIP sources: a port may ask whether they are there.
#define __CLANG_HIP_RUNTIME_WRAPPER_H__ 1
#define __CLANG_HIP_LIBDEVICE_DECLARES_H__ 1
#define __CLANG_HIP_MATH_H__ 1
#define __CLANG_HIP_CMATH_H__ 1

#if defined(SIMT_PROGRAM)
#include "qualifiers.h"
#include SIMT_HIP_API_HEADER
#endif

#include "device.h"

#include "amdgcn.h"
#include "llvm_amdgcn.h"
#include "ocml.h"

// hiprtc has HIP's 16-bit types without an #include, hipcc has not: a source that fails with them is tried without.
#if !defined(SIMT_NO_IMPLIED_TYPES)
#include "half.h"
#include "hip_bfloat16.h"
#endif

#if defined(SIMT_LAUNCHERS)
#include "host.h"
#endif
