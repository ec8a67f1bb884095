#include <algorithm>

#include "base/error.h"
#include "data/font.h"
#include "trireme/image.h"

namespace trireme::image {
namespace {

struct Color {
  std::uint8_t red, green, blue;
};
constexpr Color kPaper{250, 250, 248};
constexpr Color kInk{40, 44, 52};
constexpr Color kFrame{205, 205, 200};
constexpr Color kRight{30, 120, 60};
constexpr Color kWrong{205, 35, 40};

constexpr int kTextScale = 2;
constexpr int kAdvance = (kGlyphWidth + 1) * kTextScale;  // from one letter to the next
constexpr int kLine = (kGlyphHeight + 2) * kTextScale;    // from one line to the next
constexpr int kMaxLetters = 16;                           // of a caption
constexpr int kBorder = 4;                                // room around an image for its mark
constexpr int kGap = 14;                                  // between cells
constexpr std::int64_t kWantedImage = 112;                // small images grow to about this width

class Canvas {
 public:
  Canvas(std::int64_t height, std::int64_t width) : pixels_(u8, {height, width, 3}) {
    fill(0, 0, height, width, kPaper);
  }

  void fill(std::int64_t y, std::int64_t x, std::int64_t height, std::int64_t width, Color color) {
    const std::int64_t bottom = std::min(y + height, pixels_.dim(0));
    const std::int64_t right = std::min(x + width, pixels_.dim(1));
    auto* data = pixels_.data<std::uint8_t>();
    for (std::int64_t row = std::max<std::int64_t>(y, 0); row < bottom; ++row) {
      for (std::int64_t column = std::max<std::int64_t>(x, 0); column < right; ++column) {
        std::uint8_t* pixel = data + (row * pixels_.dim(1) + column) * 3;
        pixel[0] = color.red;
        pixel[1] = color.green;
        pixel[2] = color.blue;
      }
    }
  }

  void text(std::int64_t y, std::int64_t x, const std::string& text, Color color) {
    for (const char character : text) {
      for (int row = 0; row < kGlyphHeight; ++row) {
        for (int column = 0; column < kGlyphWidth; ++column) {
          if (!glyph_pixel(character, row, column)) continue;
          fill(y + row * kTextScale, x + column * kTextScale, kTextScale, kTextScale, color);
        }
      }
      x += kAdvance;
    }
  }

  // One image f32[channels, h, w], each pixel `scale` wide and high.
  void image(std::int64_t y, std::int64_t x, const Tensor& planes, std::int64_t scale) {
    const Tensor pixels = to_rgb(from_planes(planes));
    const auto* data = pixels.data<std::uint8_t>();
    for (std::int64_t row = 0; row < pixels.dim(0); ++row) {
      for (std::int64_t column = 0; column < pixels.dim(1); ++column, data += 3) {
        fill(y + row * scale, x + column * scale, scale, scale, {data[0], data[1], data[2]});
      }
    }
  }

  Tensor pixels() const { return pixels_; }

 private:
  Tensor pixels_;
};

// With ".." for what does not fit.
std::string shortened(const std::string& text, std::size_t letters) {
  return text.size() <= letters ? text : text.substr(0, letters - 2) + "..";
}

std::int64_t text_width(std::size_t letters) {
  return static_cast<std::int64_t>(letters) * kAdvance - kTextScale;
}

}  // namespace

Tensor contact_sheet(const Tensor& images, const std::vector<Caption>& given,
                     const SheetOptions& options) {
  if (images.dtype() != f32 || images.rank() != 4 || images.elements() == 0) {
    fail_usage("contact_sheet: images must be f32[n, 1 or 3, height, width], not " +
               images.type_str());
  }
  const std::int64_t count = images.dim(0);
  const bool has_text = !given.empty();
  const std::vector<Caption> captions =
      has_text ? given : std::vector<Caption>(static_cast<std::size_t>(count));
  if (captions.size() != static_cast<std::size_t>(count) || options.columns < 1) {
    fail_usage("contact_sheet: " + std::to_string(count) + " images, " +
               std::to_string(captions.size()) + " captions, " + std::to_string(options.columns) +
               " columns");
  }
  std::size_t letters = 1;
  for (const Caption& caption : captions) {
    letters = std::max({letters, caption.first.size(), caption.second.size()});
  }
  letters = std::min<std::size_t>(letters, kMaxLetters);

  const std::int64_t scale = std::max<std::int64_t>(1, kWantedImage / images.dim(3));
  const std::int64_t image_width = images.dim(3) * scale;
  const std::int64_t image_height = images.dim(2) * scale;
  const std::int64_t cell_width = std::max(image_width + 2 * kBorder, text_width(letters)) + kGap;
  const std::int64_t text_height = has_text ? 4 + 2 * kLine : 0;
  const std::int64_t cell_height = image_height + 2 * kBorder + text_height + kGap;
  const std::int64_t columns = std::min<std::int64_t>(options.columns, count);
  const std::int64_t rows = (count + columns - 1) / columns;
  const std::int64_t top = options.title.empty() ? kGap : 2 * kGap + kLine;
  const std::int64_t width =
      std::max(columns * cell_width, text_width(options.title.size())) + 2 * kGap;

  Canvas canvas(top + rows * cell_height, width);
  canvas.text(kGap, kGap + kGap / 2, options.title, kInk);
  for (std::int64_t i = 0; i < count; ++i) {
    const Caption& caption = captions[static_cast<std::size_t>(i)];
    const std::int64_t y = top + i / columns * cell_height;
    const std::int64_t center = kGap + i % columns * cell_width + cell_width / 2;
    const std::int64_t x = center - image_width / 2;
    const std::int64_t border = caption.wrong ? kBorder : 1;
    canvas.fill(y + kBorder - border, x - border, image_height + 2 * border,
                image_width + 2 * border, caption.wrong ? kWrong : kFrame);
    const Tensor image =
        images.rows(i, i + 1).reshaped({images.dim(1), images.dim(2), images.dim(3)});
    canvas.image(y + kBorder, x, image, scale);
    std::int64_t line = y + image_height + 2 * kBorder + 4;
    const auto write = [&](const std::string& full, Color color) {
      const std::string text = shortened(full, letters);
      canvas.text(line, center - text_width(text.size()) / 2, text, color);
      line += kLine;
    };
    write(caption.first, kInk);
    write(caption.second, caption.wrong ? kWrong : kRight);
  }
  return canvas.pixels();
}

}  // namespace trireme::image
