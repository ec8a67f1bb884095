/* Trireme's C interface: runs models compiled by `trireme compile`. Link Trireme::inference
 * (CMake), `pkg-config --libs trireme-inference`, or the full library.
 *
 * Ownership. trireme_free() frees a model that trireme_load() returned. Every pointer that a
 * function returns belongs to the model (or to the library) and is valid until the model is
 * freed. The caller owns the memory of inputs and outputs, except for outputs whose size is
 * known only after the run: see trireme_run().
 *
 * Threads. Several threads may call functions that take a `const trireme_model*` at the same
 * time. Two threads must not call trireme_run() for the same model at the same time. Different
 * models are independent, even if they were loaded from the same folder. trireme_error() is per
 * thread.
 */
#ifndef TRIREME_C_H
#define TRIREME_C_H

#include <stddef.h>
#include <stdint.h>

#define TRIREME_C_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

#define TRIREME_MAX_RANK 8

/* The result of a function: success, or the kind of error. */
typedef enum {
  TRIREME_OK = 0,
  TRIREME_USAGE = 1,     /* an error of the caller: wrong shape, type, size or argument */
  TRIREME_DATA = 2,      /* a file of the model is missing, damaged or of a newer format */
  TRIREME_NOT_FOUND = 3, /* the folder does not exist */
  TRIREME_IO = 4,        /* the operating system failed: permissions, out of memory */
  TRIREME_NUMERIC = 5,   /* NaN or infinity */
  TRIREME_INTERNAL = 6   /* a bug in Trireme; please report it */
} trireme_status;

/* The type of an element: one of the numbers below. Functions return TRIREME_USAGE for any
 * other. */
typedef int32_t trireme_dtype;
enum {
  TRIREME_BOOL = 0, /* one byte, 0 or 1 */
  TRIREME_U8 = 1,
  TRIREME_I32 = 2,
  TRIREME_I64 = 3,
  TRIREME_F32 = 4,
  TRIREME_F64 = 5,
  TRIREME_BF16 = 6, /* the upper half of an f32 */
  TRIREME_F16 = 7,  /* binary16 of IEEE 754 */
  TRIREME_I8 = 8,
  TRIREME_I16 = 9,
  TRIREME_U16 = 10,
  TRIREME_U32 = 11,
  TRIREME_U64 = 12
};

typedef struct trireme_model trireme_model;

/* An input or output of a model. */
typedef struct {
  const char* name;
  trireme_dtype dtype;
  int rank;
  int64_t shape[TRIREME_MAX_RANK]; /* -1: depends on the inputs of a run, such as the batch */
} trireme_port;

/* The caller's memory for one input or output: elements in row-major order, contiguous. */
typedef struct {
  void* data;
  size_t bytes; /* size of the memory at `data` */
  trireme_dtype dtype;
  int rank;
  int64_t shape[TRIREME_MAX_RANK];
} trireme_tensor;

/* The version of the library: "0.1.0". */
TRIREME_C_API const char* trireme_version(void);

/* The message of the last function that failed in this thread; "" if none failed. Valid until
 * the next function fails in this thread. */
TRIREME_C_API const char* trireme_error(void);

/* Bytes of one element; 0 for an unknown type. */
TRIREME_C_API size_t trireme_size_of(trireme_dtype dtype);

/* Loads the folder of a compiled model into *model. Sets *model to null on failure. threads 0:
 * $TRIREME_NUM_THREADS, else the number of processors that this process may use. */
TRIREME_C_API trireme_status trireme_load(const char* directory, int threads,
                                          trireme_model** model);
/* Frees a model; null is allowed. */
TRIREME_C_API void trireme_free(trireme_model* model);

/* A null model has no name and no target (null), and no ports and no labels (0). */
TRIREME_C_API const char* trireme_name(const trireme_model* model);
TRIREME_C_API const char* trireme_target(const trireme_model* model); /* "x86-64-v3" */
TRIREME_C_API size_t trireme_inputs(const trireme_model* model);
TRIREME_C_API size_t trireme_outputs(const trireme_model* model);
/* These return null if the index is out of range. */
TRIREME_C_API const trireme_port* trireme_input(const trireme_model* model, size_t index);
TRIREME_C_API const trireme_port* trireme_output(const trireme_model* model, size_t index);
/* The names of the classes that the first output scores. A model may have none. */
TRIREME_C_API size_t trireme_labels(const trireme_model* model);
TRIREME_C_API const char* trireme_label(const trireme_model* model, size_t index);

/* Computes the type of each output from the types of the inputs: sets dtype, rank, shape and
 * bytes of outputs[0 .. output_count) and does not change `data`. Does not read the data of the
 * inputs. Both arrays are complete and in the model's order. A size that depends on the data of
 * the inputs, such as the number of words of a translation, is -1 in the shape, and bytes is
 * then 0. */
TRIREME_C_API trireme_status trireme_plan_outputs(const trireme_model* model,
                                                  const trireme_tensor* inputs, size_t input_count,
                                                  trireme_tensor* outputs, size_t output_count);

/* Runs the model and writes the outputs into outputs[i].data, which has outputs[i].bytes bytes
 * (more than needed is allowed). The memory of different outputs and inputs must not overlap.
 * `data` must be aligned for its elements. Then sets dtype, rank and shape. If the run fails,
 * the contents of the outputs are undefined.
 *
 * If trireme_plan_outputs() does not know the size of an output, its data may be null. The
 * function then sets data and bytes to memory of the model, which is valid until the next run of
 * the model. Returns TRIREME_USAGE if memory of the caller is too small.
 *
 * Sequences of different lengths are two inputs: the packed rows "text" and the splits
 * "text.splits". Splits are int64: the first row of each sequence, then the number of rows. */
TRIREME_C_API trireme_status trireme_run(trireme_model* model, const trireme_tensor* inputs,
                                         size_t input_count, trireme_tensor* outputs,
                                         size_t output_count);

#ifdef __cplusplus
}
#endif

#endif
