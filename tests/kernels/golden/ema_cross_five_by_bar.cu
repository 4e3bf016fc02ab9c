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
    const unsigned f0 = index[0 * all + lane];
    const unsigned f1 = index[1 * all + lane];
#pragma unroll 1
    for (int t = start; t < stop; ++t) {
        const real* record = rows + (size_t)t * 2;
        const real2 r0 = __ldg((const real2*)(record + 0));
        const real v0 = __ldg(family0 + (t * (unsigned)columns0 + f0));
        const real v1 = __ldg(family1 + (t * (unsigned)columns1 + f1));
        const bool v2 = v0 > v1;
        const real v3 = 0x1.0000000000000p+0;
        const real v4 = -0x1.0000000000000p+0;
        const int v5 = (v2 ? 1 : -1);
        const int v6 = s4;
        const real v7 = 0x0.0p+0;
        const bool v8 = v6 > 0;
        const real v9 = s0;
        const real v10 = (v8 ? v9 : v7);
        const real v11 = s2;
        const real v12 = s1;
        const real v13 = r0.x;
        const real v14 = v12 * v13;
        const real v15 = r0.y;
        const real v16 = v10 * v15;
        const real v17 = v14 + v16;
        const real v18 = setting2;
        const real v19 = v17 * v18;
        const real v20 = v11 + v19;
        const bool v21 = v10 != v12;
        const real v22 = s3;
        const real v25 = setting3;
        const real v29 = setting4;
        const real v34 = s5;
        const real v37 = s7;
        const real v38 = 0x1.000010c6f7a0bp+0;
        const real v39 = v37 + v38;
        const real v47 = s6;
        const real v50 = setting5;
        const real v52 = s8;
        const real v56 = s9;
        const real v62 = s10;
        const int v70 = s11;
        real v28 = v22;
        int v72 = v70;
        if (v21) {
            const real v23 = v10 - v12;
            const real v24 = fabs(v23);
            const real v26 = v24 * v25;
            const real v27 = v22 + v26;
            v28 = (v21 ? v27 : v22);
            const bool v65 = v12 != v7;
            const real v66 = v12 * v10;
            const bool v67 = v66 <= v7;
            const bool v68 = v65 & v67;
            const bool v69 = v21 & v68;
            const int v71 = v70 + 1;
            v72 = (v69 ? v71 : v70);
        }
        const real v30 = v20 - v28;
        const real v31 = v29 + v30;
        const bool v32 = v31 <= v7;
        const int v33 = (v32 ? 0 : v6);
        const bool v35 = v31 > v34;
        const real v36 = (v35 ? v31 : v34);
        const real v40 = v39 * v36;
        const bool v41 = v31 < v40;
        real v46 = v37;
        if (v41) {
            const real v42 = v31 / v36;
            const real v43 = v42 - v3;
            const bool v44 = v43 < v37;
            const bool v45 = v41 & v44;
            v46 = (v45 ? v43 : v37);
        }
        const real v48 = v31 - v47;
        const real v49 = fabs(v48);
        const bool v51 = v49 > v50;
        real v55 = v52;
        real v59 = v56;
        real v64 = v62;
        if (v51) {
            const real v53 = v48 / v47;
            const real v54 = v52 + v53;
            v55 = (v51 ? v54 : v52);
            const real v57 = v53 * v53;
            const real v58 = v56 + v57;
            v59 = (v51 ? v58 : v56);
            const bool v60 = v53 < v7;
            const bool v61 = v51 & v60;
            const real v63 = v62 + v57;
            v64 = (v61 ? v63 : v62);
        }
        s0 = v5;
        s1 = v10;
        s2 = v20;
        s3 = v28;
        s4 = v33;
        s5 = v36;
        s6 = v31;
        s7 = v46;
        s8 = v55;
        s9 = v59;
        s10 = v64;
        s11 = v72;
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
