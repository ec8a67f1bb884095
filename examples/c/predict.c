/* Classifies images with a compiled model, in plain C.
 *
 *   trireme train examples/jobs/fashion_lenet.toml
 *   trireme compile fashion_lenet
 *   predict [--scores] [--threads N] fashion_lenet/compiled-native shirt.pgm boot.pgm
 *
 * An image is a gray binary PGM (P5) of the size that the model takes; 0 is 0.0 and 255 is 1.0.
 * --scores prints all scores instead of the class with the largest one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trireme/c.h>

/* Prints an error to stderr and returns 1. */
static int report_error(const char* where, const char* message) {
  fprintf(stderr, "error: %s: %s\n", where, message);
  return 1;
}

/* Reads an image of that size as floats from 0 to 1. Returns 0, or 1 after printing an error. */
static int read_pgm(const char* path, long height, long width, float* pixels) {
  long w = 0, h = 0, max_value = 0;
  size_t count = (size_t)(height * width);
  FILE* file = fopen(path, "rb");
  unsigned char* bytes = malloc(count);
  int ok = file != NULL && bytes != NULL &&
           fscanf(file, "P5 %ld %ld %ld", &w, &h, &max_value) == 3 && fgetc(file) != EOF &&
           w == width && h == height && max_value == 255 && fread(bytes, 1, count, file) == count;
  for (size_t i = 0; ok && i < count; ++i) pixels[i] = (float)bytes[i] / 255.0f;
  free(bytes);
  if (file != NULL) fclose(file);
  return ok ? 0 : report_error(path, "not a gray PGM of the size that the model takes");
}

static void print_scores(const float* scores, int64_t classes) {
  for (int64_t k = 0; k < classes; ++k) printf(" %.9g", (double)scores[k]);
  printf("\n");
}

static void print_best(const trireme_model* model, const float* scores, int64_t classes) {
  int64_t best = 0;
  for (int64_t k = 1; k < classes; ++k) {
    if (scores[k] > scores[best]) best = k;
  }
  const char* label = trireme_label(model, (size_t)best);
  if (label != NULL) printf(" %s", label);
  else printf(" class %lld", (long long)best);
  printf(" %.4g\n", (double)scores[best]);
}

/* The model's one input must be f32[n, 1, height, width] and its first output f32[n, classes]. */
static int takes_gray_images(const trireme_model* model) {
  const trireme_port* in = trireme_input(model, 0);
  const trireme_port* out = trireme_output(model, 0);
  return trireme_inputs(model) == 1 && trireme_outputs(model) == 1 && in->dtype == TRIREME_F32 &&
         in->rank == 4 && in->shape[0] == -1 && in->shape[1] == 1 && in->shape[2] > 0 &&
         in->shape[3] > 0 && out->dtype == TRIREME_F32 && out->rank == 2 && out->shape[1] > 0;
}

static int classify(trireme_model* model, char** paths, int count, int all_scores) {
  if (!takes_gray_images(model)) {
    return report_error(trireme_name(model), "the model does not take gray images");
  }
  const trireme_port* port = trireme_input(model, 0);
  const size_t pixels = (size_t)(port->shape[2] * port->shape[3]);
  trireme_tensor input = {NULL, pixels * (size_t)count * sizeof(float), TRIREME_F32, 4, {0}};
  memcpy(input.shape, port->shape, sizeof input.shape);
  input.shape[0] = count;
  trireme_tensor output = {0};
  int failed = 0;
  if (trireme_plan_outputs(model, &input, 1, &output, 1) != TRIREME_OK) {
    return report_error(trireme_name(model), trireme_error());
  }
  float* images = malloc(input.bytes);
  float* scores = malloc(output.bytes);
  if (images == NULL || scores == NULL) failed = report_error("predict", "out of memory");
  for (int i = 0; !failed && i < count; ++i) {
    failed =
        read_pgm(paths[i], (long)port->shape[2], (long)port->shape[3], images + (size_t)i * pixels);
  }
  input.data = images;
  output.data = scores;
  if (!failed && trireme_run(model, &input, 1, &output, 1) != TRIREME_OK) {
    failed = report_error(trireme_name(model), trireme_error());
  }
  for (int i = 0; !failed && i < count; ++i) {
    const float* row = scores + i * output.shape[1];
    printf("%s", paths[i]);
    if (all_scores) print_scores(row, output.shape[1]);
    else print_best(model, row, output.shape[1]);
  }
  free(images);
  free(scores);
  return failed;
}

int main(int argc, char** argv) {
  int all_scores = 0, threads = 0, next = 1;
  for (; next < argc && strncmp(argv[next], "--", 2) == 0; ++next) {
    if (strcmp(argv[next], "--scores") == 0) all_scores = 1;
    else if (strcmp(argv[next], "--threads") == 0 && next + 1 < argc) threads = atoi(argv[++next]);
    else return report_error(argv[next], "unknown option");
  }
  if (argc - next < 2) {
    fprintf(stderr, "usage: predict [--scores] [--threads N] MODEL IMAGE.pgm...\n");
    return 2;
  }
  trireme_model* model = NULL;
  if (trireme_load(argv[next], threads, &model) != TRIREME_OK) {
    return report_error("predict", trireme_error());
  }
  const int failed = classify(model, argv + next + 1, argc - next - 1, all_scores);
  trireme_free(model);
  return failed;
}
