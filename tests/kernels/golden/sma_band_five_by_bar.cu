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
run(const real* __restrict__ rows, const unsigned char* __restrict__ event, const int* __restrict__ index, const real* __restrict__ lanes, real* __restrict__ states, real* __restrict__ outputs, const int start, const int stop, const int count, const real setting2, const real setting3, const real setting4, const real setting5, const real* __restrict__ family0, const int columns0, const real* __restrict__ family1, const int columns1) {
    const int lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= count) return;
    const size_t all = count;
    real s0 = states[0 * all + lane];
    real s1 = states[1 * all + lane];
    real s2 = states[2 * all + lane];
    real s3 = states[3 * all + lane];
    int s4 = (int)states[4 * all + lane];
    real s5 = states[5 * all + lane];
    real s6 = states[6 * all + lane];
    real s7 = states[7 * all + lane];
    real s8 = states[8 * all + lane];
    real s9 = states[9 * all + lane];
    real s10 = states[10 * all + lane];
    int s11 = (int)states[11 * all + lane];
    const real lane0 = lanes[0 * all + lane];
    const unsigned f0 = index[0 * all + lane];
    const unsigned f1 = index[1 * all + lane];
#pragma unroll 1
    for (int t = start; t < stop; ++t) {
        const real* record = rows + (size_t)t * 2;
        const real2 r0 = __ldg((const real2*)(record + 0));
        const real v0 = __ldg(family0 + (t * (unsigned)columns0 + f0));
        const real v1 = __ldg(family1 + (t * (unsigned)columns1 + f1));
        const real v2 = lane0;
        const real v3 = v1 + v2;
        const bool v4 = v0 > v3;
        const real v5 = 0x1.0000000000000p+0;
        const real v6 = v1 - v2;
        const bool v7 = v0 < v6;
        const real v8 = -0x1.0000000000000p+0;
        const real v9 = s0;
        const real v10 = (v7 ? v8 : v9);
        const real v11 = (v4 ? v5 : v10);
        const int v12 = s4;
        const real v13 = 0x0.0p+0;
        const bool v14 = v12 > 0;
        const real v15 = (v14 ? v9 : v13);
        const real v16 = s2;
        const real v17 = s1;
        const real v18 = r0.x;
        const real v19 = v17 * v18;
        const real v20 = r0.y;
        const real v21 = v15 * v20;
        const real v22 = v19 + v21;
        const real v23 = setting2;
        const real v24 = v22 * v23;
        const real v25 = v16 + v24;
        const bool v26 = v15 != v17;
        const real v27 = s3;
        const real v30 = setting3;
        const real v34 = setting4;
        const real v39 = s5;
        const real v42 = s7;
        const real v43 = 0x1.000010c6f7a0bp+0;
        const real v44 = v42 + v43;
        const real v52 = s6;
        const real v55 = setting5;
        const real v57 = s8;
        const real v61 = s9;
        const real v67 = s10;
        const int v75 = s11;
        real v33 = v27;
        int v77 = v75;
        if (v26) {
            const real v28 = v15 - v17;
            const real v29 = fabs(v28);
            const real v31 = v29 * v30;
            const real v32 = v27 + v31;
            v33 = (v26 ? v32 : v27);
            const bool v70 = v17 != v13;
            const real v71 = v17 * v15;
            const bool v72 = v71 <= v13;
            const bool v73 = v70 & v72;
            const bool v74 = v26 & v73;
            const int v76 = v75 + 1;
            v77 = (v74 ? v76 : v75);
        }
        const real v35 = v25 - v33;
        const real v36 = v34 + v35;
        const bool v37 = v36 <= v13;
        const int v38 = (v37 ? 0 : v12);
        const bool v40 = v36 > v39;
        const real v41 = (v40 ? v36 : v39);
        const real v45 = v44 * v41;
        const bool v46 = v36 < v45;
        real v51 = v42;
        if (v46) {
            const real v47 = v36 / v41;
            const real v48 = v47 - v5;
            const bool v49 = v48 < v42;
            const bool v50 = v46 & v49;
            v51 = (v50 ? v48 : v42);
        }
        const real v53 = v36 - v52;
        const real v54 = fabs(v53);
        const bool v56 = v54 > v55;
        real v60 = v57;
        real v64 = v61;
        real v69 = v67;
        if (v56) {
            const real v58 = v53 / v52;
            const real v59 = v57 + v58;
            v60 = (v56 ? v59 : v57);
            const real v62 = v58 * v58;
            const real v63 = v61 + v62;
            v64 = (v56 ? v63 : v61);
            const bool v65 = v58 < v13;
            const bool v66 = v56 & v65;
            const real v68 = v67 + v62;
            v69 = (v66 ? v68 : v67);
        }
        s0 = v11;
        s1 = v15;
        s2 = v25;
        s3 = v33;
        s4 = v38;
        s5 = v41;
        s6 = v36;
        s7 = v51;
        s8 = v60;
        s9 = v64;
        s10 = v69;
        s11 = v77;
    }
    real* last = states + afresh(lane);
    last[0 * all] = canonical(s0);
    last[1 * all] = canonical(s1);
    last[2 * all] = canonical(s2);
    last[3 * all] = canonical(s3);
    last[4 * all] = (real)s4;
    last[5 * all] = canonical(s5);
    last[6 * all] = canonical(s6);
    last[7 * all] = canonical(s7);
    last[8 * all] = canonical(s8);
    last[9 * all] = canonical(s9);
    last[10 * all] = canonical(s10);
    last[11 * all] = (real)s11;
}
