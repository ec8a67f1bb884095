/* Classifies pictures with a compiled model, in plain C.
 *
 *   trireme train examples/jobs/fashion_lenet.toml
 *   trireme compile fashion_lenet
 *   predict [--scores] [--threads N] fashion_lenet/compiled-native shirt.pgm boot.pgm
 *
 * A picture is a grey binary PGM (P5) of the size that the model takes; 0 is 0.0 and 255 is 1.0.
 * --scores prints all scores instead of the best class.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trireme.h>

static int complain(const char* what, const char* why) {
  fprintf(stderr, "error: %s: %s\n", what, why);
  return 1;
}

/* Reads a picture of that size as floats from 0 to 1. Gives 0, or 1 after a complaint. */
static int read_pgm(const char* path, long height, long width, float* pixels) {
  long w = 0, h = 0, most = 0;
  size_t count = (size_t)(height * width);
  FILE* file = fopen(path, "rb");
  unsigned char* bytes = malloc(count);
  int good = file != NULL && bytes != NULL && fscanf(file, "P5 %ld %ld %ld", &w, &h, &most) == 3 &&
             fgetc(file) != EOF && w == width && h == height && most == 255 &&
             fread(bytes, 1, count, file) == count;
  for (size_t i = 0; good && i < count; ++i) pixels[i] = (float)bytes[i] / 255.0f;
  free(bytes);
  if (file != NULL) fclose(file);
  return good ? 0 : complain(path, "this is no grey PGM of the size that the model takes");
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
static int takes_pictures(const trireme_model* model) {
  const trireme_port* in = trireme_input(model, 0);
  const trireme_port* out = trireme_output(model, 0);
  return trireme_inputs(model) == 1 && trireme_outputs(model) == 1 && in->dtype == TRIREME_F32 &&
         in->rank == 4 && in->shape[0] == -1 && in->shape[1] == 1 && in->shape[2] > 0 &&
         in->shape[3] > 0 && out->dtype == TRIREME_F32 && out->rank == 2 && out->shape[1] > 0;
}

static int classify(trireme_model* model, char** paths, int count, int all_scores) {
  if (!takes_pictures(model)) return complain(trireme_name(model), "it takes no grey pictures");
  const trireme_port* port = trireme_input(model, 0);
  const size_t pixels = (size_t)(port->shape[2] * port->shape[3]);
  trireme_tensor input = {NULL, pixels * (size_t)count * sizeof(float), TRIREME_F32, 4, {0}};
  memcpy(input.shape, port->shape, sizeof input.shape);
  input.shape[0] = count;
  trireme_tensor output = {0};
  int failed = 0;
  if (trireme_plan_outputs(model, &input, 1, &output, 1) != TRIREME_OK) {
    return complain(trireme_name(model), trireme_error());
  }
  float* images = malloc(input.bytes);
  float* scores = malloc(output.bytes);
  if (images == NULL || scores == NULL) failed = complain("predict", "out of memory");
  for (int i = 0; !failed && i < count; ++i) {
    failed =
        read_pgm(paths[i], (long)port->shape[2], (long)port->shape[3], images + (size_t)i * pixels);
  }
  input.data = images;
  output.data = scores;
  if (!failed && trireme_run(model, &input, 1, &output, 1) != TRIREME_OK) {
    failed = complain(trireme_name(model), trireme_error());
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
    else return complain(argv[next], "unknown option");
  }
  if (argc - next < 2) {
    fprintf(stderr, "usage: predict [--scores] [--threads N] MODEL PICTURE.pgm...\n");
    return 2;
  }
  trireme_model* model = NULL;
  if (trireme_load(argv[next], threads, &model) != TRIREME_OK) {
    return complain("predict", trireme_error());
  }
  const int failed = classify(model, argv + next + 1, argc - next - 1, all_scores);
  trireme_free(model);
  return failed;
}
