// A walkfold program; written by kernels.cuda_text, named by its digest.
typedef double real;
typedef double2 real2;

__device__ __forceinline__ real canonical(real x) { return x != x ? __longlong_as_double(0x7ff8000000000000LL) : x; }
__device__ __forceinline__ size_t afresh(size_t place) {
#ifdef __CUDA_ARCH__
    asm volatile("" : "+l"(place));
#endif
    return place;
}

extern "C" __global__ void __launch_bounds__(128, 1)
run(const real* __restrict__ rows, const unsigned char* __restrict__ event, const int* __restrict__ index, const real* __restrict__ lanes, real* __restrict__ states, real* __restrict__ outputs, const int start, const int stop, const int count, const real setting2, const real setting3, const real* __restrict__ family0, const int columns0) {
    const int lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= count) return;
    const size_t all = count;
    real s0 = states[0 * all + lane];
    real s1 = states[1 * all + lane];
    real s2 = states[2 * all + lane];
    real s3 = states[3 * all + lane];
    int s4 = (int)states[4 * all + lane];
    const real lane0 = lanes[0 * all + lane];
    const real lane1 = lanes[1 * all + lane];
    const real lane2 = lanes[2 * all + lane];
    const real lane3 = lanes[3 * all + lane];
    const unsigned f0 = index[0 * all + lane];
#pragma unroll 1
    for (int t = start; t < stop; ++t) {
        const real* record = rows + (size_t)t * 2;
        const real2 r0 = __ldg((const real2*)(record + 0));
        const real v0 = __ldg(family0 + (t * (unsigned)columns0 + f0));
        const real v1 = lane0;
        const bool v2 = v0 > v1;
        const real v3 = -0x1.0000000000000p+0;
        const real v4 = lane1;
        const bool v5 = v0 < v4;
        const real v6 = 0x1.0000000000000p+0;
        const real v7 = s0;
        const real v8 = 0x0.0p+0;
        const bool v9 = v7 < v8;
        const real v10 = lane2;
        const bool v11 = v0 < v10;
        const bool v12 = v9 & v11;
        const bool v13 = v7 > v8;
        const real v14 = lane3;
        const bool v15 = v0 > v14;
        const bool v16 = v13 & v15;
        const bool v17 = v12 | v16;
        const real v18 = (v17 ? v8 : v7);
        const real v19 = (v5 ? v6 : v18);
        const real v20 = (v2 ? v3 : v19);
        const int v21 = s4;
        const bool v22 = v21 > 0;
        const real v23 = (v22 ? v7 : v8);
        const real v24 = s2;
        const real v25 = s1;
        const real v26 = r0.x;
        const real v27 = v25 * v26;
        const real v28 = r0.y;
        const real v29 = v23 * v28;
        const real v30 = v27 + v29;
        const real v31 = v24 + v30;
        const bool v32 = v23 != v25;
        const real v33 = s3;
        const real v34 = v23 - v25;
        const real v35 = fabs(v34);
        const real v36 = setting2;
        const real v37 = v35 * v36;
        const real v38 = v33 + v37;
        const real v39 = (v32 ? v38 : v33);
        const real v40 = setting3;
        const real v41 = v31 - v39;
        const real v42 = v40 + v41;
        const bool v43 = v42 <= v8;
        const int v44 = (v43 ? 0 : v21);
        s0 = v20;
        s1 = v23;
        s2 = v31;
        s3 = v39;
        s4 = v44;
    }
    real* last = states + afresh(lane);
    last[0 * all] = canonical(s0);
    last[1 * all] = canonical(s1);
    last[2 * all] = canonical(s2);
    last[3 * all] = canonical(s3);
    last[4 * all] = (real)s4;
}
