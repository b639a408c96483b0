// What hipGetDevicePropertiesR0600 fills in.
#pragma once

#include <cstddef>

namespace simt {

// hipDeviceProp_t as of HIP 6.0 ("R0600"). Names and order are HIP's; the static_asserts check the layout.
struct DeviceProperties {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luidDeviceNodeMask;
  std::size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  std::size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  std::size_t totalConstMem;
  int major, minor;
  std::size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
  int textures_and_surfaces[40];
  std::size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
  int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
  int singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
  int canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
  std::size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
  int accessPolicyMaxWindowSize;
  std::size_t reservedSharedMemPerBlock;
  int host_and_pool_features[13];
  int reserved[63];
  int hipReserved[32];
  char gcnArchName[256];
  std::size_t maxSharedMemoryPerMultiProcessor;
  int clockInstructionRate;
  unsigned arch;  // bit field of hipDeviceArch_t
  void *hdpMemFlushCntl, *hdpRegFlushCntl;
  int cooperative_unmatched[4];
  int isLargeBar, asicRevision;
};
static_assert(sizeof(DeviceProperties) == 1472);
static_assert(offsetof(DeviceProperties, warpSize) == 308);
static_assert(offsetof(DeviceProperties, gcnArchName) == 1160);

}  // namespace simt
