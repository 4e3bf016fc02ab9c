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
run(const real* __restrict__ rows, const unsigned char* __restrict__ event, const int* __restrict__ index, const real* __restrict__ lanes, real* __restrict__ states, real* __restrict__ outputs, const int start, const int stop, const int count, const real setting6, const real setting7, const real setting8, const real* __restrict__ family0, const int columns0, const real* __restrict__ family1, const int columns1, const real* __restrict__ family2, const int columns2, const real* __restrict__ family3, const int columns3) {
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
    const unsigned f2 = index[2 * all + lane];
    const unsigned f3 = index[3 * all + lane];
#pragma unroll 1
    for (int t = start; t < stop; ++t) {
        const real* record = rows + (size_t)t * 8;
        if (event[t]) {
            const real2 r0 = __ldg((const real2*)(record + 0));
            const real2 r1 = __ldg((const real2*)(record + 2));
            const real2 r2 = __ldg((const real2*)(record + 4));
            const real2 r3 = __ldg((const real2*)(record + 6));
            const real v0 = __ldg(family0 + (t * (unsigned)columns0 + f0));
            const real v1 = __ldg(family1 + (t * (unsigned)columns1 + f1));
            const real v3 = 0x0.0p+0;
            const real v5 = 0x1.9000000000000p+5;
            const real v6 = 0x1.9000000000000p+6;
            const real v10 = 0x1.4000000000000p+5;
            const bool v12 = r0.x != 0;
            const real v14 = r0.y;
            const real v15 = __ldg(family2 + (t * (unsigned)columns2 + f2));
            const real v18 = 0x1.0000000000000p+0;
            const real v19 = r1.x;
            const real v20 = __ldg(family3 + (t * (unsigned)columns3 + f3));
            const bool v21 = v19 > v20;
            const real v22 = r1.y;
            const real v23 = s0;
            const real v24 = (v21 ? v22 : v23);
            real v25 = v24;
            if (v12) {
                const real v2 = v0 + v1;
                const bool v4 = v2 == v3;
                const real v7 = v6 * v0;
                const real v8 = v7 / v2;
                const real v9 = (v4 ? v5 : v8);
                const bool v11 = v9 < v10;
                const bool v13 = v11 & v12;
                const bool v16 = v14 < v15;
                const bool v17 = v13 & v16;
                v25 = (v17 ? v18 : v24);
            }
            const bool v26 = v25 != v25;
            const real v27 = -0x1.0000000000000p+0;
            const real v28 = ((v25 > v27 || v25 != v25) ? v25 : v27);
            const real v29 = ((v28 < v18 || v28 != v28) ? v28 : v18);
            const real v30 = (v26 ? v23 : v29);
            const int v31 = s4;
            const bool v32 = v31 > 0;
            const real v33 = v23 * v18;
            const real v34 = trunc(v33);
            const real v35 = v34 + v3;
            const real v36 = (v32 ? v35 : v3);
            const real v37 = s2;
            const real v38 = s1;
            const real v39 = r2.x;
            const real v40 = v38 * v39;
            const real v41 = r2.y;
            const real v42 = v36 * v41;
            const real v43 = v40 + v42;
            const real v44 = setting6;
            const real v45 = v43 * v44;
            const real v46 = v37 + v45;
            const bool v47 = v36 != v38;
            const real v48 = s3;
            const real v51 = setting7;
            const real v55 = setting8;
            const real v60 = s5;
            const bool v63 = r3.x != 0;
            const real v64 = s6;
            const real v66 = s7;
            const real v67 = 0x1.000010c6f7a0bp+0;
            const real v68 = v66 + v67;
            const real v79 = s8;
            const real v83 = s9;
            const real v89 = s10;
            const int v97 = s11;
            real v54 = v48;
            int v99 = v97;
            if (v47) {
                const real v49 = v36 - v38;
                const real v50 = fabs(v49);
                const real v52 = v50 * v51;
                const real v53 = v48 + v52;
                v54 = (v47 ? v53 : v48);
                const bool v92 = v38 != v3;
                const real v93 = v38 * v36;
                const bool v94 = v93 <= v3;
                const bool v95 = v92 & v94;
                const bool v96 = v47 & v95;
                const int v98 = v97 + 1;
                v99 = (v96 ? v98 : v97);
            }
            const real v56 = v46 - v54;
            const real v57 = v55 + v56;
            const bool v58 = v57 <= v3;
            const int v59 = (v58 ? 0 : v31);
            const bool v61 = v57 > v60;
            const real v62 = (v61 ? v57 : v60);
            const real v69 = v68 * v62;
            const bool v70 = v57 < v69;
            real v75 = v66;
            if (v70) {
                const real v71 = v57 / v62;
                const real v72 = v71 - v18;
                const bool v73 = v72 < v66;
                const bool v74 = v70 & v73;
                v75 = (v74 ? v72 : v66);
            }
            real v65 = v64;
            real v82 = v79;
            real v86 = v83;
            real v91 = v89;
            if (v63) {
                v65 = (v63 ? v57 : v64);
                const real v76 = v57 - v64;
                const bool v77 = v76 != v3;
                const bool v78 = v63 & v77;
                const real v80 = v76 / v64;
                const real v81 = v79 + v80;
                v82 = (v78 ? v81 : v79);
                const real v84 = v80 * v80;
                const real v85 = v83 + v84;
                v86 = (v78 ? v85 : v83);
                const bool v87 = v80 < v3;
                const bool v88 = v78 & v87;
                const real v90 = v89 + v84;
                v91 = (v88 ? v90 : v89);
            }
            s0 = v30;
            s1 = v36;
            s2 = v46;
            s3 = v54;
            s4 = v59;
            s5 = v62;
            s6 = v65;
            s7 = v75;
            s8 = v82;
            s9 = v86;
            s10 = v91;
            s11 = v99;
        } else {
            const real2 r0 = __ldg((const real2*)(record + 0));
            const real2 r1 = __ldg((const real2*)(record + 2));
            const real2 r2 = __ldg((const real2*)(record + 4));
            const real v0 = __ldg(family0 + (t * (unsigned)columns0 + f0));
            const real v1 = __ldg(family1 + (t * (unsigned)columns1 + f1));
            const real v3 = 0x0.0p+0;
            const real v5 = 0x1.9000000000000p+5;
            const real v6 = 0x1.9000000000000p+6;
            const real v10 = 0x1.4000000000000p+5;
            const bool v12 = r0.x != 0;
            const real v14 = r0.y;
            const real v15 = __ldg(family2 + (t * (unsigned)columns2 + f2));
            const real v18 = 0x1.0000000000000p+0;
            const real v19 = r1.x;
            const real v20 = __ldg(family3 + (t * (unsigned)columns3 + f3));
            const bool v21 = v19 > v20;
            const real v22 = r1.y;
            const real v23 = s0;
            const real v24 = (v21 ? v22 : v23);
            real v25 = v24;
            if (v12) {
                const real v2 = v0 + v1;
                const bool v4 = v2 == v3;
                const real v7 = v6 * v0;
                const real v8 = v7 / v2;
                const real v9 = (v4 ? v5 : v8);
                const bool v11 = v9 < v10;
                const bool v13 = v11 & v12;
                const bool v16 = v14 < v15;
                const bool v17 = v13 & v16;
                v25 = (v17 ? v18 : v24);
            }
            const bool v26 = v25 != v25;
            const real v27 = -0x1.0000000000000p+0;
            const real v28 = ((v25 > v27 || v25 != v25) ? v25 : v27);
            const real v29 = ((v28 < v18 || v28 != v28) ? v28 : v18);
            const real v30 = (v26 ? v23 : v29);
            const int v31 = s4;
            const bool v32 = v31 > 0;
            const real v33 = v23 * v18;
            const real v34 = trunc(v33);
            const real v35 = v34 + v3;
            const real v36 = (v32 ? v35 : v3);
            const real v37 = s2;
            const real v38 = s1;
            const real v39 = r2.x;
            const real v40 = v38 * v39;
            const real v41 = r2.y;
            const real v42 = v36 * v41;
            const real v43 = v40 + v42;
            const real v44 = setting6;
            const real v45 = v43 * v44;
            const real v46 = v37 + v45;
            const bool v47 = v36 != v38;
            const real v48 = s3;
            const real v51 = setting7;
            const real v55 = setting8;
            const real v60 = s5;
            const real v63 = s6;
            const real v64 = s7;
            const real v65 = 0x1.000010c6f7a0bp+0;
            const real v66 = v64 + v65;
            const real v74 = s8;
            const real v75 = s9;
            const real v76 = s10;
            const int v82 = s11;
            real v54 = v48;
            int v84 = v82;
            if (v47) {
                const real v49 = v36 - v38;
                const real v50 = fabs(v49);
                const real v52 = v50 * v51;
                const real v53 = v48 + v52;
                v54 = (v47 ? v53 : v48);
                const bool v77 = v38 != v3;
                const real v78 = v38 * v36;
                const bool v79 = v78 <= v3;
                const bool v80 = v77 & v79;
                const bool v81 = v47 & v80;
                const int v83 = v82 + 1;
                v84 = (v81 ? v83 : v82);
            }
            const real v56 = v46 - v54;
            const real v57 = v55 + v56;
            const bool v58 = v57 <= v3;
            const int v59 = (v58 ? 0 : v31);
            const bool v61 = v57 > v60;
            const real v62 = (v61 ? v57 : v60);
            const real v67 = v66 * v62;
            const bool v68 = v57 < v67;
            real v73 = v64;
            if (v68) {
                const real v69 = v57 / v62;
                const real v70 = v69 - v18;
                const bool v71 = v70 < v64;
                const bool v72 = v68 & v71;
                v73 = (v72 ? v70 : v64);
            }
            s0 = v30;
            s1 = v36;
            s2 = v46;
            s3 = v54;
            s4 = v59;
            s5 = v62;
            s7 = v73;
            s11 = v84;
        }
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
