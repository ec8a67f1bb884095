/* Trireme's interface for C: running models that `trireme compile` has made. Link Trireme::inference
 * (CMake), `pkg-config --libs trireme-inference`, or the full library.
 *
 * Ownership. What trireme_load() makes is freed by trireme_free(). Every pointer that a function
 * returns belongs to the model (or to the library) and is good until the model is freed. The memory
 * of inputs and outputs is the caller's, but for outputs whose size only a run tells: see trireme_run().
 *
 * Threads. Functions that take a `const trireme_model*` may be called by several threads at once.
 * trireme_run() may not be called for one model by two threads at once; different models, also two
 * loaded from one folder, are independent. trireme_error() is about the calling thread.
 */
#ifndef TRIREME_H
#define TRIREME_H

#include <stddef.h>
#include <stdint.h>

#define TRIREME_C_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

#define TRIREME_MAX_RANK 8

/* What went wrong. */
typedef enum {
  TRIREME_OK = 0,
  TRIREME_USAGE = 1,     /* the caller's mistake: a wrong shape, type, size or argument */
  TRIREME_DATA = 2,      /* a file of the model is missing, damaged or newer */
  TRIREME_NOT_FOUND = 3, /* there is no such folder */
  TRIREME_IO = 4,        /* the system refused: permissions, out of memory */
  TRIREME_NUMERIC = 5,   /* NaN or infinity */
  TRIREME_INTERNAL = 6   /* a mistake of Trireme's; please report it */
} trireme_status;

/* The type of an element, as one of the numbers below; another one is TRIREME_USAGE. */
typedef int32_t trireme_dtype;
enum {
  TRIREME_BOOL = 0, /* one byte, 0 or 1 */
  TRIREME_U8 = 1,
  TRIREME_I32 = 2,
  TRIREME_I64 = 3,
  TRIREME_F32 = 4,
  TRIREME_F64 = 5,
  TRIREME_BF16 = 6, /* the upper half of an f32 */
  TRIREME_F16 = 7   /* binary16 of IEEE 754 */
};

typedef struct trireme_model trireme_model;

/* An input or output of a model. */
typedef struct {
  const char* name;
  trireme_dtype dtype;
  int rank;
  int64_t shape[TRIREME_MAX_RANK]; /* -1: the inputs of a run decide, as for the batch */
} trireme_port;

/* The caller's memory for one input or output: elements in row-major order without gaps. */
typedef struct {
  void* data;
  size_t bytes; /* how many there are at `data` */
  trireme_dtype dtype;
  int rank;
  int64_t shape[TRIREME_MAX_RANK];
} trireme_tensor;

/* The version of the library: "0.1.0". */
TRIREME_C_API const char* trireme_version(void);

/* What the last function that failed in this thread had to say, for people; "" if none has. Good until
 * the next function fails in this thread. */
TRIREME_C_API const char* trireme_error(void);

/* Bytes of one element; 0 if there is no such type. */
TRIREME_C_API size_t trireme_size_of(trireme_dtype dtype);

/* Loads the folder of a compiled model into *model; null there if that fails. threads 0:
 * $TRIREME_NUM_THREADS, else the processors that this process may use. */
TRIREME_C_API trireme_status trireme_load(const char* directory, int threads,
                                          trireme_model** model);
/* Null is allowed. */
TRIREME_C_API void trireme_free(trireme_model* model);

TRIREME_C_API const char* trireme_name(const trireme_model* model);
TRIREME_C_API const char* trireme_target(const trireme_model* model); /* "x86-64-v3" */
TRIREME_C_API size_t trireme_inputs(const trireme_model* model);
TRIREME_C_API size_t trireme_outputs(const trireme_model* model);
/* Null if there is no such input, output or label. */
TRIREME_C_API const trireme_port* trireme_input(const trireme_model* model, size_t index);
TRIREME_C_API const trireme_port* trireme_output(const trireme_model* model, size_t index);
/* The names of the classes that the first output scores; there may be none. */
TRIREME_C_API size_t trireme_labels(const trireme_model* model);
TRIREME_C_API const char* trireme_label(const trireme_model* model, size_t index);

/* The form that each output has for inputs of that form: sets dtype, rank, shape and bytes of
 * outputs[0 .. output_count) and leaves data alone. Reads no data of the inputs. Both arrays are in the
 * model's order and complete. Sizes that depend on the inputs' data, such as how many words a translation
 * has, are -1 in the shape, and bytes is then 0. */
TRIREME_C_API trireme_status trireme_plan_outputs(const trireme_model* model,
                                                  const trireme_tensor* inputs, size_t input_count,
                                                  trireme_tensor* outputs, size_t output_count);

/* Computes the outputs into outputs[i].data, which holds outputs[i].bytes (more than needed is fine)
 * and overlaps nothing else; then sets dtype, rank and shape. `data` is aligned to its elements. If
 * it fails, the contents of the outputs are undefined. For an output whose size trireme_plan_outputs()
 * does not tell, data may be null: it is then set to memory of the model, with `bytes`, that is good until the
 * model's next run. Memory of the caller's that turns out to be too small is TRIREME_USAGE.
 *
 * Sequences of different lengths are two inputs: the packed rows "text" and the splits "text.splits", numbers
 * int64 that tell where each sequence begins, and at the end the number of rows. */
TRIREME_C_API trireme_status trireme_run(trireme_model* model, const trireme_tensor* inputs,
                                         size_t input_count, trireme_tensor* outputs,
                                         size_t output_count);

#ifdef __cplusplus
}
#endif

#endif
