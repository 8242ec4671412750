// A small SVG document: shapes in user units (pixels), written one element a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/report/layered_layout.h"

namespace tik::report {

// The colours of all plots and of the dashboard's marks, chosen to stay apart for readers who do not tell red from green.
namespace color {
inline constexpr std::string_view ink = "#1f2937", quiet = "#6b7280", grid = "#e5e7eb", paper = "#ffffff";
inline constexpr std::string_view promoted = "#0f766e", verified = "#2563eb", limit = "#d97706", failed = "#dc2626",
                                  waiting = "#9ca3af";
} // namespace color

struct Stroke {
  std::string_view color = color::ink;
  double width = 1;
  std::string_view dash = ""; // as SVG's stroke-dasharray
};

enum class Anchor { start, middle, end };

struct TextStyle {
  double size = 12;
  std::string_view color = color::ink;
  Anchor anchor = Anchor::start;
  bool bold = false;
};

class Svg {
 public:
  // `title` is what screen readers and hovering show.
  Svg(double width, double height, std::string_view title);

  void line(Point from, Point to, Stroke const& stroke);
  void polyline(std::vector<Point> const& points, Stroke const& stroke);
  // A smooth curve from left to right through the points, horizontal at each of them.
  void curve(std::vector<Point> const& points, Stroke const& stroke);
  void rectangle(Point corner, double width, double height, std::string_view fill, double radius = 0);
  // `tooltip` is shown when hovering; empty: none.
  void circle(Point center, double radius, std::string_view fill, Stroke const& stroke, std::string_view tooltip = "");
  void cross(Point center, double size, Stroke const& stroke, std::string_view tooltip = "");
  void text(Point at, std::string_view content, TextStyle const& style);

  // The whole document.
  std::string str() const;

 private:
  std::string body_;
};

// Text with &, <, > and quotes replaced, control characters dropped.
std::string xml_escape(std::string_view text);

} // namespace tik::report
