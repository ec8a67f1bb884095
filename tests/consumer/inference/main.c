/* A stranger's program in C: what the library says without a model. */
#include <stdio.h>
#include <string.h>
#include <trireme/c.h>

int main(void) {
  trireme_model* model = NULL;
  const trireme_status status = trireme_load("no/such/model", 1, &model);
  printf("%s: %s\n", trireme_version(), trireme_error());
  trireme_free(model);
  return status == TRIREME_NOT_FOUND && model == NULL &&
                 strstr(trireme_error(), "no/such/model") != NULL &&
                 trireme_size_of(TRIREME_F32) == sizeof(float)
             ? 0
             : 1;
}
