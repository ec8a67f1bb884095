#include "sheet.h"

#include <cstdio>

#include "support.h"
#include "trireme/image.h"

void save_sheet(const std::string& path, const std::string& title, const trireme::Tensor& images,
                const trireme::Tensor& labels, const trireme::Tensor& scores,
                const std::vector<std::string>& class_names) {
  const std::int64_t classes = scores.dim(1);
  std::vector<trireme::image::Caption> captions;
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < labels.elements(); ++i) {
    const std::int64_t truth = labels.data<std::int64_t>()[i];
    const std::int64_t predicted = winner(scores.data<float>() + i * classes, classes);
    captions.push_back(
        {class_name(class_names, truth), class_name(class_names, predicted), truth != predicted});
    if (truth != predicted) ++wrong;
  }
  const std::string text = title + ": " + std::to_string(wrong) + " of " +
                           std::to_string(captions.size()) + " wrong (true above predicted)";
  trireme::image::save_png(path, trireme::image::contact_sheet(images, captions, {.title = text}));
  std::printf("test images, wrong predictions marked: %s\n", path.c_str());
}
