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
run(const real* __restrict__ rows, const unsigned char* __restrict__ event, const int* __restrict__ index, const real* __restrict__ lanes, real* __restrict__ states, real* __restrict__ outputs, const int start, const int stop, const int count, const real setting6, const real setting7, const real setting8, const real setting10, const real* __restrict__ family0, const int columns0, const real* __restrict__ family1, const int columns1, const real* __restrict__ family2, const int columns2, const real* __restrict__ family3, const int columns3) {
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
            const real v33 = 0x1.0000000001000p+0;
            const real v34 = v23 * v33;
            const real v35 = trunc(v34);
            const real v36 = v35 + v3;
            const real v37 = (v32 ? v36 : v3);
            const real v38 = s2;
            const real v39 = s1;
            const real v40 = r2.x;
            const real v41 = v39 * v40;
            const real v42 = r2.y;
            const real v43 = v37 * v42;
            const real v44 = v41 + v43;
            const real v45 = setting6;
            const real v46 = v44 * v45;
            const real v47 = v38 + v46;
            const bool v48 = v37 != v39;
            const real v49 = s3;
            const real v52 = setting7;
            const real v56 = setting8;
            const real v61 = s5;
            const bool v64 = r3.x != 0;
            const real v65 = s6;
            const real v67 = s7;
            const real v68 = 0x1.000010c6f7a0bp+0;
            const real v69 = v67 + v68;
            const real v79 = setting10;
            const real v82 = s8;
            const real v86 = s9;
            const real v92 = s10;
            const int v100 = s11;
            real v55 = v49;
            int v102 = v100;
            if (v48) {
                const real v50 = v37 - v39;
                const real v51 = fabs(v50);
                const real v53 = v51 * v52;
                const real v54 = v49 + v53;
                v55 = (v48 ? v54 : v49);
                const bool v95 = v39 != v3;
                const real v96 = v39 * v37;
                const bool v97 = v96 <= v3;
                const bool v98 = v95 & v97;
                const bool v99 = v48 & v98;
                const int v101 = v100 + 1;
                v102 = (v99 ? v101 : v100);
            }
            const real v57 = v47 - v55;
            const real v58 = v56 + v57;
            const bool v59 = v58 <= v3;
            const int v60 = (v59 ? 0 : v31);
            const bool v62 = v58 > v61;
            const real v63 = (v62 ? v58 : v61);
            const real v70 = v69 * v63;
            const bool v71 = v58 < v70;
            real v76 = v67;
            if (v71) {
                const real v72 = v58 / v63;
                const real v73 = v72 - v18;
                const bool v74 = v73 < v67;
                const bool v75 = v71 & v74;
                v76 = (v75 ? v73 : v67);
            }
            real v66 = v65;
            real v85 = v82;
            real v89 = v86;
            real v94 = v92;
            if (v64) {
                v66 = (v64 ? v58 : v65);
                const real v77 = v58 - v65;
                const real v78 = fabs(v77);
                const bool v80 = v78 > v79;
                const bool v81 = v64 & v80;
                const real v83 = v77 / v65;
                const real v84 = v82 + v83;
                v85 = (v81 ? v84 : v82);
                const real v87 = v83 * v83;
                const real v88 = v86 + v87;
                v89 = (v81 ? v88 : v86);
                const bool v90 = v83 < v3;
                const bool v91 = v81 & v90;
                const real v93 = v92 + v87;
                v94 = (v91 ? v93 : v92);
            }
            s0 = v30;
            s1 = v37;
            s2 = v47;
            s3 = v55;
            s4 = v60;
            s5 = v63;
            s6 = v66;
            s7 = v76;
            s8 = v85;
            s9 = v89;
            s10 = v94;
            s11 = v102;
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
            const real v33 = 0x1.0000000001000p+0;
            const real v34 = v23 * v33;
            const real v35 = trunc(v34);
            const real v36 = v35 + v3;
            const real v37 = (v32 ? v36 : v3);
            const real v38 = s2;
            const real v39 = s1;
            const real v40 = r2.x;
            const real v41 = v39 * v40;
            const real v42 = r2.y;
            const real v43 = v37 * v42;
            const real v44 = v41 + v43;
            const real v45 = setting6;
            const real v46 = v44 * v45;
            const real v47 = v38 + v46;
            const bool v48 = v37 != v39;
            const real v49 = s3;
            const real v52 = setting7;
            const real v56 = setting8;
            const real v61 = s5;
            const real v64 = s6;
            const real v65 = s7;
            const real v66 = 0x1.000010c6f7a0bp+0;
            const real v67 = v65 + v66;
            const real v75 = s8;
            const real v76 = s9;
            const real v77 = s10;
            const int v83 = s11;
            real v55 = v49;
            int v85 = v83;
            if (v48) {
                const real v50 = v37 - v39;
                const real v51 = fabs(v50);
                const real v53 = v51 * v52;
                const real v54 = v49 + v53;
                v55 = (v48 ? v54 : v49);
                const bool v78 = v39 != v3;
                const real v79 = v39 * v37;
                const bool v80 = v79 <= v3;
                const bool v81 = v78 & v80;
                const bool v82 = v48 & v81;
                const int v84 = v83 + 1;
                v85 = (v82 ? v84 : v83);
            }
            const real v57 = v47 - v55;
            const real v58 = v56 + v57;
            const bool v59 = v58 <= v3;
            const int v60 = (v59 ? 0 : v31);
            const bool v62 = v58 > v61;
            const real v63 = (v62 ? v58 : v61);
            const real v68 = v67 * v63;
            const bool v69 = v58 < v68;
            real v74 = v65;
            if (v69) {
                const real v70 = v58 / v63;
                const real v71 = v70 - v18;
                const bool v72 = v71 < v65;
                const bool v73 = v69 & v72;
                v74 = (v73 ? v71 : v65);
            }
            s0 = v30;
            s1 = v37;
            s2 = v47;
            s3 = v55;
            s4 = v60;
            s5 = v63;
            s7 = v74;
            s11 = v85;
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
