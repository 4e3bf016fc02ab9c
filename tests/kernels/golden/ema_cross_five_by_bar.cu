// A walkfold program; written by kernels.cuda_text, named by its digest.
typedef double real;
typedef double2 real2;

__device__ __forceinline__ real canonical(real x) { return x != x ? __longlong_as_double(0x7ff8000000000000LL) : x; }

extern "C" __global__ void __launch_bounds__(128, 1)
run(const real* __restrict__ rows, const unsigned char* __restrict__ event, const real* __restrict__ settings, const int* __restrict__ order, const int* __restrict__ index, const real* __restrict__ lanes, real* __restrict__ states, real* __restrict__ outputs, const int start, const int stop, const int count, const real* __restrict__ family0, const int columns0, const real* __restrict__ family1, const int columns1) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= count) return;
    const size_t lane = order[thread], all = count;
    real s0 = states[0 * all + lane];
    real s1 = states[1 * all + lane];
    real s2 = states[2 * all + lane];
    real s3 = states[3 * all + lane];
    real s4 = states[4 * all + lane];
    real s5 = states[5 * all + lane];
    real s6 = states[6 * all + lane];
    real s7 = states[7 * all + lane];
    real s8 = states[8 * all + lane];
    real s9 = states[9 * all + lane];
    real s10 = states[10 * all + lane];
    real s11 = states[11 * all + lane];
    real s12 = states[12 * all + lane];
    const real setting0 = settings[0];
    const real setting3 = settings[1];
    const real setting4 = settings[2];
    const real* f0 = family0 + (size_t)start * columns0 + index[0 * all + lane];
    const real* f1 = family1 + (size_t)start * columns1 + index[1 * all + lane];
    const real* record = rows + (size_t)start * 4;
#pragma unroll 2
    for (int t = start; t < stop; ++t, record += 4, f0 += columns0, f1 += columns1) {
        const real2 r0 = __ldg((const real2*)(record + 0));
        const real2 r1 = __ldg((const real2*)(record + 2));
        const real v0 = __ldg(f0);
        const real v1 = __ldg(f1);
        const bool v2 = v0 > v1;
        const real v3 = 0x1.0000000000000p+0;
        const real v4 = -0x1.0000000000000p+0;
        const real v5 = (v2 ? v3 : v4);
        const real v6 = setting0;
        const real v7 = s4;
        const real v8 = s2;
        const real v9 = r0.x;
        const real v10 = s3;
        const real v11 = v9 - v10;
        const real v12 = v8 * v11;
        const real v13 = s1;
        const real v14 = 0x0.0p+0;
        const bool v15 = v13 > v14;
        const real v16 = s0;
        const real v17 = (v15 ? v16 : v14);
        const real v18 = r0.y;
        const real v19 = v17 * v18;
        const real v20 = v12 + v19;
        const real v21 = setting3;
        const real v22 = v20 * v21;
        const real v23 = v7 + v22;
        const bool v24 = v17 != v8;
        const real v25 = s5;
        const real v28 = setting4;
        const real v36 = r1.x;
        const real v37 = s6;
        const real v40 = s8;
        const real v41 = 0x1.000010c6f7a0bp+0;
        const real v42 = v40 + v41;
        const real v50 = s7;
        const real v53 = s9;
        const real v57 = s10;
        const real v63 = s11;
        const real v71 = s12;
        real v31 = v25;
        real v73 = v71;
        if (v24) {
            const real v26 = v17 - v8;
            const real v27 = fabs(v26);
            const real v29 = v27 * v28;
            const real v30 = v25 + v29;
            v31 = (v24 ? v30 : v25);
            const bool v66 = v8 != v14;
            const real v67 = v8 * v17;
            const bool v68 = v67 <= v14;
            const bool v69 = v66 & v68;
            const bool v70 = v24 & v69;
            const real v72 = v71 + v3;
            v73 = (v70 ? v72 : v71);
        }
        const real v32 = v23 - v31;
        const real v33 = v6 + v32;
        const bool v34 = v33 < v13;
        const real v35 = (v34 ? v33 : v13);
        const bool v38 = v33 > v37;
        const real v39 = (v38 ? v33 : v37);
        const real v43 = v42 * v39;
        const bool v44 = v33 < v43;
        real v49 = v40;
        if (v44) {
            const real v45 = v33 / v39;
            const real v46 = v45 - v3;
            const bool v47 = v46 < v40;
            const bool v48 = v44 & v47;
            v49 = (v48 ? v46 : v40);
        }
        const real v51 = v33 - v50;
        const bool v52 = v51 != v14;
        real v56 = v53;
        real v60 = v57;
        real v65 = v63;
        if (v52) {
            const real v54 = v51 / v50;
            const real v55 = v53 + v54;
            v56 = (v52 ? v55 : v53);
            const real v58 = v54 * v54;
            const real v59 = v57 + v58;
            v60 = (v52 ? v59 : v57);
            const bool v61 = v54 < v14;
            const bool v62 = v52 & v61;
            const real v64 = v63 + v58;
            v65 = (v62 ? v64 : v63);
        }
        s0 = v5;
        s1 = v35;
        s2 = v17;
        s3 = v36;
        s4 = v23;
        s5 = v31;
        s6 = v39;
        s7 = v33;
        s8 = v49;
        s9 = v56;
        s10 = v60;
        s11 = v65;
        s12 = v73;
    }
    states[0 * all + lane] = canonical(s0);
    states[1 * all + lane] = canonical(s1);
    states[2 * all + lane] = canonical(s2);
    states[3 * all + lane] = canonical(s3);
    states[4 * all + lane] = canonical(s4);
    states[5 * all + lane] = canonical(s5);
    states[6 * all + lane] = canonical(s6);
    states[7 * all + lane] = canonical(s7);
    states[8 * all + lane] = canonical(s8);
    states[9 * all + lane] = canonical(s9);
    states[10 * all + lane] = canonical(s10);
    states[11 * all + lane] = canonical(s11);
    states[12 * all + lane] = canonical(s12);
}
